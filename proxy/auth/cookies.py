"""The cookie that replaces credentials for some time, as in HiveServer2.

A cookie contains the name that the client sent (`ann@corp`), the user that it logged in as (`ann`)
and the time at which the cookie expires. It is signed; all workers of a server have the same key.
"""

import hmac
import json
from base64 import urlsafe_b64decode, urlsafe_b64encode
from binascii import Error as NotBase64
from dataclasses import dataclass, field

NAME = "hive.server2.auth"
KEY_BYTES = 32
MAX_COOKIE = 4096  # characters


@dataclass(frozen=True, slots=True)
class CookieIdentity:
    """The name that a client sent, and the user that it logged in as."""

    login_name: str
    user: str


@dataclass(frozen=True, slots=True)
class Cookies:
    """Makes and reads cookies. `age` is a cookie's lifetime in seconds; `now` is Unix time."""

    key: bytes = field(repr=False)
    age: float
    secure: bool

    def header(self, identity: CookieIdentity, now: float) -> str:
        """The value of Set-Cookie. It has the attribute Secure only with TLS, because hive-jdbc
        returns a secure cookie only over TLS."""
        content = json.dumps([identity.login_name, identity.user, int(now + self.age)]).encode()
        value = f"{_text(content)}.{_text(self._signature(content))}"
        secure = "; Secure" if self.secure else ""
        return f"{NAME}={value}; Max-Age={int(self.age)}{secure}; HttpOnly; SameSite=Strict"

    def read(self, header: str | None, now: float) -> CookieIdentity | None:
        """The identity in the Cookie header if its cookie is ours, intact and not expired."""
        for pair in (header or "").split(";"):
            name, _, value = pair.strip().partition("=")
            if name == NAME and len(value) <= MAX_COOKIE:
                identity = self._verified(value.strip('"'), now)
                if identity is not None:
                    return identity
        return None

    def _verified(self, value: str, now: float) -> CookieIdentity | None:
        content, _, signature = value.partition(".")
        try:
            data, signed = urlsafe_b64decode(content), urlsafe_b64decode(signature)
        except (NotBase64, ValueError):
            return None
        if not hmac.compare_digest(signed, self._signature(data)):
            return None
        login_name, user, expires = json.loads(data)
        return CookieIdentity(login_name, user) if now < expires else None

    def _signature(self, data: bytes) -> bytes:
        return hmac.digest(self.key, data, "sha256")


def _text(data: bytes) -> str:
    return urlsafe_b64encode(data).decode()
