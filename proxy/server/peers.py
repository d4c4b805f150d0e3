"""Forwards calls between the workers of a server.

The workers listen on the same ports, and each keeps the sessions that it opened. The first byte of
a handle is the number of its worker. A call that arrives at another worker (over HTTP, or on
another connection of the user) is forwarded, and its reply is relayed; neither is decoded again.
Workers listen for each other on Unix sockets in a folder that only the server's own user may enter.
"""

import asyncio
from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from conf.names import ClusterName
from proxy.auth.login_throttle import LoginThrottle
from proxy.counters import Counters
from proxy.errors import ClusterLost, WorkerLost
from proxy.protocol.forwarding import PeerInbound, forwarded_call
from proxy.protocol.requests import Handle
from proxy.server.client_connection import ClientConnection
from proxy.session.handles import worker_of
from proxy.session.replay.function_changes import FunctionChanges
from proxy.upstream.upstream_connection import UpstreamConnection

_MAX_IDLE = 16  # connections kept to each worker


@dataclass(frozen=True, slots=True)
class WorkerGroup:
    """A worker's number, and what it shares with the other workers of its server.

    `sockets` are the Unix sockets of all workers by their number, and `writes` is the socket of the
    write queue. `counters`, `throttle`, `functions` and `cached` are in memory that all workers
    share; None if there is one worker. `used_before`: Thrift Servers may have cached rows for an
    earlier proxy.
    """

    number: int = 0
    sockets: Mapping[int, Path] = field(default_factory=dict)
    counters: Counters | None = None
    throttle: LoginThrottle | None = None
    functions: FunctionChanges | None = None
    cached: FunctionChanges | None = None
    writes: Path | None = None
    used_before: bool = False


ALONE = WorkerGroup()


class Peers:
    """Forwards calls to the other workers, and accepts connections from them."""

    def __init__(self, workers: WorkerGroup) -> None:
        self.number = workers.number
        self._workers = workers
        self._idle: defaultdict[int, list[UpstreamConnection]] = defaultdict(list)
        self._server: asyncio.Server | None = None

    async def listen(self, connected: Callable[[ClientConnection], None]) -> None:
        """Accepts connections of the other workers; `connected` is called for each."""
        path = self._workers.sockets.get(self.number)
        if path is not None:
            path.unlink(missing_ok=True)
            self._server = await asyncio.get_running_loop().create_unix_server(
                lambda: ClientConnection(PeerInbound(), connected), str(path)
            )

    async def forward(
        self, handle: Handle, message: bytes | bytearray, client: ClientConnection
    ) -> bool:
        """Forwards the call to the worker that keeps the handle, and relays the reply.

        Returns False if this worker keeps the handle, or no worker does. Raises WorkerLost.
        """
        number = worker_of(handle)
        path = self._workers.sockets.get(number)
        if path is None or number == self.number:
            return False
        try:
            connection = await self._connection(number, path)
        except OSError:
            return False  # the worker has ended, and the session with it
        reply_begun = False

        def first(length: int, data: bytes) -> bytes:
            nonlocal reply_begun
            reply_begun = True
            return client.wrap(length) + data

        try:
            call = forwarded_call(client.owner, client.peer, message)
            await connection.relay(call, first, client)
        except ClusterLost as error:
            if reply_begun:
                client.abort()  # it has received a part of the reply
            raise WorkerLost("The process that kept the session ended.") from error
        except BaseException:
            connection.abort()
            raise
        self._keep(number, connection)
        await client.drain()
        return True

    async def _connection(self, number: int, path: Path) -> UpstreamConnection:
        idle = self._idle[number]
        while idle:
            connection = idle.pop()
            if not connection.broken:
                return connection
        return await UpstreamConnection.to_peer(ClusterName(f"worker {number}"), path)

    def _keep(self, number: int, connection: UpstreamConnection) -> None:
        if len(self._idle[number]) < _MAX_IDLE and not connection.broken:
            self._idle[number].append(connection)
        else:
            connection.abort()

    def close(self) -> None:
        if self._server is not None:
            self._server.close()
        for idle in self._idle.values():
            for connection in idle:
                connection.abort()
