"""A client's requests, one after the other, within bounds of size and time."""

import asyncio

from conf.settings.view_limits import ViewLimits
from metastore.view.errors import TooLarge
from metastore.view.server.client_limits import Place
from metastore.view.server.upstream_connection import CHUNK, Upstream
from thriftcodec.message_end import MessageEnd

MAX_REQUEST = 128 * 1024 * 1024  # bytes


class Requests:
    """Reads one client's requests. The connection to the metastore rests while none comes."""

    def __init__(
        self,
        reader: asyncio.StreamReader,
        limits: ViewLimits,
        place: Place,
        upstream: Upstream,
    ) -> None:
        self._reader = reader
        self._limits = limits
        self._place = place
        self._upstream = upstream
        self._buffer = bytearray()

    async def next(self) -> bytes | None:
        """The next whole request; None once the client is gone.

        Raises TooLarge, and TimeoutError when it takes too long to come once it has begun, or the
        client has never made one.
        """
        if not self._buffer and not await self._begun():
            return None
        end, seen = MessageEnd(), 0
        async with asyncio.timeout(self._limits.request):
            while (more := end.feed(self._buffer[seen:])) is None:
                seen = len(self._buffer)
                if seen > MAX_REQUEST:
                    raise TooLarge("a request is beyond the limit")
                if not await self._read():
                    return None
        length = seen + more
        message = bytes(memoryview(self._buffer)[:length])
        del self._buffer[:length]
        self._place.silent = False
        return message

    async def _begun(self) -> bool:
        """Whether a request has begun; False once the client is gone."""
        if self._place.silent:
            async with asyncio.timeout(self._limits.first_call):
                return await self._read()
        loop = asyncio.get_running_loop()
        resting = loop.call_later(self._limits.upstream_idle, self._upstream.rest)
        try:
            return await self._read()
        finally:
            resting.cancel()

    async def _read(self) -> bool:
        chunk = await self._reader.read(CHUNK)
        self._buffer += chunk
        return bool(chunk)
