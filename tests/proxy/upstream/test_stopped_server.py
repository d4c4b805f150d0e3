"""A Thrift Server whose SparkContext has stopped counts as down, although it still answers."""

from collections.abc import Awaitable, Callable

import pytest
import uvloop

from conf.topology import Cluster
from proxy.errors import ClusterDown, ThriftServerError
from proxy.limits import Limits
from proxy.protocol.types import NEWEST_PROTOCOL, OperationState
from proxy.upstream.upstream_pool import UpstreamPool
from proxy.upstream.upstream_session import UpstreamSession
from tests.proxy.fake_cluster import FakeCluster
from tests.proxy.fakes import EAST

STOPPED = "java.lang.IllegalStateException: Cannot call methods on a stopped SparkContext."


class World:
    """A cluster of two endpoints."""

    def __init__(self, first: FakeCluster, second: FakeCluster) -> None:
        self.first, self.second = first, second
        self.pool = UpstreamPool(Limits())
        self.cluster = Cluster(EAST, "file:/e", (first.endpoint, second.endpoint))

    async def open(self) -> UpstreamSession:
        return await UpstreamSession.open(self.pool, self.cluster, "ann", NEWEST_PROTOCOL, {})

    @property
    def down(self) -> list[str]:
        """The reasons why endpoints are down."""
        conditions = map(self.pool.health.condition, self.cluster.hs2)
        return [each.reason for each in conditions if each.up is False]


def play(scenario: Callable[[World], Awaitable[None]]) -> None:
    async def main() -> None:
        fakes = FakeCluster(EAST), FakeCluster(EAST)
        for each in fakes:
            await each.start()
        world = World(*fakes)
        try:
            await scenario(world)
        finally:
            world.pool.close()
            for each in fakes:
                await each.stop()

    uvloop.run(main())


def test_a_new_session_is_opened_at_another_endpoint() -> None:
    async def scenario(world: World) -> None:
        world.first.refuses = STOPPED
        assert (await world.open()).endpoint == world.second.endpoint
        assert world.down == ["its SparkContext has stopped"]

    play(scenario)


def test_a_cluster_is_down_when_no_endpoint_opens_a_session() -> None:
    async def scenario(world: World) -> None:
        world.first.refuses = world.second.refuses = STOPPED
        with pytest.raises(ClusterDown, match=r"Cluster east is down .*SparkContext has stopped"):
            await world.open()
        assert world.pool.health.is_down(world.cluster)

    play(scenario)


def test_a_statement_that_the_stopped_server_fails_ends_the_session_there() -> None:
    async def scenario(world: World) -> None:
        session = await world.open()
        world.first.fails["SELECT 1"] = STOPPED
        operation = await session.execute("SELECT 1", {}, 0)
        status = await session.end_of(operation)
        assert status.state is OperationState.ERROR
        assert not session.alive
        assert world.down == ["its SparkContext has stopped"]

    play(scenario)


def test_any_other_refusal_of_a_session_is_returned_to_the_client() -> None:
    async def scenario(world: World) -> None:
        world.first.refuses = "no such database"
        with pytest.raises(ThriftServerError):
            await world.open()
        assert world.down == []

    play(scenario)
