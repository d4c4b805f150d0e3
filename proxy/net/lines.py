"""Connections to the clusters' Thrift Servers: counted, authenticated as a user, reused by none
but that user.

A Thrift Server's handles work on any connection, so a call that finds its session's own
connection busy borrows another of the same user.
"""

import asyncio
import logging
import time
from collections import Counter, defaultdict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from conf.names import ClusterName
from conf.topology import Cluster, Endpoint
from proxy.errors import ClusterDown, ClusterLost, TooMany, WireError
from proxy.net.limits import Limits
from proxy.net.upstream import UpstreamConnection

_log = logging.getLogger(__name__)
_Key = tuple[Endpoint, str]


class _Slot:
    """One connection's place in the count of its endpoint."""

    def __init__(self, counts: Counter[Endpoint], endpoint: Endpoint) -> None:
        self._counts: Counter[Endpoint] | None = counts
        self._endpoint = endpoint
        counts[endpoint] += 1

    def release(self) -> None:
        """Once; later calls do nothing."""
        if self._counts is not None:
            self._counts[self._endpoint] -= 1
            self._counts = None


class Lines:
    """All connections to clusters. One per server."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self._counts: Counter[Endpoint] = Counter()
        self._idle: defaultdict[_Key, list[tuple[float, UpstreamConnection]]] = defaultdict(list)

    def __len__(self) -> int:
        return self._counts.total()

    async def connect(self, cluster: Cluster, user: str) -> tuple[Endpoint, UpstreamConnection]:
        """A new connection to the first endpoint that takes it. Raises ClusterDown, TooMany."""
        reasons = []
        for endpoint in cluster.hs2:
            try:
                return endpoint, await self._open(cluster.name, endpoint, user)
            except (OSError, WireError, ClusterLost) as error:
                reasons.append(f"{endpoint}: {_reason(error)}")
        raise ClusterDown(f"Cluster {cluster.name} is down ({'; '.join(reasons)}).")

    @asynccontextmanager
    async def borrow(
        self, cluster: ClusterName, endpoint: Endpoint, user: str
    ) -> AsyncIterator[UpstreamConnection]:
        """A connection for some calls. Raises ClusterLost, TooMany."""
        connection = await self._idle_or_new(cluster, endpoint, user)
        try:
            yield connection
        except BaseException:
            connection.abort()
            raise
        idle = self._idle[endpoint, user]
        if connection.broken or len(idle) >= self.limits.idle_connections:
            connection.abort()
        else:
            idle.append((time.monotonic(), connection))

    async def _idle_or_new(
        self, cluster: ClusterName, endpoint: Endpoint, user: str
    ) -> UpstreamConnection:
        idle = self._idle[endpoint, user]
        while idle:
            _, connection = idle.pop()
            if not connection.broken:
                return connection
        try:
            return await self._open(cluster, endpoint, user)
        except (OSError, WireError) as error:
            raise ClusterLost(f"Cluster {cluster} is not reachable: {_reason(error)}.") from error

    async def _open(
        self, cluster: ClusterName, endpoint: Endpoint, user: str
    ) -> UpstreamConnection:
        if self._counts[endpoint] >= self.limits.endpoint_connections:
            self._close_idle(endpoint)
        if self._counts[endpoint] >= self.limits.endpoint_connections:
            raise TooMany(f"Cluster {cluster} has all the connections that it can serve.")
        slot = _Slot(self._counts, endpoint)
        try:
            async with asyncio.timeout(self.limits.connect):
                return await UpstreamConnection.connect(cluster, endpoint, user, slot.release)
        except BaseException:
            slot.release()
            raise

    def sweep(self) -> None:
        """Closes what has been idle for long."""
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


def _reason(error: Exception) -> str:
    if isinstance(error, TimeoutError):
        return "no answer in time"
    if isinstance(error, OSError):
        return error.strerror or str(error)
    return str(error)
