"""Frames of a client's call that is forwarded to the worker that keeps its session.

A frame is `[length][length][user][length][address][message]`, its reply `[length][message]`.
"""

from proxy.errors import WireError
from proxy.protocol.framing import MAX_FRAME, ForwardedIdentity, Frame, FramingEvent

_LENGTH = 4  # bytes of a length
_MAX_NAMES = 64 << 10  # bytes of user and address


def forwarded_call(user: str, address: str, message: bytes | bytearray) -> bytes:
    """The frame for the other worker, without its first length."""
    return b"".join((*_counted(user), *_counted(address), message))


class PeerInbound:
    """An Inbound that reads the calls that another worker forwards."""

    def __init__(self) -> None:
        self._buffer = bytearray()

    @property
    def held(self) -> int:
        return 0  # the other worker counts the client's bytes

    def feed(self, data: bytes) -> list[FramingEvent]:
        """Raises WireError."""
        self._buffer += data
        events: list[FramingEvent] = []
        while len(self._buffer) >= _LENGTH:
            length = int.from_bytes(self._buffer[:_LENGTH], "big")
            if length > MAX_FRAME + _MAX_NAMES:
                raise WireError(f"A frame of {length} bytes.")
            if len(self._buffer) < _LENGTH + length:
                break
            frame = bytes(memoryview(self._buffer)[_LENGTH : _LENGTH + length])
            del self._buffer[: _LENGTH + length]
            user, at = _read_name(frame, 0)
            address, at = _read_name(frame, at)
            events += (ForwardedIdentity(user, address), Frame(frame[at:]))
        return events

    def wrap(self, length: int) -> bytes:
        return length.to_bytes(_LENGTH, "big")


def _counted(text: str) -> tuple[bytes, bytes]:
    raw = text.encode(errors="surrogateescape")
    return len(raw).to_bytes(_LENGTH, "big"), raw


def _read_name(frame: bytes, at: int) -> tuple[str, int]:
    start = at + _LENGTH
    end = start + int.from_bytes(frame[at:start], "big")
    if end > len(frame):
        raise WireError("A frame ends too early.")
    return frame[start:end].decode(errors="surrogateescape"), end
