"""A client's call, forwarded to the worker that has its session.

The frame is `[length][length][user][length][address][message]`, the reply `[length][message]`.
"""

from proxy.errors import WireError
from proxy.protocol.framing import MAX_FRAME, ForwardedIdentity, Frame, FramingEvent

_LENGTH = 4
_NAMES = 64 << 10


def forwarded_call(user: str, address: str, message: bytes | bytearray) -> bytes:
    """The content of the frame for the other worker."""
    return b"".join((*_named(user), *_named(address), message))


class PeerInbound:
    """The calls that another worker forwards."""

    def __init__(self) -> None:
        self._buffer = bytearray()

    @property
    def held(self) -> int:
        return 0  # the other worker counts its client's bytes

    def feed(self, data: bytes) -> list[FramingEvent]:
        """Raises WireError."""
        self._buffer += data
        events: list[FramingEvent] = []
        while len(self._buffer) >= _LENGTH:
            length = int.from_bytes(self._buffer[:_LENGTH], "big")
            if length > MAX_FRAME + _NAMES:
                raise WireError(f"A frame of {length} bytes.")
            if len(self._buffer) < _LENGTH + length:
                break
            frame = bytes(memoryview(self._buffer)[_LENGTH : _LENGTH + length])
            del self._buffer[: _LENGTH + length]
            user, at = _name(frame, 0)
            address, at = _name(frame, at)
            events += (ForwardedIdentity(user, address), Frame(frame[at:]))
        return events

    def wrap(self, length: int) -> bytes:
        return length.to_bytes(_LENGTH, "big")


def _named(text: str) -> tuple[bytes, bytes]:
    raw = text.encode(errors="surrogateescape")
    return len(raw).to_bytes(_LENGTH, "big"), raw


def _name(frame: bytes, at: int) -> tuple[str, int]:
    start = at + _LENGTH
    end = start + int.from_bytes(frame[at:start], "big")
    if end > len(frame):
        raise WireError("A frame ends too early.")
    return frame[start:end].decode(errors="surrogateescape"), end
