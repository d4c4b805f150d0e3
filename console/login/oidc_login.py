"""The log-in at an OpenID Connect issuer: the authorization code flow with PKCE, state and nonce.

`begin` returns the issuer's URL for the browser, and an attempt that the browser keeps in a signed
cookie. `finish` checks the issuer's answer, which the browser brings back, and returns a user with
a role. Both block, because they call the issuer. The console itself keeps no attempts, so browsers
that never come back cost nothing.
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
MAX_AGE = 600.0  # seconds that a log-in at the issuer may take
_MAX_PATH = 1_500  # characters of the next page's path: a cookie holds 4,096 bytes
_MAX_TEXT = 200  # characters of an issuer's error message
_FORM = {"Content-Type": "application/x-www-form-urlencoded", "Accept": "application/json"}
_LOGOUT = "http://schemas.openid.net/event/backchannel-logout"
_BASIC, _POST = "client_secret_basic", "client_secret_post"


class LoginFailed(Exception):
    """A log-in failed. The message is shown to the user."""


@dataclass(frozen=True, slots=True)
class LoginAttempt:
    """A log-in that has begun. `to` is the path of the next page; `began` is in epoch seconds."""

    state: str
    nonce: str
    verifier: str
    to: str
    began: float

    def text(self) -> str:
        """The attempt as the text of a cookie."""
        return base64.urlsafe_b64encode(json.dumps(asdict(self)).encode()).decode().rstrip("=")


def attempt_of(text: str) -> LoginAttempt | None:
    """The attempt in the text of a cookie whose signature was checked; None for an empty text."""
    if not text:
        return None
    padded = text + "=" * (-len(text) % 4)
    return LoginAttempt(**json.loads(base64.urlsafe_b64decode(padded)))


@dataclass(frozen=True, slots=True)
class Issued:
    """An authenticated user. `subject` and `sid` are the issuer's ids of the user and of its own
    session; `sid` is empty if the issuer sends none."""

    user: str
    role: Role
    subject: str
    sid: str


class OidcLogin:
    """The console as a client of the issuer. `name` is the issuer's name for users."""

    def __init__(self, settings: Settings) -> None:
        console = settings.console
        self._issuer = settings.operating.access.issuer
        self._own = console.oidc
        scheme = "http" if settings.transports.tls is None else "https"
        self._url = console.url.rstrip("/") or f"{scheme}://{console.listen}"
        self._client = IssuerClient(self._issuer, (self._own.client,))
        self.name = self._own.name or str(urlsplit(self._issuer.url).hostname)

    def begin(self, to: str) -> tuple[str, LoginAttempt]:
        """The URL of the issuer's log-in page, and the attempt for `finish`. Raises LoginFailed."""
        state, nonce, verifier = (secrets.token_urlsafe(32) for _ in range(3))
        kept = to if len(to) <= _MAX_PATH else "/"
        attempt = LoginAttempt(state, nonce, verifier, kept, time.time())
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

    def finish(self, answer: Mapping[str, str], attempt: LoginAttempt | None) -> Issued:
        """The authenticated user, with the role of its groups. `answer` has the query parameters of
        the callback. Raises LoginFailed."""
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
        """The subject and `sid` of a log-out token, and the time before which the ended sessions
        began (OpenID Connect Back-Channel Logout, 2.4). Raises LoginFailed."""
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
        """The URL of the issuer's log-out page; empty if it has none. Raises LoginFailed."""
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

    def _id_token(self, provider: Provider, code: str, attempt: LoginAttempt) -> str:
        """The ID token that the issuer returns for a code. Raises LoginFailed."""
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
        """URL, headers and body of a token request with the client's authentication (RFC 6749,
        2.3.1). Raises OSError if the secret cannot be read."""
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

    def _claims(self, token: str, attempt: LoginAttempt) -> Mapping[str, Any]:
        """The claims of an ID token, after all checks. Raises LoginFailed."""
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
    """The error message in an issuer's answer (RFC 6749, 4.1.2.1 and 5.2), cut to _MAX_TEXT."""
    parts = (answer.get("error"), answer.get("error_description"))
    text = ": ".join(each for each in parts if isinstance(each, str) and each)
    return escaped(text)[:_MAX_TEXT].rstrip(".") or "it gave no reason"
