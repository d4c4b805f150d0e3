"""Connections to clusters are counted, and reused only by their own user."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest
import uvloop

from conf.topology import Cluster, Endpoint
from proxy.counters import LocalCounters
from proxy.errors import ClusterDown, LimitReached
from proxy.limits import Limits
from proxy.upstream.health_runner import check_all
from proxy.upstream.upstream_connection import UpstreamConnection
from proxy.upstream.upstream_pool import UpstreamPool
from tests.proxy.fake_cluster import FakeCluster
from tests.proxy.fakes import EAST, until


def with_lines(
    use: Callable[[UpstreamPool, FakeCluster], Awaitable[None]],
    limits: Limits | None = None,
    counters: LocalCounters | None = None,
) -> None:
    async def main() -> None:
        fake, pool = FakeCluster(EAST), UpstreamPool(limits or Limits(), counters=counters)
        await fake.start()
        try:
            await use(pool, fake)
        finally:
            pool.close()
            await fake.stop()

    uvloop.run(main())


async def connect(pool: UpstreamPool, cluster: Cluster) -> tuple[Endpoint, UpstreamConnection]:
    async with pool.opening(cluster, "ann") as opened:
        return opened


def test_a_users_idle_connection_is_used_again_by_that_user_alone() -> None:
    async def use(pool: UpstreamPool, fake: FakeCluster) -> None:
        used = []
        for user in ("ann", "ann", "bob"):
            async with pool.borrow(EAST, fake.endpoint, user) as connection:
                used.append(connection)
        assert used[0] is used[1]
        assert used[2] is not used[0]
        assert len(pool) == 2

    with_lines(use)


def test_a_connection_that_failed_is_not_used_again() -> None:
    async def use(pool: UpstreamPool, fake: FakeCluster) -> None:
        with pytest.raises(RuntimeError):
            async with pool.borrow(EAST, fake.endpoint, "ann"):
                raise RuntimeError
        await until(lambda: len(pool) == 0)
        async with pool.borrow(EAST, fake.endpoint, "ann") as connection:
            pass
        connection.abort()
        await until(lambda: len(pool) == 0)
        async with pool.borrow(EAST, fake.endpoint, "ann") as another:
            assert another is not connection

    with_lines(use)


def test_idle_connections_make_room_and_are_swept() -> None:
    async def use(pool: UpstreamPool, fake: FakeCluster) -> None:
        async with pool.borrow(EAST, fake.endpoint, "ann"):
            with pytest.raises(LimitReached):
                async with pool.borrow(EAST, fake.endpoint, "bob"):
                    pass
        pool.sweep()
        await until(lambda: len(pool) == 0)
        async with pool.borrow(EAST, fake.endpoint, "bob"):
            assert len(pool) == 1

    with_lines(use, Limits(endpoint_connections=1, idle_seconds=0.0))


def test_the_first_endpoint_that_answers_is_used() -> None:
    async def use(pool: UpstreamPool, fake: FakeCluster) -> None:
        unreachable = Endpoint("127.0.0.1", 1)
        endpoint, connection = await connect(
            pool, Cluster(EAST, "file:/e", (unreachable, fake.endpoint))
        )
        assert endpoint == fake.endpoint
        connection.abort()
        with pytest.raises(ClusterDown, match=r"Cluster east is down \(127\.0\.0\.1:1: "):
            await connect(pool, Cluster(EAST, "file:/e", (unreachable,)))
        await until(lambda: len(pool) == 0)

    with_lines(use)


def test_new_connections_are_spread() -> None:
    async def use(pool: UpstreamPool, fake: FakeCluster) -> None:
        twin = FakeCluster(EAST)
        await twin.start()
        cluster = Cluster(EAST, "file:/e", (fake.endpoint, twin.endpoint))
        used = [await connect(pool, cluster) for _ in range(4)]
        assert [endpoint for endpoint, _ in used] == [fake.endpoint, twin.endpoint] * 2
        used[0][1].abort()
        used[2][1].abort()
        await until(lambda: pool.load(fake.endpoint) == 0)
        assert (await connect(pool, cluster))[0] == fake.endpoint
        await twin.stop()

    with_lines(use)


def test_a_full_endpoint_leaves_sessions_to_the_others() -> None:
    async def use(pool: UpstreamPool, fake: FakeCluster) -> None:
        unreachable = Endpoint("127.0.0.1", 1)
        cluster = Cluster(EAST, "file:/e", (fake.endpoint, unreachable))
        await connect(pool, cluster)
        with pytest.raises(LimitReached):
            await connect(pool, cluster)

    with_lines(use, Limits(endpoint_connections=1))


@pytest.mark.slow
def test_health_checks_find_endpoints_that_are_down_hang_or_are_back() -> None:
    async def use(pool: UpstreamPool, fake: FakeCluster) -> None:
        clusters = [Cluster(EAST, "file:/e", (fake.endpoint,))]
        condition = pool.health.condition(fake.endpoint)
        await check_all(pool, clusters)
        await check_all(pool, clusters)
        assert condition.up
        assert condition.seconds is not None
        assert len(pool) == 1  # the same connection served both
        fake.silent = True
        await check_all(pool, clusters)
        assert (condition.up, condition.reason) == (False, "no answer in time")
        fake.silent = False
        await check_all(pool, clusters)
        assert condition.up
        await fake.stop()
        await until(lambda: len(pool) == 0)
        await check_all(pool, clusters)
        assert condition.up is False
        await fake.start()
        await check_all(pool, clusters)
        assert condition.up

    with_lines(use, Limits(connect=1.0))


def test_a_health_check_is_no_load() -> None:
    """This holds for checks of this and of other workers, while they run and afterwards."""

    async def use(pool: UpstreamPool, fake: FakeCluster) -> None:
        fake.hangs_at = "GetInfo"
        check = asyncio.ensure_future(pool.check(EAST, fake.endpoint))
        await until(lambda: bool(fake.log))
        loads = [worker.load(fake.endpoint) for worker in (pool, other)]
        check.cancel()
        fake.hangs_at = ""
        await check_all(pool, [Cluster(EAST, "file:/e", (fake.endpoint,))])
        loads += [worker.load(fake.endpoint) for worker in (pool, other)]
        await connect(pool, Cluster(EAST, "file:/e", (fake.endpoint,)))
        loads += [worker.load(fake.endpoint) for worker in (pool, other)]
        assert loads == [0, 0, 0, 0, 1, 1]

    counters = LocalCounters()
    other = UpstreamPool(Limits(), counters=counters)
    with_lines(use, counters=counters)


def test_an_endpoint_without_room_is_not_down() -> None:
    async def use(pool: UpstreamPool, fake: FakeCluster) -> None:
        cluster = Cluster(EAST, "file:/e", (fake.endpoint,))
        await connect(pool, cluster)
        await check_all(pool, [cluster])
        assert pool.health.condition(fake.endpoint).up

    with_lines(use, Limits(endpoint_connections=1))
