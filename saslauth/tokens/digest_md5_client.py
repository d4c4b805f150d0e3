"""The client's side of DIGEST-MD5, with a delegation token."""

import re
import secrets
from base64 import b64encode
from collections.abc import Mapping

from saslauth.errors import SaslFailed
from saslauth.negotiation import DIGEST_MD5
from saslauth.security_layer import SecurityLayer
from saslauth.tokens.delegation_token import DelegationToken
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

_PLAIN = re.compile(r"[ !#-\[\]-~]+")  # texts that need no escapes in quotes


class DigestMd5Client:
    """A Mechanism. It chooses the weakest protection of messages that the server offers."""

    name = DIGEST_MD5

    def __init__(self, token: DelegationToken) -> None:
        self.complete = False
        self.layer: SecurityLayer | None = None
        self._user = b64encode(token.identifier).decode()
        self._password = b64encode(token.password).decode()
        self._exchange: DigestExchange | None = None
        self._peer_limit = MAX_BUFFER

    def step(self, challenge: bytes | None) -> bytes:
        """See Mechanism."""
        if challenge is None:
            return b""
        server = directives(challenge)
        if self._exchange is None:
            return self._response(server)
        if not same(server.get("rspauth", ""), self._exchange.rspauth()):
            raise SaslFailed("the server did not prove that it has the token's password")
        if self._exchange.qop != "auth":
            self.layer = IntegrityLayer(self._exchange.key, True, self._peer_limit)
        self.complete = True
        return b""

    def _response(self, server: Mapping[str, str]) -> bytes:
        nonce = server.get("nonce", "")
        offered = server.get("qop", "auth").replace(" ", "").split(",")
        qop = next((each for each in ("auth", "auth-int") if each in offered), None)
        if not nonce or server.get("algorithm") != "md5-sess" or not _PLAIN.fullmatch(nonce):
            raise SaslFailed("not a challenge of DIGEST-MD5")
        if qop is None:
            raise SaslFailed(
                f"the server requires {server['qop']!r:.40}, which needs a log-in with a keytab"
            )
        if server.get("realm", REALM) != REALM:
            raise SaslFailed("the server requires a token of another realm")
        self._peer_limit = message_limit(server)
        cnonce = secrets.token_urlsafe(32)
        key = session_key(self._user, self._password, nonce, cnonce)
        self._exchange = DigestExchange(key, nonce, cnonce, qop)
        return (
            f'charset=utf-8,username="{self._user}",realm="{REALM}",nonce="{nonce}",nc={COUNT},'
            f'cnonce="{cnonce}",digest-uri="{URI}",maxbuf={MAX_BUFFER},'
            f"response={self._exchange.response()},qop={qop}"
        ).encode()
