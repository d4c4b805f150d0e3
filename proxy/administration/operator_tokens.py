"""Who sent a request to a port for operators: tokens in files, a file a role, and an issuer's.

A line of a file is `TOKEN` or `NAME TOKEN`; the name is that of the caller in the audit log. Files
are read for each request, so that a token that is removed is refused at once.
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
_THREADS = 2  # that verify an issuer's tokens


def read_tokens(text: str) -> Iterator[tuple[str, str]]:
    """The names and tokens of a file; a token without a name has the empty one."""
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
    """Who sent this token. One that is in two files has the lower role."""
    for role in sorted(files):
        for name, token in _tokens_in(files[role]):
            if compare_digest(sent.encode(), token.encode()):
                return ApiCaller(address, name, role)
    return ApiCaller(address)


def _tokens_in(file: SecretFile) -> list[tuple[str, str]]:
    """None if the file cannot be read, as if it were empty."""
    try:
        return list(read_tokens(file.read_text()))
    except (OSError, UnicodeDecodeError) as error:
        _log.error("requests are refused because tokens cannot be read: %s", error)
        return []


class CallerAuthenticator:
    """Who sent a token: one of the files, or of the issuer in the settings."""

    def __init__(self, files: Mapping[Role, SecretFile], issuer: OperatorIssuer) -> None:
        self._files = files
        self._issuer = issuer
        takes_issued = bool(issuer.url and issuer.audience)
        self._client = IssuerClient(issuer, issuer.audience) if takes_issued else None
        self._threads = DaemonThreads(_THREADS, "operator tokens")

    async def caller(self, sent: str, address: str) -> ApiCaller:
        """The role is None where nothing proves who it is."""
        found = caller_of(sent, self._files, address)
        if found.role is not None or self._client is None or sent.count(".") != 2:
            return found
        client = self._client
        try:
            claims = await self._threads.run(lambda: client.claims(sent))
            return ApiCaller(
                address, name_of(claims, self._issuer), role_of_claims(claims, self._issuer)
            )
        except BadCredentials as error:
            _log.info("a token of %s is refused: %s", self._issuer.url, error)
        except AuthBackendUnavailable as error:
            _log.error("tokens of operators are refused because their issuer fails: %s", error)
        return found
