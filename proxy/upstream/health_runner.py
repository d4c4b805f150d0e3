"""Checks every Thrift Server at intervals, so that statements avoid servers that are down."""

import asyncio
import random
from collections.abc import Callable, Iterable

from conf.names import ClusterName
from conf.topology import Cluster, Endpoint
from proxy.upstream.upstream_pool import UpstreamPool

_AT_ONCE = 16
_JITTER = 0.3  # of the interval: the servers of a hundred proxies are not asked all at once


async def watch(
    pool: UpstreamPool, clusters: Callable[[], Iterable[Cluster]], interval: Callable[[], float]
) -> None:
    """Runs until it is cancelled. Both functions are called each time: the settings may change."""
    while True:
        await check_all(pool, clusters(), interval() * _JITTER)
        await asyncio.sleep(interval() * (1 - _JITTER * random.random()))


async def check_all(pool: UpstreamPool, clusters: Iterable[Cluster], spread: float = 0.0) -> None:
    """Each endpoint once, within `spread` seconds and the time that a connection may take; one that
    was taken away from the settings, while somebody waits for its reply.
    """
    turns = asyncio.Semaphore(_AT_ONCE)

    async def check(cluster: ClusterName, endpoint: Endpoint) -> None:
        await asyncio.sleep(random.random() * spread)
        async with turns:
            await pool.check(cluster, endpoint)

    places = {(cluster.name, endpoint) for cluster in clusters for endpoint in cluster.hs2}
    async with asyncio.TaskGroup() as group:
        for place in places | pool.owing():
            group.create_task(check(*place))
