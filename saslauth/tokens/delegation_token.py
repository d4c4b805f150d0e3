"""Hadoop's delegation tokens, read from and written to Hadoop's files and texts.

A file of tokens has `HDTS`, the version 0, the number of tokens, and each token after its alias;
lengths and numbers are Hadoop's VInts. The text of a token is URL-safe Base64 of its fields.
"""

from base64 import urlsafe_b64decode, urlsafe_b64encode
from binascii import Error as NotBase64
from dataclasses import dataclass, field

from saslauth.errors import SaslFailed
from saslauth.tokens.writables import WritableReader, counted

METASTORE_KIND = "HIVE_DELEGATION_TOKEN"
_MAGIC = b"HDTS"
_WRITABLE = 0  # version of the file; 1 is protocol buffers
_MAX_TOKENS = 10_000  # in a file


@dataclass(frozen=True, slots=True)
class DelegationToken:
    """A token. `kind` names the kind of service that issued it."""

    identifier: bytes = field(repr=False)
    password: bytes = field(repr=False)
    kind: str = METASTORE_KIND
    service: str = ""


def token_of_text(text: str) -> DelegationToken:
    """The token with this text. Raises SaslFailed."""
    try:
        data = urlsafe_b64decode(text + "=" * (-len(text) % 4))
    except (NotBase64, ValueError):
        raise SaslFailed("not the text of a delegation token") from None
    reader = WritableReader(data)
    token = _read(reader)
    if not reader.at_end:
        raise SaslFailed("not the text of a delegation token")
    return token


def token_of_file(data: bytes, kind: str = METASTORE_KIND) -> DelegationToken:
    """The first token of this kind in a file of tokens, or the token in a file with a token's text.

    Raises SaslFailed.
    """
    if not data.startswith(_MAGIC):
        return token_of_text(data.decode("ascii", "replace").strip())
    if data[len(_MAGIC) : len(_MAGIC) + 1] != bytes((_WRITABLE,)):
        raise SaslFailed("a file of tokens in another format than Hadoop's 'java' (dtutil -format)")
    reader = WritableReader(data, len(_MAGIC) + 1)
    for _ in range(min(reader.number(), _MAX_TOKENS)):
        reader.counted()  # the token's alias
        token = _read(reader)
        if token.kind == kind:
            return token
    raise SaslFailed(f"the file has no token of the kind {kind}")


def text_of_token(token: DelegationToken) -> str:
    """The text that `token_of_text` reads."""
    texts = (each.encode() for each in (token.kind, token.service))
    fields = b"".join(counted(each) for each in (token.identifier, token.password, *texts))
    return urlsafe_b64encode(fields).decode().rstrip("=")


def _read(reader: WritableReader) -> DelegationToken:
    """Raises SaslFailed."""
    identifier, password, kind, service = (reader.counted() for _ in range(4))
    texts = (each.decode(errors="replace") for each in (kind, service))
    return DelegationToken(identifier, password, *texts)
