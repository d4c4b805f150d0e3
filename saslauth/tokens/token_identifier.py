"""The identifier of a delegation token, in Hadoop's form (`AbstractDelegationTokenIdentifier`)."""

from dataclasses import dataclass

from saslauth.errors import SaslFailed
from saslauth.tokens.writables import WritableReader, counted, number

_VERSION = b"\0"


@dataclass(frozen=True, slots=True)
class TokenIdentifier:
    """`owner` is the user that logs in with the token, `real_user` the user that requested it.
    `issued` and `ends` are milliseconds since 1970; `sequence` is the token's number, and `key` the
    number of its issuer's key."""

    owner: str
    renewer: str
    real_user: str
    issued: int
    ends: int
    sequence: int
    key: int

    def encoded(self) -> bytes:
        names = (self.owner, self.renewer, self.real_user)
        numbers = (self.issued, self.ends, self.sequence, self.key)
        fields = [counted(each.encode()) for each in names] + [number(each) for each in numbers]
        return _VERSION + b"".join(fields)


def read_identifier(data: bytes) -> TokenIdentifier:
    """The identifier in its encoded form. Raises SaslFailed."""
    reader = WritableReader(data)
    if reader.take(len(_VERSION)) != _VERSION:
        raise SaslFailed("a delegation token of another version")
    owner, renewer, real_user = (reader.counted().decode(errors="replace") for _ in range(3))
    numbers = [reader.number() for _ in range(4)]
    if not reader.at_end:
        raise SaslFailed("not a delegation token")
    return TokenIdentifier(owner, renewer, real_user, *numbers)
