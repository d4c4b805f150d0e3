"""Connections to the clusters' Thrift Servers: counted, authenticated as one user each, and reused
for that user only.

A Thrift Server accepts its handles on any connection. So a call whose session's own connection is
busy borrows another connection of the same user.
"""

import asyncio
import time
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Callable, Collection
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from weakref import WeakSet

from conf.names import ClusterName
from conf.topology import Cluster, Endpoint
from proxy.auth.impersonation.requested_user import PROXY_USER
from proxy.counters import Counters, LocalCounters
from proxy.errors import ClusterDown, ClusterLost, LimitReached, WireError
from proxy.limits import Limits
from proxy.protocol.cluster_calls import DBMS_NAME, NO_SESSION, get_info_call
from proxy.upstream.busy_servers import BusyServers
from proxy.upstream.credentials import CredentialsByCluster
from proxy.upstream.endpoint_health import EndpointHealth
from proxy.upstream.opening_queue import OpeningQueue
from proxy.upstream.upstream_connection import UpstreamConnection

_Key = tuple[Endpoint, str]
"""An endpoint and the user of its connections."""
_CHECKER = "causeway"  # the user of health checks, which have connections of their own


class _Slot:
    """One connection in the count of its endpoint."""

    def __init__(self, add: Callable[[int], None]) -> None:
        self._add: Callable[[int], None] | None = add
        add(1)

    def release(self) -> None:
        """Takes the connection out of the count. Later calls do nothing."""
        if self._add is not None:
            self._add(-1)
            self._add = None


