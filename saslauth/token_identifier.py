"""What a delegation token says, in Hadoop's form (`AbstractDelegationTokenIdentifier`)."""

from dataclasses import dataclass

from saslauth.errors import SaslFailed
from saslauth.writables import WritableReader, counted, number

_VERSION = b"\0"


@dataclass(frozen=True, slots=True)
class TokenIdentifier:
    """`owner` is the user that the token names, `real_user` who asked for it. Times in
    milliseconds since 1970; `sequence` and `key` are numbers of the token and its issuer's key."""

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
    """Raises SaslFailed."""
    reader = WritableReader(data)
    if reader.take(len(_VERSION)) != _VERSION:
        raise SaslFailed("a delegation token of another version")
    owner, renewer, real_user = (reader.counted().decode(errors="replace") for _ in range(3))
    numbers = [reader.number() for _ in range(4)]
    if not reader.at_end:
        raise SaslFailed("not a delegation token")
    return TokenIdentifier(owner, renewer, real_user, *numbers)
