"""Few sessions are opened at a Thrift Server at the same time; the others wait in order."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest
import uvloop

from conf.names import ClusterName
from conf.topology import Cluster
from proxy.errors import ClusterDown, LimitReached
from proxy.limits import Limits
from proxy.protocol.types import NEWEST_PROTOCOL
from proxy.upstream.health_runner import check_all
from proxy.upstream.opening_queue import OpeningQueue
from proxy.upstream.upstream_pool import UpstreamPool
from proxy.upstream.upstream_session import UpstreamSession
from tests.proxy.fake_cluster import FakeCluster
from tests.proxy.fakes import EAST, until

CROWD = 60


class World:
    """A pool with one cluster of one endpoint, unless a test adds others."""

    def __init__(self, fake: FakeCluster, limits: Limits, workers: int) -> None:
        self.fake = fake
        self.pool = UpstreamPool(limits, workers=workers)
        self.cluster = Cluster(EAST, "file:/e", (fake.endpoint,))

    async def open(self, user: str = "ann") -> UpstreamSession:
        return await UpstreamSession.open(self.pool, self.cluster, user, NEWEST_PROTOCOL, {})

    async def open_many(self, number: int = CROWD) -> list[UpstreamSession | BaseException]:
        """The sessions of users u0, u1 .., opened at the same time, or the errors."""
        calls = (self.open(f"u{each}") for each in range(number))
        return await asyncio.gather(*calls, return_exceptions=True)

    @property
    def is_up(self) -> bool | None:
        return self.pool.health.condition(self.fake.endpoint).up


def play(
    scenario: Callable[[World], Awaitable[None]],
    limits: Limits | None = None,
    workers: int = 1,
) -> None:
    async def main() -> None:
        fake = FakeCluster(EAST)
        await fake.start()
        world = World(fake, limits or Limits(), workers)
        try:
            await scenario(world)
        finally:
            world.pool.close()
            await fake.stop()

    uvloop.run(main())


def test_a_crowd_of_new_sessions_does_not_mark_a_busy_endpoint_down() -> None:
    async def scenario(world: World) -> None:
        world.fake.most_logins = 4
        opened = await world.open_many()
        assert all(isinstance(each, UpstreamSession) for each in opened)
        assert world.is_up

    play(scenario, Limits(openings=4))


def test_a_health_check_does_not_wait_behind_new_sessions() -> None:
    async def scenario(world: World) -> None:
        world.fake.opens = asyncio.Event()
        crowd = asyncio.ensure_future(world.open_many())
        await until(lambda: world.fake.opening == 4)
        await check_all(world.pool, [world.cluster])
        assert world.is_up
        world.fake.opens.set()
        assert all(isinstance(each, UpstreamSession) for each in await crowd)
        assert world.fake.most_opening == 4

    play(scenario, Limits(openings=4))


@pytest.mark.parametrize(("workers", "expected"), [(1, 4), (2, 2), (9, 1)])
def test_the_limit_of_openings_is_shared_by_all_workers(workers: int, expected: int) -> None:
    async def scenario(world: World) -> None:
        world.fake.opens = asyncio.Event()
        crowd = asyncio.ensure_future(world.open_many(10))
        await until(lambda: len(world.pool) == 10 and world.fake.opening == expected)
        assert world.pool.waiting_for(world.fake.endpoint) == 10 - expected
        world.fake.opens.set()
        await crowd
        assert world.pool.waiting_for(world.fake.endpoint) == 0
        assert world.fake.most_opening == expected

    play(scenario, Limits(openings=4), workers)


def test_sessions_are_opened_in_the_order_of_their_requests() -> None:
    async def scenario(world: World) -> None:
        await world.open_many()
        users = [user for user, call, _ in world.fake.log if call == "OpenSession"]
        assert users == [f"u{each}" for each in range(CROWD)]

    play(scenario, Limits(openings=1, connect=60.0))


def test_a_full_queue_refuses_by_name() -> None:
    async def scenario(world: World) -> None:
        opened = await world.open_many(10)
        refused = [each for each in opened if isinstance(each, LimitReached)]
        assert len(refused) == 3
        assert "Cluster east has all the connections that it can serve." in str(refused[0])

    play(scenario, Limits(endpoint_connections=7, openings=2))


def test_a_session_that_waits_too_long_is_refused_by_name() -> None:
    async def scenario() -> None:
        queue = OpeningQueue(1)
        async with queue.turn(ClusterName("east"), 1.0):
            with pytest.raises(
                LimitReached, match=r"Cluster east opens too many .* waited 0\.01 s"
            ):
                async with queue.turn(ClusterName("east"), 0.01):
                    pass
        async with queue.turn(ClusterName("east"), 0.01) as has_waited:
            assert not has_waited

    uvloop.run(scenario())


def test_a_client_that_leaves_gives_its_place_back() -> None:
    async def scenario(world: World) -> None:
        world.fake.opens = asyncio.Event()
        calls = [asyncio.ensure_future(world.open()) for _ in range(3)]
        await until(lambda: len(world.pool) == 3 and world.fake.opening == 1)
        for each in calls[:2]:
            each.cancel()
        await until(lambda: len(world.pool) == 1)
        world.fake.opens.set()
        assert await calls[2]

    play(scenario, Limits(openings=1))


@pytest.mark.slow
def test_sessions_that_wait_for_an_endpoint_which_goes_down_do_not_all_try_it() -> None:
    async def scenario(world: World) -> None:
        world.fake.silent = True
        opened = await world.open_many()
        assert all(isinstance(each, ClusterDown) for each in opened)
        assert f"({world.fake.endpoint}: no answer in time)" in str(opened[-1])
        assert len(world.pool) == 0
        world.fake.silent = False
        assert await world.open()

    play(scenario, Limits(connect=1.0, openings=2))


def test_waiting_sessions_count_as_load_of_their_endpoint() -> None:
    async def scenario(world: World) -> None:
        twin = FakeCluster(EAST)
        await twin.start()
        world.cluster = Cluster(EAST, "file:/e", (world.fake.endpoint, twin.endpoint))
        await world.open_many(20)
        assert len(world.fake.sessions) == len(twin.sessions) == 10
        world.pool.close()
        await twin.stop()

    play(scenario, Limits(openings=1))
