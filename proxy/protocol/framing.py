"""Splits a client's bytes into messages: SASL frames, or bare messages (NOSASL).

The SASL negotiation consists of `[status][length][payload]`: first the mechanism's name, then the
credentials or tokens, with status OK (Python, Go and node clients) or COMPLETE (Java). After the
negotiation come frames: `[length][message]`. This module does not authenticate: it returns
`Credentials` or a `GssapiToken`, and the caller answers with `accept`, `challenge` or `refuse`.
"""

from dataclasses import dataclass, field
from typing import Protocol

from proxy.errors import WireError
from proxy.protocol.messages import BareMessageEnd
from saslauth.errors import SaslFailed
from saslauth.negotiation import (
    BAD,
    COMPLETE,
    ERROR,
    GSSAPI,
    OK,
    PLAIN,
    START,
    read_head,
    sasl_message,
    sasl_response,
    sasl_start,
)

MAX_FRAME = 65 << 20  # bytes: 64 MiB of SQL and the fields around it
MAX_SKIPPED = 1 << 30  # bytes of an oversized message that is skipped; more end the connection
HEAD_KEPT = 4096  # first bytes of an oversized message that are kept
MAX_EARLY = 256 << 10  # bytes that a client may send before its log-in is answered: one read
REFUSED = "Error validating the login"  # the Thrift Server's text, without a reason


@dataclass(frozen=True, slots=True)
class Send:
    """Bytes of the negotiation to send to the client; `last`: the negotiation failed."""

    data: bytes
    last: bool = False


@dataclass(frozen=True, slots=True)
class Credentials:
    """A user name and a password. No further bytes are parsed until the caller answers them."""

    user: str
    password: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class GssapiToken:
    """The client's next GSSAPI token. No further bytes are parsed until the caller answers it."""

    data: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class Frame:
    """One whole message. `data` is never modified."""

    data: bytes | bytearray


@dataclass(frozen=True, slots=True)
class Oversized:
    """A message above the limit, which was skipped; `head` has its first bytes."""

    head: bytes
    length: int


LoginStep = Credentials | GssapiToken


@dataclass(frozen=True, slots=True)
class ForwardedIdentity:
    """The user and address of the following messages, which another worker authenticated."""

    user: str
    address: str


FramingEvent = Send | LoginStep | Frame | Oversized | ForwardedIdentity


class Inbound(Protocol):
    """Parses the bytes of one connection. `feed` raises WireError for bytes that end it."""

    @property
    def held(self) -> int:
        """Bytes of an unfinished message."""
        ...

    def feed(self, data: bytes) -> list[FramingEvent]:
        """The events that are complete with `data`."""
        ...

    def wrap(self, length: int) -> bytes:
        """The bytes to send before a message of this length."""
        ...


