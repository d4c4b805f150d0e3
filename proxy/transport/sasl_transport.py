"""A transport that wraps and unwraps messages as the SASL negotiation chose (integrity, privacy).

The protocol above reads and writes messages with their lengths before them, as without protection.
On the socket there are frames `[length][wrapped bytes]`. A received frame has one whole message; a
message that is sent takes several frames if the peer accepts only short ones.
"""

import asyncio
import logging
from collections.abc import Callable
from typing import Any

from proxy.errors import WireError
from saslauth.errors import SaslFailed
from saslauth.security_layer import SecurityLayer

_LENGTH = 4  # bytes of the length before a message or a frame
_PIECE = 128 << 10  # bytes passed on at once
_log = logging.getLogger(__name__)


class SaslTransport(asyncio.Transport, asyncio.Protocol):
    """The transport of the protocol `above`, and the protocol of the transport `below`.

    `received` is called with unwrapped bytes, and with no bytes whenever data arrives, so that it
    can reset a timer for silent peers. A frame above `limit` bytes aborts the connection.
    """

    def __init__(
        self,
        below: asyncio.Transport,
        above: asyncio.BaseProtocol,
        received: Callable[[bytes], None],
        layer: SecurityLayer,
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
        self._plain = memoryview(b"")  # unwrapped, not passed on yet
        self._head = bytearray()  # the length of the message that is being written
        self._left = 0  # bytes of that message which are not written yet
        if not below.is_closing():
            below.pause_reading()  # otherwise uvloop continues to call the former protocol
            below.set_protocol(self)
            below.resume_reading()

    @property
    def held(self) -> int:
        """The number of bytes that arrived and were not passed on yet."""
        return len(self._buffer) + len(self._plain)

    # Called by the transport below

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
        except (SaslFailed, WireError) as error:
            self._abort_after(error)

    def _has_more(self) -> bool:
        """Whether there are unwrapped bytes; unwraps the next frame if necessary."""
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

    # Called by the protocol above

    def write(self, data: Any) -> None:
        """Sends messages with their lengths before them, passed in pieces of any size."""
        view = memoryview(data)
        frames: list[bytes] = []
        try:
            while view:
                view = self._wrap_some(view, frames) if self._left else self._begin(view)
        except (SaslFailed, WireError) as error:
            self._abort_after(error)
        else:
            self._below.write(b"".join(frames))

    def _begin(self, view: memoryview) -> memoryview:
        """Reads the length of the next message; returns the bytes after it."""
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

    def _abort_after(self, error: Exception) -> None:
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