class UpstreamPool:
    """All connections of one worker to clusters. `workers` is the number of workers; `counters`
    count the connections of all."""

    def __init__(
        self,
        limits: Limits,
        health: EndpointHealth | None = None,
        credentials: CredentialsByCluster | None = None,
        counters: Counters | None = None,
        workers: int = 1,
    ) -> None:
        self.limits = limits
        self.health = health or EndpointHealth()
        self.busy = BusyServers()
        self.credentials = credentials or CredentialsByCluster({})
        self._counters = LocalCounters() if counters is None else counters
        self._counts: Counter[Endpoint] = Counter()
        self._opened: defaultdict[Endpoint, WeakSet[UpstreamConnection]] = defaultdict(WeakSet)
        self._idle: defaultdict[_Key, list[tuple[float, UpstreamConnection]]] = defaultdict(list)
        at_once = max(1, limits.openings // workers)
        self._openings = defaultdict[Endpoint, OpeningQueue](lambda: OpeningQueue(at_once))

    def __len__(self) -> int:
        return self._counts.total()

    def named(self, cluster: Cluster, user: str) -> dict[str, str]:
        """The session setting that names the user, on connections that log in as a service."""
        return {PROXY_USER: user} if self.credentials.of(cluster.name).login.is_service else {}

    def _add(self, endpoint: Endpoint, user: str, by: int) -> None:
        self._counts[endpoint] += by
        self._counters.add(_key(endpoint), by)
        if user == _CHECKER:
            self._counters.add(_checks_key(endpoint), by)

    def _of_all(self, endpoint: Endpoint) -> int:
        """Connections of all workers to the endpoint."""
        return self._counters.count(_key(endpoint))

    def load(self, endpoint: Endpoint) -> int:
        """The connections of all workers to the endpoint that are in use, as far as is known here:
        without those of health checks and without this worker's idle ones."""
        idle = sum(
            len(each)
            for (where, user), each in self._idle.items()
            if where == endpoint and user != _CHECKER
        )
        return self._of_all(endpoint) - self._counters.count(_checks_key(endpoint)) - idle

    def held(self, endpoint: Endpoint) -> int:
        """Connections of this worker to the endpoint."""
        return self._counts[endpoint]

    def waiting_for(self, endpoint: Endpoint) -> int:
        """The number of this worker's sessions that wait for their turn to be opened there."""
        queue = self._openings.get(endpoint)
        return 0 if queue is None else queue.waiting

    def owing(self) -> set[tuple[ClusterName, Endpoint]]:
        """The endpoints from which a reply is due, also if they are no longer configured."""
        return {
            (connection.cluster, endpoint)
            for endpoint, connections in self._opened.items()
            for connection in connections
            if connection.owes and not connection.broken
        }

    @asynccontextmanager
    async def opening(
        self, cluster: Cluster, user: str, but: Collection[Endpoint] = ()
    ) -> AsyncIterator[tuple[Endpoint, UpstreamConnection]]:
        """A new connection to the least loaded endpoint that accepts one, without those in `but`.

        The caller opens the session within the block, which holds the turn (`opening_queue`).
        Raises ClusterDown, and LimitReached if the endpoints that are up are full.
        """
        reasons, full = [], None
        for endpoint in self.health.choose(cluster, self.load, but):
            async with AsyncExitStack() as block:
                try:
                    connection = await self._open_in_turn(cluster.name, endpoint, user, block)
                except (OSError, WireError, ClusterLost) as error:
                    reasons.append(f"{endpoint}: {_reason(error)}")
                except LimitReached as error:
                    full = error
                else:
                    yield endpoint, connection
                    return
        if full is not None:
            raise full
        raise ClusterDown(f"Cluster {cluster.name} is down ({'; '.join(reasons)}).")

    async def _open_in_turn(
        self, cluster: ClusterName, endpoint: Endpoint, user: str, block: AsyncExitStack
    ) -> UpstreamConnection:
        """Waits for the turn, which ends with the block, and opens a connection.

        Raises as `_open`, and OSError if the endpoint was found down during the wait.
        """
        slot = self._slot(cluster, endpoint, user)
        try:
            turn = self._openings[endpoint].turn(cluster, self.limits.call)
            has_waited = await block.enter_async_context(turn)
            condition = self.health.condition(endpoint)
            if has_waited and condition.up is False:
                raise ConnectionError(condition.reason)
        except BaseException:
            slot.release()
            raise
        return await self._connect(cluster, endpoint, user, slot)

    @asynccontextmanager
    async def borrow(
        self, cluster: ClusterName, endpoint: Endpoint, user: str
    ) -> AsyncIterator[UpstreamConnection]:
        """A connection for some calls. Raises ClusterLost, LimitReached."""
        connection = await self.take(cluster, endpoint, user)
        try:
            yield connection
        except BaseException:
            connection.abort()
            raise
        self.give_back(endpoint, user, connection)

    def has_room(self, endpoint: Endpoint) -> bool:
        """Whether the endpoint may get optional connections, such as those of read-ahead."""
        return self._of_all(endpoint) < self.limits.endpoint_connections // 2

    async def take(self, cluster: ClusterName, endpoint: Endpoint, user: str) -> UpstreamConnection:
        """A connection that the caller gives back or aborts. Raises ClusterLost, LimitReached."""
        idle = self._idle[endpoint, user]
        while idle:
            _, connection = idle.pop()
            if not connection.broken:
                return connection
        try:
            return await self._open(cluster, endpoint, user)
        except (OSError, WireError) as error:
            raise ClusterLost(f"Cluster {cluster} is not reachable: {_reason(error)}.") from error

    def give_back(self, endpoint: Endpoint, user: str, connection: UpstreamConnection) -> None:
        """Puts a connection on which no reply is due back into the pool."""
        idle = self._idle[endpoint, user]
        if connection.broken or len(idle) >= self.limits.idle_connections:
            connection.abort()
        else:
            idle.append((time.monotonic(), connection))

    async def _open(
        self, cluster: ClusterName, endpoint: Endpoint, user: str
    ) -> UpstreamConnection:
        return await self._connect(cluster, endpoint, user, self._slot(cluster, endpoint, user))

    def _slot(self, cluster: ClusterName, endpoint: Endpoint, user: str) -> _Slot:
        """A place for one more connection. Raises LimitReached."""
        if self._of_all(endpoint) >= self.limits.endpoint_connections:
            self._close_idle(endpoint)
        if self._of_all(endpoint) >= self.limits.endpoint_connections:
            raise LimitReached(f"Cluster {cluster} has all the connections that it can serve.")
        return _Slot(partial(self._add, endpoint, user))

    async def _connect(
        self, cluster: ClusterName, endpoint: Endpoint, user: str, slot: _Slot
    ) -> UpstreamConnection:
        began = time.monotonic()
        try:
            async with asyncio.timeout(self.limits.connect):
                connection = await UpstreamConnection.connect(
                    cluster, endpoint, user, slot.release, self.credentials.of(cluster)
                )
        except BaseException as error:
            slot.release()
            if isinstance(error, OSError | ClusterLost):
                self.health.mark_down(endpoint, _reason(error))
            raise
        self.health.mark_up(endpoint, began)
        self._opened[endpoint].add(connection)
        return connection

    async def check(self, cluster: ClusterName, endpoint: Endpoint) -> None:
        """Checks the health of the endpoint: it is up if it accepts a login and answers a call, and
        down if it does not accept connections or does not answer in time.

        A refused login or a full pool changes nothing. If the endpoint is down, all calls that wait
        for it fail after `limits.silence` seconds without a byte.
        """
        began = time.monotonic()
        request = get_info_call(NO_SESSION, DBMS_NAME)
        connection = None
        try:
            async with self.borrow(cluster, endpoint, _CHECKER) as connection:
                await connection.call("GetInfo", request, self.limits.connect)
        except (ClusterLost, LimitReached):
            if connection is not None and connection.timed_out:
                self.health.mark_down(endpoint, "no answer in time")
        else:
            self.health.mark_up(endpoint, began, time.monotonic() - began)
        if self.health.condition(endpoint).up is False:
            self._give_up(cluster, endpoint)

    def _give_up(self, cluster: ClusterName, endpoint: Endpoint) -> None:
        limit = self.limits.silence
        for connection in tuple(self._opened[endpoint]):
            if connection.silent_for() >= limit:
                connection.give_up(f"Cluster {cluster} has not answered for {limit:g} s.")

    def sweep(self) -> None:
        """Closes connections that were idle for `limits.idle_seconds`."""
        oldest = time.monotonic() - self.limits.idle_seconds
        for key, idle in list(self._idle.items()):
            kept = [(since, each) for since, each in idle if since > oldest and not each.broken]
            for since, each in idle:
                if since <= oldest:
                    each.abort()
            if kept:
                self._idle[key] = kept
            else:
                del self._idle[key]

    def close(self) -> None:
        for idle in self._idle.values():
            for _, connection in idle:
                connection.abort()
        self._idle.clear()

    def _close_idle(self, endpoint: Endpoint) -> None:
        for (where, user), idle in list(self._idle.items()):
            if where == endpoint:
                for _, connection in idle:
                    connection.abort()
                del self._idle[where, user]


def _key(endpoint: Endpoint) -> str:
    return f"endpoint\0{endpoint}"


def _checks_key(endpoint: Endpoint) -> str:
    return f"checks\0{endpoint}"


def _reason(error: Exception) -> str:
    if isinstance(error, TimeoutError):
        return "no answer in time"
    if isinstance(error, OSError):
        return error.strerror or str(error)
    return str(error)
