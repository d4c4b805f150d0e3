"""One client's connection to the real metastore, which gives each connection a thread of its own.

It is opened at the first call, and given up while the client asks nothing for long. What a
connection keeps for its client (`set_ugi`) is said again on the next one.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress

from conf.topology import Endpoint
from metastore.errors import MetastoreDown, WireError
from metastore.view.locations import ClusterView
from metastore.view.outbound.locations_out import ReplyStream
from thriftcodec.message_end import MessageEnd

CHUNK = 256 * 1024
SILENCE = 3600.0  # seconds; adding partitions to a slow database takes long, but not for ever
_CONNECT = 10.0


class UpstreamSlots:
    """How many connections to the metastore there may be in this process."""

    def __init__(self, most: int) -> None:
        self._free = most

    def take(self) -> None:
        """Raises MetastoreDown when all are taken."""
        if not self._free:
            raise MetastoreDown("All connections to the metastore are taken.")
        self._free -= 1

    def give_back(self) -> None:
        self._free += 1


class Upstream:
    """Requests go out whole; replies come in chunks. `close` it in the end."""

    def __init__(self, metastores: tuple[Endpoint, ...], slots: UpstreamSlots) -> None:
        self._metastores = metastores
        self._slots = slots
        self._connection: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None
        self._introduction: bytes | None = None
        self._may_rest = True

    @property
    def is_connected(self) -> bool:
        return self._connection is not None

    async def connection(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """Opens it when there is none. Raises MetastoreDown."""
        if self._connection is None:
            self._slots.take()
            try:
                self._connection = await _first(self._metastores)
            except BaseException:
                self._slots.give_back()
                raise
            if self._introduction is not None:
                await self._introduce(self._introduction)
        return self._connection

    async def send(self, data: bytes) -> None:
        _, writer = await self.connection()
        writer.write(data)
        await writer.drain()

    def note(self, method: str, request: bytes) -> None:
        """A client's own call that was made: it may leave something with the connection."""
        if method == "set_ugi":
            self._introduction = request
        elif method == "setMetaConf":
            self._may_rest = False

    def rest(self) -> None:
        """The client asks nothing: the metastore gets its thread back, if nothing is lost by it."""
        if self._may_rest:
            self.close()

    def close(self) -> None:
        """Ends the connection, if there is one."""
        if self._connection is not None:
            self._connection[1].close()
            self._connection = None
            self._slots.give_back()

    async def _introduce(self, request: bytes) -> None:
        reader, writer = await self.connection()
        writer.write(request)
        await writer.drain()
        end, chunk = MessageEnd(), b""
        while end.feed(chunk) is None:
            async with asyncio.timeout(_CONNECT):
                chunk = await reader.read(CHUNK)
            if not chunk:
                raise MetastoreDown("The metastore closed the connection at once.")

    async def replies(self, stream: ReplyStream) -> AsyncIterator[bytes]:
        """What `stream` makes of one reply, piece by piece. Raises MetastoreDown."""
        reader, _ = await self.connection()
        while not stream.done:
            async with asyncio.timeout(SILENCE):
                chunk = await reader.read(CHUNK)
            if not chunk:
                raise MetastoreDown("The metastore closed the connection in a reply.")
            ready = stream.feed(chunk)
            if ready:
                yield ready
        if stream.surplus:
            raise WireError("The metastore sent more than one reply.")

    async def ask(self, question: bytes, view: ClusterView) -> bytes:
        """One question of the view's own, and the whole reply."""
        await self.send(question)
        return b"".join([piece async for piece in self.replies(ReplyStream(None, view))])


async def check_answers(metastores: tuple[Endpoint, ...]) -> None:
    """Returns when one of the metastores takes a connection. Raises MetastoreDown."""
    _, writer = await _first(metastores)
    writer.close()
    with suppress(OSError):
        await writer.wait_closed()


async def _first(
    metastores: tuple[Endpoint, ...],
) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    tried = []
    for endpoint in metastores:
        try:
            async with asyncio.timeout(_CONNECT):
                return await asyncio.open_connection(endpoint.host, endpoint.port, limit=CHUNK)
        except (OSError, TimeoutError) as error:
            tried.append(f"{endpoint}: {error}")
    raise MetastoreDown(f"No metastore answers ({'; '.join(tried)}).")
