"""The server's side of DIGEST-MD5, for clients with a delegation token."""

import secrets
from base64 import b64decode, b64encode
from binascii import Error as NotBase64
from collections.abc import Callable, Collection, Mapping

from conf.settings.security.authentication import Qop
from saslauth.errors import BadCredentials, SaslFailed
from saslauth.security_layer import SecurityLayer
from saslauth.tokens.digest_md5 import (
    COUNT,
    MAX_BUFFER,
    REALM,
    URI,
    DigestExchange,
    IntegrityLayer,
    directives,
    message_limit,
    same,
    session_key,
)

PasswordOf = Callable[[bytes], bytes]
"""The password of the token with an identifier. Raises BadCredentials."""
_OFFERED = (Qop.AUTH, Qop.AUTH_INT)


class DigestMd5Server:
    """A ServerContext. The user name that it returns is the token's identifier in Base64."""

    def __init__(self, password_of: PasswordOf, protections: Collection[Qop]) -> None:
        """`protections` are those that the server's settings allow.

        Raises BadCredentials if DIGEST-MD5 has none of them.
        """
        self.layer: SecurityLayer | None = None
        self._password_of = password_of
        self._offered = [each.value for each in _OFFERED if each in protections]
        self._nonce = ""
        if not self._offered:
            raise BadCredentials("delegation tokens are not accepted with auth-conf")

    def step(self, token: bytes) -> tuple[bytes, str | None]:
        """See ServerContext. First returns the challenge, then the server's proof."""
        try:
            return self._challenge() if not self._nonce else self._proof(directives(token))
        except SaslFailed as error:
            raise BadCredentials(str(error)) from None

    def _challenge(self) -> tuple[bytes, None]:
        self._nonce = secrets.token_urlsafe(32)
        offered = ",".join(self._offered)
        text = f'realm="{REALM}",nonce="{self._nonce}",qop="{offered}",charset=utf-8,'
        return f"{text}maxbuf={MAX_BUFFER},algorithm=md5-sess".encode(), None

    def _proof(self, client: Mapping[str, str]) -> tuple[bytes, str]:
        """The server's proof, and the user, for a client's response.

        Raises BadCredentials, SaslFailed.
        """
        qop, cnonce, user = (client.get(name, "") for name in ("qop", "cnonce", "username"))
        expected = {"realm": REALM, "nonce": self._nonce, "nc": COUNT, "digest-uri": URI}
        if any(client.get(name) != value for name, value in expected.items()):
            raise BadCredentials("the answer to another challenge")
        if qop not in self._offered or not cnonce or client.get("authzid", user) != user:
            raise BadCredentials("a protection or user that is not offered")
        password = b64encode(self._password_of(_identifier(user))).decode()
        key = session_key(user, password, self._nonce, cnonce)
        exchange = DigestExchange(key, self._nonce, cnonce, qop)
        if not same(client.get("response", ""), exchange.response()):
            raise BadCredentials("the password of another token")
        if qop != Qop.AUTH.value:
            self.layer = IntegrityLayer(key, False, message_limit(client))
        return f"rspauth={exchange.rspauth()}".encode(), user


def _identifier(user: str) -> bytes:
    try:
        return b64decode(user, validate=True)
    except (NotBase64, ValueError):
        raise BadCredentials("the user name is no token") from None
