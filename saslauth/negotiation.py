"""The messages of a negotiation in Thrift, `[status][length][payload]`, and its client's side.

The client sends the name of a mechanism and its first response; then each side answers the other
until the server sends COMPLETE. A client's mechanism is complete when it needs no further message;
GSSAPI and DIGEST-MD5 have then verified the server, too.
"""

from dataclasses import dataclass
from typing import Protocol

from saslauth.errors import SaslFailed
from saslauth.security_layer import SecurityLayer

START, OK, BAD, ERROR, COMPLETE = 1, 2, 3, 4, 5
MAX_NEGOTIATION = 64 << 10  # bytes of one message
HEAD = 5  # bytes before a payload
PLAIN, GSSAPI, DIGEST_MD5 = "PLAIN", "GSSAPI", "DIGEST-MD5"
_MAX_REASON = 200


class Mechanism(Protocol):
    """A client's side of a mechanism."""

    @property
    def name(self) -> str: ...

    @property
    def complete(self) -> bool: ...

    @property
    def layer(self) -> SecurityLayer | None:
        """Protects all bytes after the negotiation; None means no protection."""
        ...

    def step(self, challenge: bytes | None) -> bytes:
        """The response to a challenge, or to None the first response. May wait for a KDC.

        Raises SaslFailed.
        """
        ...


class ServerContext(Protocol):
    """A server's side of a mechanism."""

    @property
    def layer(self) -> SecurityLayer | None:
        """Protects all messages after the negotiation; None means no protection."""
        ...

    def step(self, token: bytes) -> tuple[bytes, str | None]:
        """The next token for the client, and the user's name once it is proved. May block.

        Raises BadCredentials, AuthBackendUnavailable.
        """
        ...


class ClientNegotiation:
    """The client's side, without I/O: pass received bytes to it and send what it returns, until
    `done`."""

    def __init__(self, mechanism: Mechanism) -> None:
        self.done = False
        self._mechanism = mechanism
        self._received = bytearray()

    def start(self) -> bytes:
        """The first bytes. Raises SaslFailed."""
        response = self._mechanism.step(None)
        return sasl_start(self._mechanism.name) + sasl_response(response, self._mechanism.complete)

    def receive(self, data: bytes) -> bytes:
        """The bytes to send, which may be none. Raises SaslFailed, also if bytes follow a reply: a
        server has nothing to send before the client's next message."""
        self._received += data
        reply = read_sasl_reply(self._received)
        if reply is None:
            return b""
        del self._received[: reply.used]
        if self._received:
            raise SaslFailed("the server sent bytes after its reply")
        return self._answer(reply)

    def _answer(self, reply: "SaslReply") -> bytes:
        mechanism = self._mechanism
        if not reply.ok:
            raise SaslFailed(f"the server refused the log-in: {_printable(reply.payload)}")
        if not mechanism.complete:
            response = mechanism.step(reply.payload)
            if not reply.last:
                return sasl_response(response, mechanism.complete)
        elif not reply.last:
            raise SaslFailed("the server continues a negotiation that is complete")
        if not mechanism.complete:
            raise SaslFailed("the server did not prove its identity")
        self.done = True
        return b""


@dataclass(frozen=True, slots=True)
class SaslReply:
    """A server's reply. `last`: the negotiation is over. If not `ok`, the payload is the reason."""

    ok: bool
    last: bool
    payload: bytes
    used: int


def read_sasl_reply(data: bytes | bytearray) -> SaslReply | None:
    """A server's reply, `used` bytes long; None if it is incomplete. Raises SaslFailed."""
    if len(data) < HEAD:
        return None
    length = int.from_bytes(data[1:HEAD], "big")
    if length > MAX_NEGOTIATION:
        raise SaslFailed("Not a SASL negotiation.")
    if len(data) < HEAD + length:
        return None
    ok, last = data[0] in (OK, COMPLETE), data[0] == COMPLETE
    return SaslReply(ok, last, bytes(data[HEAD : HEAD + length]), HEAD + length)


def read_head(head: bytes | bytearray) -> tuple[int, int]:
    """The status of a message, and the length of its payload. Raises SaslFailed."""
    status, length = head[0], int.from_bytes(head[1:HEAD], "big")
    if length > MAX_NEGOTIATION or status not in (START, OK, BAD, ERROR, COMPLETE):
        raise SaslFailed("Not a SASL negotiation.")
    return status, length


def sasl_start(mechanism: str) -> bytes:
    """The beginning of a client's negotiation."""
    return sasl_message(START, mechanism.encode())


def sasl_response(token: bytes, last: bool) -> bytes:
    """The client's next token; `last`: the mechanism has no further token."""
    return sasl_message(COMPLETE if last else OK, token)


def sasl_message(status: int, payload: bytes) -> bytes:
    return bytes((status,)) + len(payload).to_bytes(4, "big") + payload


def _printable(payload: bytes) -> str:
    text = payload[:_MAX_REASON].decode(errors="replace")
    return "".join(each if each.isprintable() else "?" for each in text) or "no reason"
