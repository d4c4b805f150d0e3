"""One connection to a Thrift Server: strictly one call at a time, replies streamed.

Receiving uses one slab for all connections: a buffer is filled and emptied within one turn of
the loop. A reply is looked at by its beginning; what follows goes straight to the client's
transport, and reading stops while that transport is full.
"""

import asyncio
import socket
from collections.abc import Callable
from typing import Protocol, cast

from conf.names import ClusterName
from conf.topology import Endpoint
from proxy.errors import ClusterLost, WireError
from proxy.wire.framing import client_negotiation, negotiation_reply

_SLAB = memoryview(bytearray(128 << 10))
_PASSWORD = "causeway"  # any will do where authentication is NONE; see docs/design/proxy.md
HEAD = 512
MAX_WHOLE = 128 << 20
_HIGH_WATER = 64 << 10  # below the slab: what comes in goes out within the same turn


class Sink(Protocol):
    """Where a reply's bytes go."""

    def write(self, data: bytes) -> None: ...

    @property
    def is_full(self) -> bool: ...

    def when_writable(self, source: "UpstreamConnection | None") -> None:
        """Who has to be told (`resume`) once there is room; None: nobody."""
        ...


class UpstreamConnection(asyncio.BufferedProtocol):
    """Use `connect`. After any exception but a time-out of `connect` itself, `abort` it."""

    def __init__(self, cluster: ClusterName, lost: Callable[[], None]) -> None:
        self.cluster = cluster
        self.broken = False
        self._lost = lost
        self._transport: asyncio.Transport | None = None
        self._buffer = bytearray()
        self._wanted = 0
        self._waiter: asyncio.Future[None] | None = None
        self._sink: Sink | None = None
        self._first: Callable[[int, bytes], bytes] | None = None
        self._streaming = 0

    # asyncio's side

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)  # uvloop's are of no such class
        tune(self._transport)

    def get_buffer(self, sizehint: int) -> memoryview:
        return _SLAB

    def buffer_updated(self, nbytes: int) -> None:
        data = _SLAB[:nbytes]
        if self._first is not None:
            data = self._begin(data, self._first)
        if self._streaming and data:
            piece = data[: self._streaming]
            self._pass_on(bytes(piece))
            data = data[len(piece) :]
        if data:
            self._buffer += data
        self._wake()

    def connection_lost(self, exc: Exception | None) -> None:
        self.broken = True
        self._lost()
        self._fail(ClusterLost(f"The connection to cluster {self.cluster} broke."))

    def resume(self) -> None:
        """The sink has room again."""
        if self._transport is not None and not self.broken:
            self._transport.resume_reading()

    # our side

    @classmethod
    async def connect(
        cls, cluster: ClusterName, endpoint: Endpoint, user: str, lost: Callable[[], None]
    ) -> "UpstreamConnection":
        """A connection authenticated as `user`; `lost` is called once when it is over.

        Raises OSError (then `lost` is never called), WireError, ClusterLost.
        """
        loop = asyncio.get_running_loop()
        connection = cls(cluster, lost)
        await loop.create_connection(lambda: connection, endpoint.host, endpoint.port)
        try:
            assert connection._transport is not None
            connection._transport.write(client_negotiation(user, _PASSWORD))
            await connection._negotiated()
        except BaseException:
            connection.abort()
            raise
        return connection

    async def _negotiated(self) -> None:
        await self._have(5)
        while (reply := negotiation_reply(bytes(self._buffer))) is None:
            await self._have(len(self._buffer) + 1)
        accepted, reason, used = reply
        del self._buffer[:used]
        if not accepted:
            raise WireError(f"Cluster {self.cluster} refused the user: {reason}")

    async def call(self, request: bytes) -> bytes:
        """The whole reply to a call."""
        length = await self._send(request)
        if length > MAX_WHOLE:
            raise WireError(f"A reply of {length} bytes where a short one was due.")
        await self._have(length)
        return self._take(length)

    async def relay(self, request: bytes, first: Callable[[int, bytes], bytes], sink: Sink) -> None:
        """Passes the reply to a call to the sink, as fast as that takes it.

        `first` is given the reply's length and its beginning, `HEAD` bytes or all there is, and
        says what is passed in its place.
        """
        self._first, self._sink = first, sink
        try:
            self._write(request)
            await self._wait()
        finally:
            self._first = self._sink = None
            sink.when_writable(None)

    def abort(self) -> None:
        """Closes at once."""
        self.broken = True
        if self._transport is not None:
            self._transport.abort()

    def _write(self, request: bytes) -> None:
        if self.broken or self._transport is None:
            raise ClusterLost(f"The connection to cluster {self.cluster} broke.")
        self._transport.write(len(request).to_bytes(4, "big") + request)

    async def _send(self, request: bytes) -> int:
        self._write(request)
        await self._have(4)
        return int.from_bytes(self._take(4), "big")

    async def _have(self, count: int) -> None:
        if len(self._buffer) < count:
            self._wanted = count
            await self._wait()

    async def _wait(self) -> None:
        if self.broken:
            raise ClusterLost(f"The connection to cluster {self.cluster} broke.")
        self._waiter = asyncio.get_running_loop().create_future()
        try:
            await self._waiter
        except asyncio.CancelledError:
            self.abort()  # a reply may be under way; nobody can tell where it would end
            raise
        finally:
            self._waiter = None
            self._wanted = 0

    def _take(self, count: int) -> bytes:
        taken = bytes(memoryview(self._buffer)[:count])
        del self._buffer[:count]
        return taken

    def _begin(self, data: memoryview, first: Callable[[int, bytes], bytes]) -> memoryview:
        """Passes on a reply's beginning once it is here; gives what comes after it."""
        if self._buffer:
            data = memoryview(bytes(self._buffer) + data)
            self._buffer.clear()
        length = int.from_bytes(data[:4], "big")
        end = 4 + min(length, HEAD)
        if len(data) < end:
            return data
        assert self._sink is not None
        self._first = None
        try:
            self._sink.write(first(length, bytes(data[4:end])))
        except WireError as error:
            self._fail(error)
            return data[:0]
        self._streaming = 4 + length - end
        return data[end:]

    def _pass_on(self, piece: bytes) -> None:
        self._streaming -= len(piece)
        if self._sink is not None:
            self._sink.write(piece)
            if self._streaming:
                self._stop_when_full()

    def _stop_when_full(self) -> None:
        assert self._transport is not None
        if self._sink is not None and self._sink.is_full:
            self._transport.pause_reading()
            self._sink.when_writable(self)

    def _wake(self) -> None:
        waiter = self._waiter
        if waiter is None or waiter.done():
            return
        if self._first or self._streaming:
            return
        if len(self._buffer) >= self._wanted:
            waiter.set_result(None)

    def _fail(self, error: Exception) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_exception(error)


def tune(transport: asyncio.Transport) -> None:
    """No delay for small frames; a dead peer is noticed within a minute."""
    transport.set_write_buffer_limits(high=_HIGH_WATER)
    raw = transport.get_extra_info("socket")
    if raw is None or raw.family not in (socket.AF_INET, socket.AF_INET6):
        return
    raw.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    raw.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for option, value in (("TCP_KEEPIDLE", 30), ("TCP_KEEPINTVL", 10), ("TCP_KEEPCNT", 3)):
        if hasattr(socket, option):
            raw.setsockopt(socket.IPPROTO_TCP, getattr(socket, option), value)
