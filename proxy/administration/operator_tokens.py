"""Authenticates callers of a port for operators, by tokens in files, one file a role, or by tokens
of an OpenID Connect issuer.

A line of a file is `TOKEN` or `NAME TOKEN`; the audit log has the name. Files are read for each
request, so that a removed token is refused at once.
"""

import logging
from collections.abc import Iterator, Mapping
from hmac import compare_digest

from conf.roles import Role
from conf.secrets import SecretFile
from conf.settings.security.operator_issuer import OperatorIssuer
from proxy.auth.thread_pool import DaemonThreads
from proxy.auth.tokens.issuer import name_of, role_of_claims
from proxy.auth.tokens.issuer_client import IssuerClient
from proxy.operations.audit.audit_events import ApiCaller
from saslauth.errors import AuthBackendUnavailable, BadCredentials

_log = logging.getLogger(__name__)
_THREADS = 2  # for verifying an issuer's tokens


def read_tokens(text: str) -> Iterator[tuple[str, str]]:
    """The names and tokens in the text of a file; the name may be empty."""
    for line in text.splitlines():
        match line.split():
            case [token]:
                yield "", token
            case [name, token]:
                yield name, token


def first_token(file: SecretFile) -> str:
    """The token that a client with this file sends. Raises OSError, UnicodeDecodeError."""
    return next((token for _, token in read_tokens(file.read_text())), "")


def caller_of(sent: str, files: Mapping[Role, SecretFile], address: str) -> ApiCaller:
    """The caller that sent this token. A token in two files has the lower role."""
    for role in sorted(files):
        for name, token in _tokens_in(files[role]):
            if compare_digest(sent.encode(), token.encode()):
                return ApiCaller(address, name, role)
    return ApiCaller(address)


def _tokens_in(file: SecretFile) -> list[tuple[str, str]]:
    """The names and tokens of a file; an empty list if it cannot be read."""
    try:
        return list(read_tokens(file.read_text()))
    except (OSError, UnicodeDecodeError) as error:
        _log.error("requests are refused because tokens cannot be read: %s", error)
        return []


class CallerAuthenticator:
    """Authenticates callers by tokens of the files or of the issuer in the settings."""

    def __init__(self, files: Mapping[Role, SecretFile], issuer: OperatorIssuer) -> None:
        self._files = files
        self._issuer = issuer
        has_issuer = bool(issuer.url and issuer.audience)
        self._client = IssuerClient(issuer, issuer.audience) if has_issuer else None
        self._threads = DaemonThreads(_THREADS, "operator tokens")

    async def authenticate(self, token: str, address: str) -> ApiCaller:
        """The caller that sent this token; its role is None if the token is not accepted."""
        caller = caller_of(token, self._files, address)
        if caller.role is not None or self._client is None or token.count(".") != 2:
            return caller
        client = self._client
        try:
            claims = await self._threads.run(lambda: client.claims(token))
            return ApiCaller(
                address, name_of(claims, self._issuer), role_of_claims(claims, self._issuer)
            )
        except BadCredentials as error:
            _log.info("a token of %s is refused: %s", self._issuer.url, error)
        except AuthBackendUnavailable as error:
            _log.error("tokens of operators are refused because their issuer fails: %s", error)
        return caller
