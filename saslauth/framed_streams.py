"""A client's log-in over asyncio's streams, and the framed streams that it returns.

Code that uses `Reader` and `Writer` works with framed streams and with asyncio's own.
"""

import asyncio
from typing import Any, Protocol

from saslauth.errors import SaslFailed
from saslauth.frames import FrameReader, framed
from saslauth.negotiation import ClientNegotiation, Mechanism
from saslauth.security_layer import SecurityLayer

_CHUNK = 256 * 1024


class Reader(Protocol):
    async def read(self, n: int, /) -> bytes:
        """At least one byte and about `n` at most; no bytes at the end. Raises OSError."""
        ...

    def at_eof(self) -> bool: ...


class Writer(Protocol):
    def write(self, data: bytes, /) -> None: ...

    async def drain(self) -> None: ...

    def close(self) -> None: ...

    async def wait_closed(self) -> None: ...

    def is_closing(self) -> bool: ...

    def can_write_eof(self) -> bool: ...

    def write_eof(self) -> None: ...

    def get_extra_info(self, name: str, default: Any = None) -> Any: ...


class FramedReader:
    """A `Reader` that returns the contents of frames, which have at most `limit` bytes each."""

    def __init__(
        self, reader: asyncio.StreamReader, layer: SecurityLayer | None, limit: int
    ) -> None:
        self._reader = reader
        self._frames = FrameReader(layer, limit)

    async def read(self, n: int, /) -> bytes:
        """See `Reader`. A wrapped frame is read as a whole."""
        while chunk := await self._reader.read(n):
            try:
                content = self._frames.feed(chunk)
            except SaslFailed as error:
                raise ConnectionError(str(error)) from None
            if content:
                return content
        return b""

    def at_eof(self) -> bool:
        return self._reader.at_eof()


class FramedWriter:
    """A `Writer` that puts all data into frames."""

    def __init__(self, writer: asyncio.StreamWriter, layer: SecurityLayer | None) -> None:
        self._writer = writer
        self._layer = layer

    def write(self, data: bytes, /) -> None:
        """Raises OSError."""
        try:
            self._writer.write(framed(self._layer, data))
        except SaslFailed as error:
            raise ConnectionError(str(error)) from None

    async def drain(self) -> None:
        await self._writer.drain()

    def close(self) -> None:
        self._writer.close()

    async def wait_closed(self) -> None:
        await self._writer.wait_closed()

    def is_closing(self) -> bool:
        return self._writer.is_closing()

    def can_write_eof(self) -> bool:
        return self._writer.can_write_eof()

    def write_eof(self) -> None:
        self._writer.write_eof()

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return self._writer.get_extra_info(name, default)


async def log_in(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, mechanism: Mechanism, limit: int
) -> tuple[FramedReader, FramedWriter]:
    """Logs in, and returns the framed streams for messages. Raises SaslFailed, OSError."""
    negotiation = ClientNegotiation(mechanism)
    # A step may wait for a KDC, so it runs in a thread.
    writer.write(await asyncio.to_thread(negotiation.start))
    while not negotiation.done:
        await writer.drain()
        data = await reader.read(_CHUNK)
        if not data:
            raise ConnectionResetError("the server closed the connection in the log-in")
        writer.write(await asyncio.to_thread(negotiation.receive, data))
    layer = mechanism.layer
    return FramedReader(reader, layer, limit), FramedWriter(writer, layer)
