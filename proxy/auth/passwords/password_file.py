"""The password file: lines `name:$scrypt$ln=15,r=8,p=1$salt$hash`, and comments after `#`."""

import base64
import binascii
import hashlib
import hmac
import os
import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass, field

_ENTRY = re.compile(r"\$scrypt\$ln=(\d+),r=(\d+),p=(\d+)\$([A-Za-z0-9+/]+)\$([A-Za-z0-9+/]+)")
_LN, _R, _P, _SALT, _LENGTH = 15, 8, 1, 16, 32
_MEMORY = 64 << 20  # most bytes that a line's parameters may need


@dataclass(frozen=True, slots=True)
class Hashed:
    """A password's scrypt hash with its parameters and salt."""

    ln: int
    r: int
    p: int
    salt: bytes = field(repr=False)
    hash: bytes = field(repr=False)

    def matches(self, password: str) -> bool:
        """Whether the password is the hashed one, compared in constant time."""
        hashed = _scrypt(password, self.salt, self.ln, self.r, self.p, len(self.hash))
        return hmac.compare_digest(hashed, self.hash)


# Checked for names without an entry, so that the time of a check does not show which names exist.
UNKNOWN_USER = Hashed(_LN, _R, _P, bytes(_SALT), bytes(_LENGTH))


def password_line(user: str, password: str) -> str:
    """A line of the file for this user and password. Raises ValueError."""
    if not user or ":" in user or user.startswith("#") or user != user.strip():
        raise ValueError("the name has a colon, begins with # or has white space around it")
    if not user.isprintable():
        raise ValueError("the name has characters that cannot be seen")
    if not password:
        raise ValueError("the password is empty")
    salt = os.urandom(_SALT)
    hashed = _scrypt(password, salt, _LN, _R, _P, _LENGTH)
    return f"{user}:$scrypt$ln={_LN},r={_R},p={_P}${_encoded(salt)}${_encoded(hashed)}"


def read_passwords(text: str) -> Mapping[str, Hashed]:
    """The hashes by user name. Raises ValueError with the line's number, never its content."""
    hashed, folded = {}, set[str]()
    for number, line in enumerate(text.splitlines(), 1):
        line = line.strip()
        if not line or line.startswith("#"):
            continue
        user, _, rest = line.partition(":")
        entry = _entry(rest)
        if not user or entry is None:
            raise ValueError(f"line {number} is not NAME:$scrypt$..")
        name = unicodedata.normalize("NFKC", user)  # the form of a typed name
        if name.casefold() in folded:
            raise ValueError(f"line {number} names a user a second time")
        folded.add(name.casefold())
        hashed[name] = entry
    return hashed


def _entry(text: str) -> Hashed | None:
    """The hash after the name in a line; None if it is malformed or its parameters are unsafe."""
    match = _ENTRY.fullmatch(text)
    if match is None:
        return None
    ln, r, p = (int(match[number]) for number in (1, 2, 3))
    if not (10 <= ln <= 20 and 1 <= r <= 32 and 1 <= p <= 4) or 128 * r << ln > _MEMORY:
        return None
    try:
        salt, hashed = (base64.b64decode(match[at] + "==") for at in (4, 5))
    except binascii.Error:
        return None
    return Hashed(ln, r, p, salt, hashed) if len(hashed) >= 16 else None


def _scrypt(password: str, salt: bytes, ln: int, r: int, p: int, length: int) -> bytes:
    secret = password.encode(errors="surrogatepass")
    return hashlib.scrypt(secret, salt=salt, n=1 << ln, r=r, p=p, dklen=length, maxmem=2 * _MEMORY)


def _encoded(data: bytes) -> str:
    return base64.b64encode(data).decode().rstrip("=")
