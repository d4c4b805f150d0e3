"""Checks every Thrift Server at intervals, so that statements avoid servers that are down."""

import asyncio
import random
from collections.abc import Callable, Iterable

from conf.names import ClusterName
from conf.topology import Cluster, Endpoint
from proxy.upstream.upstream_pool import UpstreamPool

_AT_ONCE = 16  # checks at the same time
_JITTER = 0.3  # of the interval, so that a hundred proxies do not check a server at the same time


async def watch(
    pool: UpstreamPool, clusters: Callable[[], Iterable[Cluster]], interval: Callable[[], float]
) -> None:
    """Checks all clusters at intervals, in seconds, until it is cancelled. Both functions are
    called before each round, since the settings may change."""
    while True:
        await check_all(pool, clusters(), interval() * _JITTER)
        await asyncio.sleep(interval() * (1 - _JITTER * random.random()))


async def check_all(pool: UpstreamPool, clusters: Iterable[Cluster], spread: float = 0.0) -> None:
    """Checks each endpoint once. The checks start at random within `spread` seconds. An endpoint
    that is no longer configured is checked as long as a call waits for its reply."""
    turns = asyncio.Semaphore(_AT_ONCE)

    async def check(cluster: ClusterName, endpoint: Endpoint) -> None:
        await asyncio.sleep(random.random() * spread)
        async with turns:
            await pool.check(cluster, endpoint)

    places = {(cluster.name, endpoint) for cluster in clusters for endpoint in cluster.hs2}
    async with asyncio.TaskGroup() as group:
        for place in places | pool.owing():
            group.create_task(check(*place))
