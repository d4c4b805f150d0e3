"""Hadoop's delegation tokens, in the forms in which they are handed on.

A file of tokens is `HDTS`, the version 0, a number of tokens, and each with its alias; lengths and
numbers are Hadoop's VInts. The text of one token is URL-safe Base64 of the same fields.
"""

from base64 import urlsafe_b64decode
from binascii import Error as NotBase64
from dataclasses import dataclass, field

from saslauth.errors import SaslFailed

METASTORE_KIND = "HIVE_DELEGATION_TOKEN"
_MAGIC = b"HDTS"
_WRITABLE = 0  # version of the file; 1 is protocol buffers
_MOST = 10_000  # tokens in a file


@dataclass(frozen=True, slots=True)
class DelegationToken:
    """`kind` names its issuer's service."""

    identifier: bytes = field(repr=False)
    password: bytes = field(repr=False)
    kind: str = METASTORE_KIND
    service: str = ""


def token_of_text(text: str) -> DelegationToken:
    """Raises SaslFailed."""
    try:
        data = urlsafe_b64decode(text + "=" * (-len(text) % 4))
    except (NotBase64, ValueError):
        raise SaslFailed("not the text of a delegation token") from None
    reader = _Reader(data)
    token = reader.token()
    if not reader.at_end:
        raise SaslFailed("not the text of a delegation token")
    return token


def token_of_file(data: bytes, kind: str = METASTORE_KIND) -> DelegationToken:
    """The first token of that kind in a file of tokens, or the token whose text the file is.

    Raises SaslFailed.
    """
    if not data.startswith(_MAGIC):
        return token_of_text(data.decode("ascii", "replace").strip())
    if data[len(_MAGIC) : len(_MAGIC) + 1] != bytes((_WRITABLE,)):
        raise SaslFailed("a file of tokens in another format than Hadoop's 'java' (dtutil -format)")
    reader = _Reader(data, len(_MAGIC) + 1)
    for _ in range(min(reader.number(), _MOST)):
        reader.counted()  # its alias
        token = reader.token()
        if token.kind == kind:
            return token
    raise SaslFailed(f"no token of the kind {kind} in the file")


class _Reader:
    """Reads Hadoop's Writables. Every method raises SaslFailed."""

    def __init__(self, data: bytes, at: int = 0) -> None:
        self._data = data
        self._at = at

    @property
    def at_end(self) -> bool:
        return self._at == len(self._data)

    def token(self) -> DelegationToken:
        identifier, password, kind, service = (self.counted() for _ in range(4))
        texts = (each.decode(errors="replace") for each in (kind, service))
        return DelegationToken(identifier, password, *texts)

    def counted(self) -> bytes:
        return self._take(self.number())

    def number(self) -> int:
        """A VInt. Lengths are never negative."""
        first = int.from_bytes(self._take(1), "big", signed=True)
        if first >= -112:
            number = first
        else:
            number = int.from_bytes(self._take(-112 - first), "big") if first >= -120 else -1
        if number < 0:
            raise SaslFailed("not a delegation token")
        return number

    def _take(self, size: int) -> bytes:
        taken = self._data[self._at : self._at + size]
        if len(taken) < size:
            raise SaslFailed("not a delegation token")
        self._at += size
        return taken
