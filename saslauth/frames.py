"""Frames after a negotiation: `[length][content]`, wrapped if the negotiation chose a protection.

The contents of all frames, one after another, are the stream of messages: a message may span
several frames.
"""

from saslauth.errors import SaslFailed
from saslauth.security_layer import SecurityLayer

_LENGTH = 4  # bytes of the length before a content
_LONGEST = (1 << 31) - 1


class FrameReader:
    """Returns the contents of frames. A frame above `limit` bytes is refused before it is read."""

    def __init__(self, layer: SecurityLayer | None, limit: int) -> None:
        self._layer = layer
        self._limit = limit
        self._buffer = bytearray()
        self._left = 0  # bytes of an unprotected frame that have not arrived

    @property
    def held(self) -> bool:
        """Whether a frame is incomplete."""
        return bool(self._buffer or self._left)

    def feed(self, data: bytes) -> bytes:
        """The contents that are complete with `data`. Raises SaslFailed.

        Without protection, parts of a content are returned as they arrive.
        """
        if self._left and len(data) <= self._left:  # the usual case in a large reply
            self._left -= len(data)
            return data
        self._buffer += data
        contents: list[bytes] = []
        while (content := self._next()) is not None:
            contents.append(content)
        return b"".join(contents)

    def _next(self) -> bytes | None:
        if self._left:
            return self._rest()
        if len(self._buffer) < _LENGTH:
            return None
        length = int.from_bytes(self._buffer[:_LENGTH], "big")
        if length > self._limit:
            raise SaslFailed(f"a frame of {length} bytes")
        if self._layer is None:
            del self._buffer[:_LENGTH]
            self._left = length
            return self._rest() if length else b""
        if len(self._buffer) < _LENGTH + length:
            return None
        token = bytes(memoryview(self._buffer)[_LENGTH : _LENGTH + length])
        del self._buffer[: _LENGTH + length]
        return self._layer.unwrap(token)

    def _rest(self) -> bytes | None:
        if not self._buffer:
            return None
        content = bytes(memoryview(self._buffer)[: self._left])
        del self._buffer[: len(content)]
        self._left -= len(content)
        return content


def framed(layer: SecurityLayer | None, data: bytes) -> bytes:
    """The data as frames. Raises SaslFailed."""
    room = _LONGEST if layer is None else layer.room
    frames: list[bytes] = []
    for start in range(0, len(data), room):
        content = data[start : start + room]
        token = content if layer is None else layer.wrap(content)
        frames += (len(token).to_bytes(_LENGTH, "big"), token)
    return b"".join(frames)
