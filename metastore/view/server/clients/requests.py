"""Reads a client's requests, one after the other, with limits of size and time."""

import asyncio

from conf.settings.view_limits import ViewLimits
from metastore.client.streams import CHUNK
from metastore.view.errors import MessageTooLarge
from metastore.view.server.clients.client_limits import ClientSlot
from metastore.view.server.clients.upstream_connection import Upstream
from saslauth.framed_streams import Reader
from thriftcodec.errors import MalformedMessage
from thriftcodec.message_end import MessageEnd

_TLS = b"\x16\x03"  # the first bytes of a TLS handshake
MAX_REQUEST = 128 * 1024 * 1024  # bytes


class Requests:
    """Reads a client's requests. Closes the client's connection to the metastore while no request
    comes for long."""

    def __init__(
        self, reader: Reader, limits: ViewLimits, slot: ClientSlot, upstream: Upstream
    ) -> None:
        self._reader = reader
        self._limits = limits
        self._slot = slot
        self._upstream = upstream
        self._buffer = bytearray()

    def is_gone(self) -> bool:
        """Whether the client has closed the connection."""
        return self._reader.at_eof()

    async def next(self) -> bytes | None:
        """The next request; None when the client has closed the connection.

        Raises MessageTooLarge; MalformedMessage if the client speaks TLS; TimeoutError if a request
        takes too long to arrive, or the client has never sent one.
        """
        if not self._buffer and not await self._begun():
            return None
        end, seen = MessageEnd(), 0
        async with asyncio.timeout(self._limits.request):
            while (more := end.feed(self._buffer[seen:])) is None:
                seen = len(self._buffer)
                if seen > MAX_REQUEST:
                    raise MessageTooLarge("a request is above the limit")
                if not await self._read():
                    return None
        length = seen + more
        message = bytes(memoryview(self._buffer)[:length])
        del self._buffer[:length]
        self._slot.silent = False
        return message

    async def _begun(self) -> bool:
        """Whether a request has begun; False: the client has closed the connection."""
        if self._slot.silent:
            async with asyncio.timeout(self._limits.first_call):
                begun = await self._read()
            if self._buffer.startswith(_TLS):
                raise MalformedMessage("the client speaks TLS, and view.use.SSL is not true")
            return begun
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
