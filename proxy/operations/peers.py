"""The other workers: a server's processes take clients from the same ports, and each keeps the
sessions that it opened.

A handle's first byte says which worker that is. A call that comes in elsewhere, over HTTP or from
another connection of the same user, is carried there and its reply carried back, neither looked
at. The sockets are in a folder that only the server's own user may enter.
"""

import asyncio
from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from conf.names import ClusterName
from proxy.auth.login_throttle import Failures
from proxy.errors import ClusterLost, WorkerLost
from proxy.operations.counters import Tally
from proxy.protocol.forwarding import PeerInbound, introduced
from proxy.protocol.requests import Handle
from proxy.server.client_connection import ClientConnection
from proxy.session.function_changes import FunctionChanges
from proxy.session.handles import worker_of
from proxy.upstream.upstream_connection import UpstreamConnection

_IDLE = 16


@dataclass(frozen=True, slots=True)
class Crew:
    """This worker among those of its server. `sockets` are where each hears the others."""

    number: int = 0
    sockets: Mapping[int, Path] = field(default_factory=dict)
    tally: Tally | None = None
    failures: Failures | None = None
    functions: FunctionChanges | None = None


ALONE = Crew()


class Peers:
    """Carries calls to the other workers, and takes theirs."""

    def __init__(self, crew: Crew) -> None:
        self.number = crew.number
        self._crew = crew
        self._idle: defaultdict[int, list[UpstreamConnection]] = defaultdict(list)
        self._server: asyncio.Server | None = None

    async def listen(self, connected: Callable[[ClientConnection], None]) -> None:
        """Takes the others' calls; each connection of theirs is told `connected`."""
        path = self._crew.sockets.get(self.number)
        if path is not None:
            path.unlink(missing_ok=True)
            self._server = await asyncio.get_running_loop().create_unix_server(
                lambda: ClientConnection(PeerInbound(), connected), str(path)
            )

    async def carry(self, handle: Handle, message: bytes, client: ClientConnection) -> bool:
        """Whether another worker was there to answer the call. Raises WorkerLost."""
        number = worker_of(handle)
        path = self._crew.sockets.get(number)
        if path is None or number == self.number:
            return False
        try:
            connection = await self._connection(number, path)
        except OSError:
            return False  # it is gone, and with it whatever the handle stood for
        begun = False

        def first(length: int, data: bytes) -> bytes:
            nonlocal begun
            begun = True
            return client.wrap(length) + data

        try:
            call = introduced(client.owner, client.peer, message)
            await connection.relay(call, first, client)
        except ClusterLost as error:
            if begun:
                client.abort()  # half a reply cannot be taken back
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
        if len(self._idle[number]) < _IDLE and not connection.broken:
            self._idle[number].append(connection)
        else:
            connection.abort()

    def close(self) -> None:
        if self._server is not None:
            self._server.close()
        for idle in self._idle.values():
            for connection in idle:
                connection.abort()
