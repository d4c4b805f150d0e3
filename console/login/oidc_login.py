"""The log-in at an OpenID Connect issuer: the authorization code flow with PKCE, state and nonce.

`begin` says where the browser goes and what it keeps meanwhile, `finish` makes of the answer that
it brings back a user with a role. Both block: they ask the issuer. What the browser keeps is
signed by this console, so that nothing is kept here for browsers that never come back.
"""

import base64
import json
import secrets
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from http.client import HTTPException
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

from authlib.oauth2.auth import ClientAuth
from authlib.oauth2.rfc6749.parameters import prepare_grant_uri, prepare_token_request
from authlib.oauth2.rfc7636 import create_s256_code_challenge
from authlib.oidc.core import CodeIDToken
from joserfc.errors import JoseError

from conf.logs.printable import escaped
from conf.roles import Role
from conf.settings.settings import Settings
from proxy.auth.tokens.bearer_tokens import CLOCK_SKEW
from proxy.auth.tokens.https_client import ErrorAnswer, fetch
from proxy.auth.tokens.issuer import Provider, name_of, role_of_claims
from proxy.auth.tokens.issuer_client import IssuerClient
from saslauth.errors import AuthBackendUnavailable, BadCredentials

START, CALLBACK, END = "/login/oidc", "/login/oidc/callback", "/login/oidc/end"
REVOKED = "/login/oidc/backchannel"
MAX_AGE = 600.0  # seconds for a log-in at the issuer
_MAX_PATH = 1_500  # characters of the page to go on to: a cookie holds 4,096 bytes
_MAX_TEXT = 200  # characters of what an issuer says of an error
_FORM = {"Content-Type": "application/x-www-form-urlencoded", "Accept": "application/json"}
_LOGOUT = "http://schemas.openid.net/event/backchannel-logout"
_BASIC, _POST = "client_secret_basic", "client_secret_post"


class LoginFailed(Exception):
    """The message is for the user."""


@dataclass(frozen=True, slots=True)
class Attempt:
    """A log-in that has begun. `to` is the page to go on to, `began` in seconds since 1970."""

    state: str
    nonce: str
    verifier: str
    to: str
    began: float

    def text(self) -> str:
        """It as the text of a cookie."""
        return base64.urlsafe_b64encode(json.dumps(asdict(self)).encode()).decode().rstrip("=")


def attempt_of(text: str) -> Attempt | None:
    """The attempt of a text that this console made; None for an empty one."""
    if not text:
        return None
    padded = text + "=" * (-len(text) % 4)
    return Attempt(**json.loads(base64.urlsafe_b64decode(padded)))


@dataclass(frozen=True, slots=True)
class Issued:
    """A user that logged in. `subject` and `sid` are what the issuer calls the user and its own
    session; `sid` is empty where it has no name."""

    user: str
    role: Role
    subject: str
    sid: str


