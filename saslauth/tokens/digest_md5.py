"""DIGEST-MD5 (RFC 2831) as Hadoop uses it for delegation tokens: the parts that both sides need.

The server sends a challenge with a nonce, the client answers with its own nonce and a proof that
it has the password, and the server returns a proof of its own. The user name is the token's
identifier and the password the token's password, both in Base64. `auth` and `auth-int` are
offered, `auth-conf` is not: its ciphers are broken.
"""

import hashlib
import hmac
import re
from collections.abc import Mapping
from dataclasses import dataclass

from saslauth.errors import SaslFailed

REALM = "default"  # of Hadoop's servers
URI = f"null/{REALM}"  # Hadoop names no protocol
MAX_BUFFER = 65_536  # bytes of a wrapped message, RFC 2831's default
COUNT = "00000001"  # of the first use of a nonce
_DIRECTIVE = re.compile(r'\s*([A-Za-z-]+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^",\s]+))\s*(?:,|$)')
_NO_BODY = ":" + "0" * 32  # follows the URI in a proof if messages are protected
_TO_SERVER = b"Digest session key to client-to-server signing key magic constant"
_TO_CLIENT = b"Digest session key to server-to-client signing key magic constant"
_MAC = 16  # bytes after a message
_TYPE = b"\x00\x01"


def directives(message: bytes) -> Mapping[str, str]:
    """The directives of a challenge or response, each at most once. Raises SaslFailed."""
    try:
        text = message.decode()
    except UnicodeDecodeError:
        raise SaslFailed("a digest that is not UTF-8") from None
    values: dict[str, str] = {}
    at = 0
    while at < len(text):
        match = _DIRECTIVE.match(text, at)
        if match is None or match[1].lower() in values:
            raise SaslFailed("a digest that cannot be read")
        quoted, plain = match[2], match[3]
        values[match[1].lower()] = plain if quoted is None else re.sub(r"\\(.)", r"\1", quoted)
        at = match.end()
    return values


def message_limit(peer: Mapping[str, str]) -> int:
    """The largest wrapped message, in bytes, that the peer with these directives accepts.

    Raises SaslFailed.
    """
    limit = peer.get("maxbuf", str(MAX_BUFFER))
    if not limit.isdecimal() or len(limit) > 9:
        raise SaslFailed("not a size of messages")
    return int(limit)


@dataclass(frozen=True, slots=True)
class DigestExchange:
    """The values from which both sides compute their proofs. `key` is the hash of A1."""

    key: bytes
    nonce: str
    cnonce: str
    qop: str
    uri: str = URI

    def response(self) -> str:
        """The client's proof that it has the password."""
        return self._proof(f"AUTHENTICATE:{self.uri}")

    def rspauth(self) -> str:
        """The server's proof that it has the password."""
        return self._proof(f":{self.uri}")

    def _proof(self, operation: str) -> str:
        protected = "" if self.qop == "auth" else _NO_BODY
        body = ":".join((self.nonce, COUNT, self.cnonce, self.qop, _hex(operation + protected)))
        return _hex(f"{self.key.hex()}:{body}")


def session_key(user: str, password: str, nonce: str, cnonce: str, realm: str = REALM) -> bytes:
    """The hash of A1 in RFC 2831: the key of the proofs and of the MACs."""
    secret = _md5(f"{user}:{realm}:{password}".encode())
    return _md5(secret + f":{nonce}:{cnonce}".encode())


def same(one: str, other: str) -> bool:
    """Whether two proofs are equal, in constant time."""
    return hmac.compare_digest(one.encode(), other.encode())


class IntegrityLayer:
    """A SecurityLayer for `auth-int`: each message is followed by a MAC and its number."""

    def __init__(self, key: bytes, is_client: bool, peer_limit: int) -> None:
        """`peer_limit` is the largest wrapped message that the peer accepts, in bytes.

        Raises SaslFailed if no message fits.
        """
        send, receive = (_TO_SERVER, _TO_CLIENT) if is_client else (_TO_CLIENT, _TO_SERVER)
        self._send_key, self._receive_key = _md5(key + send), _md5(key + receive)
        self._sent = self._received = 0
        self.room = peer_limit - _MAC
        if self.room <= 0:
            raise SaslFailed(f"wrapped messages of {peer_limit} bytes")

    def wrap(self, message: bytes) -> bytes:
        mac = _mac(self._send_key, self._sent, message)
        self._sent += 1
        return message + mac

    def unwrap(self, token: bytes) -> bytes:
        """Raises SaslFailed for a message that was changed, repeated or lost."""
        message, mac = token[:-_MAC], token[-_MAC:]
        if not hmac.compare_digest(mac, _mac(self._receive_key, self._received, message)):
            raise SaslFailed("a wrapped message was changed, repeated or lost")
        self._received += 1
        return message


def _mac(key: bytes, number: int, message: bytes) -> bytes:
    sequence = (number & 0xFFFFFFFF).to_bytes(4, "big")
    return hmac.new(key, sequence + message, "md5").digest()[:10] + _TYPE + sequence


def _md5(data: bytes) -> bytes:
    return hashlib.md5(data, usedforsecurity=False).digest()


def _hex(text: str) -> str:
    return _md5(text.encode()).hex()
