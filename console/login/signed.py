"""Signs and checks the values of cookies with a key of this process."""

import hmac
import secrets
from http.cookies import CookieError, SimpleCookie


class Signer:
    """Signs texts with a random key, so that values of other processes are not accepted."""

    def __init__(self) -> None:
        self._key = secrets.token_bytes(32)

    def sign(self, text: str) -> str:
        """The text with its signature. The text must have only characters that a cookie allows."""
        return f"{text}.{self._signature(text)}"

    def read(self, header: str | None, name: str) -> str:
        """The text of the cookie `name` in a Cookie header; empty without a valid signature."""
        cookies: SimpleCookie = SimpleCookie()
        try:
            cookies.load(header or "")
        except CookieError:
            return ""
        value = cookies[name].value if name in cookies else ""
        text, _, signature = value.rpartition(".")
        same = hmac.compare_digest(signature.encode(), self._signature(text).encode())
        return text if same else ""

    def _signature(self, text: str) -> str:
        return hmac.digest(self._key, text.encode(errors="replace"), "sha256").hex()


def cookie(name: str, value: str, age: int, path: str, same_site: str, secure: bool) -> str:
    """The value of Set-Cookie for a cookie that scripts cannot read. An empty `value` deletes the
    cookie. `age` is in seconds."""
    flags = "; Secure" if secure else ""
    kept = age if value else 0
    return f"{name}={value}; Max-Age={kept}; Path={path}; HttpOnly; SameSite={same_site}{flags}"
