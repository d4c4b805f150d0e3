"""A client's own connection to the real metastore, which has a thread for each connection.

It is opened at the first call, and closed while the client is idle for long. The state that the
metastore keeps for a connection (`set_ugi`) is set again on the next one.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress

from conf.topology import Endpoint
from metastore.client.streams import CHUNK
from metastore.client.user_streams import UserStreams
from metastore.errors import MalformedReply, MetastoreDown
from metastore.view.locations import ClusterView
from metastore.view.outbound.locations_out import ReplyStream
from saslauth.framed_streams import Reader, Writer
from thriftcodec.message_end import MessageEnd
from thriftcodec.values import LIST, STRING, Struct, strings
from thriftcodec.writer import call_bytes

SILENCE = 3600.0  # seconds without a byte of a reply: adding many partitions may take long
_CONNECT = 10.0


class UpstreamSlots:
    """The number of connections to the metastore that this process may still open."""

    def __init__(self, most: int) -> None:
        self._free = most

    def take(self) -> None:
        """Takes a connection. Raises MetastoreDown if none is free."""
        if not self._free:
            raise MetastoreDown("All connections to the metastore are in use.")
        self._free -= 1

    def give_back(self) -> None:
        self._free += 1


class Upstream:
    """Sends whole requests to the metastore, reads replies in chunks. Call `close` at the end."""

    def __init__(
        self,
        metastores: tuple[Endpoint, ...],
        slots: UpstreamSlots,
        streams: UserStreams,
        user: str | None = None,
    ) -> None:
        """`user` is the caller's user name; None if clients do not authenticate."""
        self._metastores = metastores
        self._streams = streams
        self._slots = slots
        self._connection: tuple[Reader, Writer] | None = None
        self._user = user
        self._introduction = _set_ugi(user) if user is not None and not streams.sasl else None
        self._may_rest = True

    async def connection(self) -> tuple[Reader, Writer]:
        """The open connection, or a new one. Raises MetastoreDown."""
        if self._connection is None:
            self._slots.take()
            try:
                self._connection = await _first(self._metastores, self._streams, self._user)
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
        """Records a client's call if it changes the state of the connection."""
        if method == "set_ugi":
            self._introduction = request
        elif method == "setMetaConf":
            self._may_rest = False

    def rest(self) -> None:
        """Closes the connection of an idle client, unless it has state that cannot be set again."""
        if self._may_rest:
            self.close()

    def close(self) -> None:
        """Closes the connection, if there is one."""
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
        """The reply in pieces, as rewritten by `stream`. Raises MetastoreDown, MalformedReply."""
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
            raise MalformedReply("The metastore sent more than one reply.")

    async def exchange(self, request: bytes, view: ClusterView) -> bytes:
        """The whole reply to a request of the view itself, not rewritten. Raises MetastoreDown."""
        await self.send(request)
        return b"".join([piece async for piece in self.replies(ReplyStream(None, view))])


async def check_answers(metastores: tuple[Endpoint, ...], streams: UserStreams) -> None:
    """Connects to one of the metastores. Raises MetastoreDown if none accepts a connection."""
    _, writer = await _first(metastores, streams)
    writer.close()
    with suppress(OSError):
        await writer.wait_closed()


def _set_ugi(user: str) -> bytes:
    return call_bytes("set_ugi", 0, Struct({1: (STRING, user), 2: (LIST, strings(()))}))


async def _first(
    metastores: tuple[Endpoint, ...], streams: UserStreams, user: str | None = None
) -> tuple[Reader, Writer]:
    tried = []
    for endpoint in metastores:
        try:
            return await streams.open(endpoint, user, _CONNECT)
        except (OSError, TimeoutError) as error:
            tried.append(f"{endpoint}: {error}")
    raise MetastoreDown(f"No metastore answers ({'; '.join(tried)}).")