class SaslInbound:
    """An Inbound with a SASL negotiation, which offers `mechanisms`, and frames.

    As in the Thrift Server, PLAIN rejects an empty password and ignores the authorisation id.
    """

    def __init__(
        self, mechanisms: frozenset[str] = frozenset((PLAIN,)), limit: int = MAX_FRAME
    ) -> None:
        self._mechanisms = mechanisms
        self._limit = limit
        self._buffer = bytearray()
        self._mechanism: str | None = None
        self._awaits_answer = False  # the caller has not answered a log-in step
        self._authenticated = False
        self._failed = False
        self._skipping: tuple[bytes, int, int] | None = None  # head, length, bytes to skip

    @property
    def held(self) -> int:
        return len(self._buffer) + (self._skipping is not None)

    def wrap(self, length: int) -> bytes:
        return length.to_bytes(4, "big")

    def feed(self, data: bytes) -> list[FramingEvent]:
        if self._failed:
            return []
        if self._is_next_frame(data):
            return [Frame(data[4:])]
        self._buffer += data
        if self._awaits_answer and len(self._buffer) > MAX_EARLY:
            raise WireError("The client sends too much before its log-in is answered.")
        return self._events()

    def accept(self, token: bytes = b"") -> list[FramingEvent]:
        """Ends the negotiation with a success and the mechanism's last token. Returns the reply,
        and the messages that have arrived since."""
        self._awaits_answer, self._authenticated = False, True
        return [Send(sasl_message(COMPLETE, token)), *self._events()]

    def early(self) -> bytes:
        """Removes and returns the bytes after the last log-in step, for a caller that has to unwrap
        them."""
        data = bytes(self._buffer)
        self._buffer.clear()
        return data

    def challenge(self, token: bytes) -> list[FramingEvent]:
        """Sends the mechanism's next token, which the client has to answer."""
        self._awaits_answer = False
        return [Send(sasl_message(OK, token)), *self._events()]

    def refuse(self) -> list[FramingEvent]:
        """Ends the negotiation with a failure that contains no reason."""
        return self._fail(BAD, REFUSED)

    def reject(self, reason: str) -> list[FramingEvent]:
        """Ends the negotiation with an error that contains the reason."""
        return self._fail(ERROR, reason)

    def _events(self) -> list[FramingEvent]:
        events: list[FramingEvent] = []
        while not self._authenticated:
            step = self._negotiate()
            if step is None:
                return events
            events += step
        while (event := self._next_frame()) is not None:
            events.append(event)
        return events

    def _is_next_frame(self, data: bytes) -> bool:
        """Whether `data` is exactly one frame, which is the usual case."""
        if self._buffer or self._skipping is not None or not self._authenticated:
            return False
        return 4 <= len(data) <= self._limit and int.from_bytes(data[:4], "big") == len(data) - 4

    def _next_frame(self) -> FramingEvent | None:
        if self._skipping is not None:
            return self._skip()
        if len(self._buffer) < 4:
            return None
        length = int.from_bytes(self._buffer[:4], "big")
        if length > MAX_SKIPPED:
            raise WireError(f"A frame of {length} bytes.")
        if length > self._limit:
            head_end = 4 + min(HEAD_KEPT, length)
            if len(self._buffer) < head_end:
                return None
            self._skipping = (bytes(self._buffer[4:head_end]), length, length)
            del self._buffer[:4]
            return self._skip()
        if len(self._buffer) < 4 + length:
            return None
        if len(self._buffer) == 4 + length:  # passes the buffer on: to copy 60 MB takes 20 ms
            data, self._buffer = self._buffer, bytearray()
            del data[:4]
            return Frame(data)
        frame = Frame(bytes(memoryview(self._buffer)[4 : 4 + length]))
        del self._buffer[: 4 + length]
        return frame

    def _skip(self) -> FramingEvent | None:
        assert self._skipping is not None
        head, length, remaining = self._skipping
        skipped = min(remaining, len(self._buffer))
        del self._buffer[:skipped]
        if remaining > skipped:
            self._skipping = (head, length, remaining - skipped)
            return None
        self._skipping = None
        return Oversized(head, length)

    def _negotiate(self) -> list[FramingEvent] | None:
        """The events of one step; None if its bytes are incomplete, if the caller has to answer an
        earlier step, or if the negotiation has failed."""
        if len(self._buffer) < 5 or self._failed or self._awaits_answer:
            return None
        try:
            status, length = read_head(self._buffer)
        except SaslFailed as error:
            raise WireError(str(error)) from None
        if len(self._buffer) < 5 + length:
            return None
        payload = bytes(self._buffer[5 : 5 + length])
        del self._buffer[: 5 + length]
        if self._mechanism is None:
            return self._start(status, payload)
        if status not in (OK, COMPLETE):
            raise WireError("The client gave up the SASL negotiation.")
        if self._mechanism == GSSAPI:
            self._awaits_answer = True
            return [GssapiToken(payload)]
        return self._credentials(payload)

    def _start(self, status: int, payload: bytes) -> list[FramingEvent]:
        if status != START:
            return self._fail(ERROR, f"Expecting START status, received {status}")
        mechanism = payload.decode("ascii", "replace")
        if mechanism not in self._mechanisms:
            offered = ", ".join(sorted(self._mechanisms))
            return self._fail(BAD, f"Unsupported mechanism type; offered: {offered}")
        self._mechanism = mechanism
        return []

    def _credentials(self, payload: bytes) -> list[FramingEvent]:
        parts = payload.split(b"\0")
        if len(parts) != 3 or not parts[1] or not parts[2]:
            return self._fail(BAD, "PLAIN auth failed: no user name or no password")
        try:
            credentials = Credentials(parts[1].decode(), parts[2].decode())
        except UnicodeDecodeError:
            return self._fail(BAD, "PLAIN auth failed: not UTF-8")
        self._awaits_answer = True
        return [credentials]

    def _fail(self, status: int, reason: str) -> list[FramingEvent]:
        self._failed = True
        return [Send(sasl_message(status, reason.encode()), last=True)]


class BareInbound:
    """An Inbound for NOSASL: no negotiation and no frames; a message's structure shows its end."""

    def __init__(self, limit: int = MAX_FRAME) -> None:
        self._limit = limit
        self._kept = bytearray()
        self._length = 0
        self._finder = BareMessageEnd()

    @property
    def held(self) -> int:
        return len(self._kept)

    def wrap(self, length: int) -> bytes:
        return b""

    def feed(self, data: bytes) -> list[FramingEvent]:
        events: list[FramingEvent] = []
        while data:
            end = self._finder.feed(data)
            piece = data if end is None else data[:end]
            data = data[len(piece) :]
            self._keep(piece)
            if end is not None:
                events.append(self._finish())
        return events

    def _keep(self, piece: bytes) -> None:
        self._length += len(piece)
        if self._length > MAX_SKIPPED:
            raise WireError("A message that does not end.")
        if self._length <= self._limit:
            self._kept += piece
        else:
            self._kept += piece[: max(0, HEAD_KEPT - len(self._kept))]
            del self._kept[HEAD_KEPT:]

    def _finish(self) -> FramingEvent:
        kept, length = self._kept, self._length
        self._kept = bytearray()
        self._length = 0
        self._finder = BareMessageEnd()
        return Frame(kept) if length <= self._limit else Oversized(bytes(kept), length)


def client_negotiation(user: str, password: str) -> bytes:
    """All bytes of a client's PLAIN negotiation, which may be sent without waiting."""
    credentials = b"\0".join((b"", user.encode(), password.encode()))
    return sasl_start(PLAIN) + sasl_response(credentials, last=True)
