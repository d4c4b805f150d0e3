"""Between a socket and a connection whose SASL negotiation chose to protect what comes after it.

Each frame's content is wrapped then, to be unwrapped as a whole; within, there are messages with
their lengths before them, as without protection. A message may be in several frames.
"""

import asyncio
import logging
from collections.abc import Callable
from typing import Any, Protocol

from proxy.errors import WireError

_LENGTH = 4  # bytes that say how long a message or a frame is
_PIECE = 128 << 10  # of what is passed on at once
_log = logging.getLogger(__name__)


class Layer(Protocol):
    """What wraps and unwraps; both raise WireError. `room` is how much goes into one wrapping."""

    @property
    def room(self) -> int: ...

    def wrap(self, message: bytes) -> bytes: ...

    def unwrap(self, token: bytes) -> bytes: ...


class Shield(asyncio.Transport, asyncio.Protocol):
    """The transport of the connection `above`, and the protocol of the one `below`.

    `received` is given what was unwrapped, and nothing when a part of a frame has come: whoever
    waits for the rest is not to think that the other side is silent. A frame above `limit` bytes
    ends the connection.
    """

    def __init__(
        self,
        below: asyncio.Transport,
        above: asyncio.BaseProtocol,
        received: Callable[[bytes], None],
        layer: Layer,
        limit: int,
    ) -> None:
        super().__init__()
        self._below = below
        self._above = above
        self._received = received
        self._layer = layer
        self._limit = limit
        self._paused = False
        self._buffer = bytearray()  # wrapped
        self._plain = memoryview(b"")  # unwrapped, not yet passed on
        self._head = bytearray()  # of the message that is being written
        self._left = 0  # bytes of it that are still to come
        if not below.is_closing():
            below.pause_reading()  # else uvloop goes on in the way of the protocol that was
            below.set_protocol(self)
            below.resume_reading()

    @property
    def held(self) -> int:
        """Bytes that came and were not passed on."""
        return len(self._buffer) + len(self._plain)

    # from below

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        self._received(b"")
        self._pass_on()

    def connection_lost(self, exc: Exception | None) -> None:
        self._above.connection_lost(exc)

    def pause_writing(self) -> None:
        self._above.pause_writing()

    def resume_writing(self) -> None:
        self._above.resume_writing()

    def _pass_on(self) -> None:
        try:
            while not (self._paused or self._below.is_closing()) and self._has_more():
                piece, self._plain = self._plain[:_PIECE], self._plain[_PIECE:]
                self._received(bytes(piece))
        except WireError as error:
            self._give_up(error)

    def _has_more(self) -> bool:
        """Whether something can be passed on, after looking into the next frame if need be."""
        if not self._plain and (token := self._next_frame()) is not None:
            message = self._layer.unwrap(token)
            self._plain = memoryview(len(message).to_bytes(_LENGTH, "big") + message)
        return bool(self._plain)

    def _next_frame(self) -> bytes | None:
        if len(self._buffer) < _LENGTH:
            return None
        length = int.from_bytes(self._buffer[:_LENGTH], "big")
        if length > self._limit:
            raise WireError(f"A wrapped frame of {length} bytes.")
        if len(self._buffer) < _LENGTH + length:
            return None
        token = bytes(memoryview(self._buffer)[_LENGTH : _LENGTH + length])
        del self._buffer[: _LENGTH + length]
        return token

    # from above

    def write(self, data: Any) -> None:
        """Messages with their lengths before them, in pieces of any size."""
        view = memoryview(data)
        frames: list[bytes] = []
        try:
            while view:
                view = self._wrap_some(view, frames) if self._left else self._begin(view)
        except WireError as error:
            self._give_up(error)
        else:
            self._below.write(b"".join(frames))

    def _begin(self, view: memoryview) -> memoryview:
        """Reads how long the next message is; gives what comes after that."""
        missing = _LENGTH - len(self._head)
        self._head += view[:missing]
        if len(self._head) == _LENGTH:
            self._left = int.from_bytes(self._head, "big")
            self._head.clear()
        return view[missing:]

    def _wrap_some(self, view: memoryview, frames: list[bytes]) -> memoryview:
        piece = view[: min(self._left, self._layer.room)]
        token = self._layer.wrap(bytes(piece))
        frames += (len(token).to_bytes(_LENGTH, "big"), token)
        self._left -= len(piece)
        return view[len(piece) :]

    def _give_up(self, error: WireError) -> None:
        _log.warning("a protected connection cannot go on: %s", error)
        self.abort()

    def pause_reading(self) -> None:
        self._paused = True
        self._below.pause_reading()

    def resume_reading(self) -> None:
        if self._paused:
            self._paused = False
            self._below.resume_reading()
            asyncio.get_running_loop().call_soon(self._pass_on)

    def is_reading(self) -> bool:
        return not self._paused

    def is_closing(self) -> bool:
        return self._below.is_closing()

    def close(self) -> None:
        self._below.close()

    def abort(self) -> None:
        self._below.abort()

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return self._below.get_extra_info(name, default)
