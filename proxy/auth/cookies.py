"""The cookie that spares a client its credentials for a while, as HiveServer2's does.

It names what the client said (`ann@corp`), the user that this made it (`ann`) and when it ends,
and is signed: whoever holds the key can make and read it, every worker of a server alike.
"""

import hmac
import json
from base64 import urlsafe_b64decode, urlsafe_b64encode
from binascii import Error as NotBase64
from dataclasses import dataclass, field

NAME = "hive.server2.auth"
KEY_BYTES = 32
MAX_COOKIE = 4096


@dataclass(frozen=True, slots=True)
class Identity:
    """Who a client proved to be (`user`), by saying what (`said`)."""

    said: str
    user: str


@dataclass(frozen=True, slots=True)
class Cookies:
    """Makes and reads cookies. `age` is in seconds; `now` everywhere in seconds since 1970."""

    key: bytes = field(repr=False)
    age: float
    secure: bool

    def made_for(self, identity: Identity, now: float) -> str:
        """The value of Set-Cookie. Secure only where the way is: hive-jdbc returns a secure
        cookie over TLS alone."""
        told = json.dumps([identity.said, identity.user, int(now + self.age)]).encode()
        value = f"{_text(told)}.{_text(self._signature(told))}"
        guarded = "; Secure" if self.secure else ""
        return f"{NAME}={value}; Max-Age={int(self.age)}{guarded}; HttpOnly; SameSite=Strict"

    def read(self, header: str | None, now: float) -> Identity | None:
        """Whom the Cookie header names, when it is ours, whole and not too old."""
        for pair in (header or "").split(";"):
            name, _, value = pair.strip().partition("=")
            if name == NAME and len(value) <= MAX_COOKIE:
                identity = self._verified(value.strip('"'), now)
                if identity is not None:
                    return identity
        return None

    def _verified(self, value: str, now: float) -> Identity | None:
        told, _, signature = value.partition(".")
        try:
            data, signed = urlsafe_b64decode(told), urlsafe_b64decode(signature)
        except (NotBase64, ValueError):
            return None
        if not hmac.compare_digest(signed, self._signature(data)):
            return None
        said, user, until = json.loads(data)
        return Identity(said, user) if now < until else None

    def _signature(self, data: bytes) -> bytes:
        return hmac.digest(self.key, data, "sha256")


def _text(data: bytes) -> str:
    return urlsafe_b64encode(data).decode()
