"""One connection to the real metastore."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass

from conf.topology import Endpoint
from metastore.errors import MetastoreDown, WireError
from metastore.view.locations import ClusterView
from metastore.view.outbound import ReplyStream

CHUNK = 256 * 1024
SILENCE = 3600.0  # seconds; adding partitions to a slow database takes long, but not for ever
_CONNECT = 10.0


@dataclass(frozen=True, slots=True)
class Upstream:
    """Requests go out whole; replies come in chunks."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter

    async def send(self, data: bytes) -> None:
        self.writer.write(data)
        await self.writer.drain()

    async def replies(self, stream: ReplyStream) -> AsyncIterator[bytes]:
        """What `stream` makes of one reply, piece by piece. Raises MetastoreDown."""
        while not stream.done:
            async with asyncio.timeout(SILENCE):
                chunk = await self.reader.read(CHUNK)
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


@asynccontextmanager
async def connected(metastores: tuple[Endpoint, ...]) -> AsyncIterator[Upstream]:
    """A connection to the first metastore that answers. Raises MetastoreDown."""
    reader, writer = await _first(metastores)
    try:
        yield Upstream(reader, writer)
    finally:
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
