"""Streams of asyncio after a negotiation: what is read and written is in frames."""

import asyncio
from typing import Any, Protocol

from sasl.errors import SaslFailed
from sasl.frames import FrameReader, framed
from sasl.negotiation import ClientNegotiation, Mechanism
from sasl.security_layer import SecurityLayer

_CHUNK = 64 << 10


class Reader(Protocol):
    """What is needed of a StreamReader."""

    async def read(self, n: int = -1, /) -> bytes: ...


class Writer(Protocol):
    """What is needed of a StreamWriter."""

    def write(self, data: bytes, /) -> None: ...

    async def drain(self) -> None: ...

    def close(self) -> None: ...

    def write_eof(self) -> None: ...

    async def wait_closed(self) -> None: ...

    def get_extra_info(self, name: str, /) -> Any: ...


class FramedReader:
    """Reads contents. A frame above `limit` bytes ends the connection: read raises OSError."""

    def __init__(
        self, reader: asyncio.StreamReader, layer: SecurityLayer | None, limit: int
    ) -> None:
        self._reader = reader
        self._frames = FrameReader(layer, limit)

    async def read(self, n: int = -1, /) -> bytes:
        """Some content, which may be longer than `n`; nothing at the end. Raises OSError."""
        while chunk := await self._reader.read(n if n > 0 else _CHUNK):
            try:
                if content := self._frames.feed(chunk):
                    return content
            except SaslFailed as error:
                raise ConnectionAbortedError(f"SASL: {error}") from None
        return b""


class FramedWriter:
    """Writes each piece as a frame, or as several."""

    def __init__(self, writer: asyncio.StreamWriter, layer: SecurityLayer | None) -> None:
        self._writer = writer
        self._layer = layer
        self.drain = writer.drain
        self.close = writer.close
        self.write_eof = writer.write_eof
        self.wait_closed = writer.wait_closed

    def write(self, data: bytes, /) -> None:
        """Raises OSError."""
        try:
            self._writer.write(framed(self._layer, data))
        except SaslFailed as error:
            raise ConnectionAbortedError(f"SASL: {error}") from None

    def get_extra_info(self, name: str, /) -> Any:
        return self._writer.get_extra_info(name)


async def negotiate(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, mechanism: Mechanism, limit: int
) -> tuple[Reader, Writer]:
    """The streams after the client's negotiation; frames have at most `limit` bytes.

    The caller limits the time, and closes the writer after any exception. Raises SaslFailed,
    OSError.
    """
    negotiation = ClientNegotiation(mechanism)
    answer = await asyncio.to_thread(negotiation.start)  # a mechanism may wait for a KDC
    while True:
        writer.write(answer)
        await writer.drain()
        answer = b""
        while not answer:
            data = await reader.read(_CHUNK)
            if not data:
                raise ConnectionResetError("the server closed the connection during the log-in")
            answer = await asyncio.to_thread(negotiation.receive, data)
            if negotiation.done:
                layer = mechanism.layer
                return FramedReader(reader, layer, limit), FramedWriter(writer, layer)