class OidcLogin:
    """The console as a client of the issuer. `name` is what users call the issuer."""

    def __init__(self, settings: Settings) -> None:
        console = settings.console
        self._issuer = settings.operating.access.issuer
        self._own = console.oidc
        scheme = "http" if settings.transports.tls is None else "https"
        self._url = console.url.rstrip("/") or f"{scheme}://{console.listen}"
        self._client = IssuerClient(self._issuer, (self._own.client,))
        self.name = self._own.name or str(urlsplit(self._issuer.url).hostname)

    def begin(self, to: str) -> tuple[str, Attempt]:
        """The issuer's page to log in, and what `finish` needs. Raises LoginFailed."""
        state, nonce, verifier = (secrets.token_urlsafe(32) for _ in range(3))
        kept = to if len(to) <= _MAX_PATH else "/"
        attempt = Attempt(state, nonce, verifier, kept, time.time())
        location = prepare_grant_uri(
            self._provider().authorization,
            self._own.client,
            "code",
            redirect_uri=self._url + CALLBACK,
            scope=["openid", *(each for each in self._own.scopes if each != "openid")],
            state=attempt.state,
            nonce=attempt.nonce,
            code_challenge=create_s256_code_challenge(attempt.verifier),
            code_challenge_method="S256",
        )
        return str(location), attempt

    def finish(self, answer: Mapping[str, str], attempt: Attempt | None) -> Issued:
        """The user, with its role by its groups. `answer` has the parameters that the browser
        brings back. Raises LoginFailed."""
        age = time.time() - attempt.began if attempt else 0.0
        if attempt is None or age > MAX_AGE or not _same(answer.get("state"), attempt.state):
            raise LoginFailed(
                "This log-in began in another browser or tab, or more than ten minutes ago."
                " Log in again."
            )
        provider = self._provider()
        named = answer.get("iss", None if provider.sends_issuer else provider.issuer)
        if named != provider.issuer:
            raise LoginFailed(f"The answer is not one of {self.name}.")
        if "error" in answer or "code" not in answer:
            raise LoginFailed(f"{self.name} refused the log-in: {_error(answer)}.")
        claims = self._claims(self._id_token(provider, answer["code"], attempt), attempt)
        try:
            user, role = name_of(claims, self._issuer), role_of_claims(claims, self._issuer)
        except BadCredentials as error:
            raise self._not_good(error) from error
        return Issued(user, role, _text(claims, "sub"), _text(claims, "sid"))

    def ended(self, token: str) -> tuple[str, str, float]:
        """The subject and the session that a log-out token ends, and until when they began
        (OpenID Connect Back-Channel Logout, 2.4). Raises LoginFailed."""
        try:
            claims = self._client.claims(token)
        except AuthBackendUnavailable as error:
            raise self._down(error) from error
        except BadCredentials as error:
            raise self._not_good(error) from error
        events, at = claims.get("events"), claims.get("iat")
        subject, sid = _text(claims, "sub"), _text(claims, "sid")
        is_end = isinstance(events, dict) and _LOGOUT in events and "nonce" not in claims
        if not is_end or not isinstance(at, int | float) or not (subject or sid):
            raise LoginFailed(f"The token of {self.name} ends no session.")
        return subject, sid, float(at) + CLOCK_SKEW

    def end_url(self) -> str:
        """Where a browser logs out of the issuer; empty if it has no such page. Raises
        LoginFailed."""
        provider = self._provider()
        if not provider.end_session:
            return ""
        back = {"client_id": self._own.client, "post_logout_redirect_uri": f"{self._url}/login"}
        joined = "&" if "?" in provider.end_session else "?"
        return f"{provider.end_session}{joined}{urlencode(back)}"

    def _provider(self) -> Provider:
        try:
            return self._client.provider()
        except AuthBackendUnavailable as error:
            raise self._down(error) from error

    def _id_token(self, provider: Provider, code: str, attempt: Attempt) -> str:
        """The token that the issuer gives for a code. Raises LoginFailed."""
        body = prepare_token_request(
            "authorization_code",
            code=code,
            redirect_uri=self._url + CALLBACK,
            code_verifier=attempt.verifier,
        )
        try:
            url, headers, body = self._authenticated(provider, body)
            found = json.loads(fetch(url, self._issuer.ca, body.encode(), headers))
        except ErrorAnswer as error:
            reason = _error(_object(error.body)) if error.body else str(error)
            raise LoginFailed(f"{self.name} did not confirm the log-in: {reason}.") from error
        except (OSError, HTTPException, ValueError, RecursionError) as error:
            raise self._down(error) from error
        token = found.get("id_token") if isinstance(found, dict) else None
        if not isinstance(token, str):
            raise LoginFailed(f"{self.name} sent no ID token.")
        return token

    def _authenticated(self, provider: Provider, body: str) -> tuple[str, dict[str, str], str]:
        """A request for a token with what proves that this client sends it (RFC 6749, 2.3.1).
        Raises OSError if the secret cannot be read."""
        client, secret, method = self._own.client, "", "none"
        if self._own.secret is not None:
            secret = self._own.secret.read_text().strip()
            method = _POST if _BASIC not in provider.token_methods else _BASIC
        if method == _BASIC:
            client, secret = quote(client, safe=""), quote(secret, safe="")
        prepared = ClientAuth(client, secret, method).prepare(
            "POST", provider.token, dict(_FORM), body
        )
        url, headers, body = prepared
        return url, headers, body

    def _claims(self, token: str, attempt: Attempt) -> Mapping[str, Any]:
        """The claims of an ID token that is good and of this attempt. Raises LoginFailed."""
        try:
            claims = self._client.claims(token)
            checked = {"nonce": attempt.nonce, "client_id": self._own.client}
            CodeIDToken(claims, {}, params=checked).validate(time.time(), CLOCK_SKEW)
        except AuthBackendUnavailable as error:
            raise self._down(error) from error
        except (BadCredentials, JoseError) as error:
            raise self._not_good(error) from error
        return claims

    def _not_good(self, error: Exception) -> LoginFailed:
        return LoginFailed(f"The token of {self.name} is not accepted: {error}.")

    def _down(self, error: Exception) -> LoginFailed:
        return LoginFailed(f"{self.name} does not answer: {error}.")


def _same(sent: str | None, kept: str) -> bool:
    return sent is not None and secrets.compare_digest(sent.encode(), kept.encode())


def _text(claims: Mapping[str, Any], name: str) -> str:
    found = claims.get(name)
    return found if isinstance(found, str) else ""


def _object(body: bytes) -> Mapping[str, Any]:
    try:
        found = json.loads(body)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _error(answer: Mapping[str, Any]) -> str:
    """What an issuer says is wrong (RFC 6749, 4.1.2.1 and 5.2), within a bound."""
    said = (answer.get("error"), answer.get("error_description"))
    text = ": ".join(each for each in said if isinstance(each, str) and each)
    return escaped(text)[:_MAX_TEXT].rstrip(".") or "it gave no reason"
