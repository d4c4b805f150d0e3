"""Who sent a request to a port for operators: tokens in files, a file a role.

A line of a file is `TOKEN` or `NAME TOKEN`; the name is that of the caller in the audit log. Files
are read for each request, so that a token that is removed is refused at once.
"""

import logging
from collections.abc import Iterator, Mapping
from hmac import compare_digest

from conf.roles import Role
from conf.secrets import SecretFile
from proxy.operations.audit.audit_events import Caller

_log = logging.getLogger(__name__)


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


def caller_of(sent: str, files: Mapping[Role, SecretFile], address: str) -> Caller:
    """Who sent this token. One that is in two files has the lower role."""
    for role in sorted(files):
        for name, token in _tokens_in(files[role]):
            if compare_digest(sent.encode(), token.encode()):
                return Caller(address, name, role)
    return Caller(address)


def _tokens_in(file: SecretFile) -> list[tuple[str, str]]:
    """None if the file cannot be read, as if it were empty."""
    try:
        return list(read_tokens(file.read_text()))
    except (OSError, UnicodeDecodeError) as error:
        _log.error("requests are refused because tokens cannot be read: %s", error)
        return []
