"""Connections to clusters are counted, and reused by nobody but their user."""

from collections.abc import Awaitable, Callable

import pytest
import uvloop

from conf.topology import Cluster, Endpoint
from proxy.errors import ClusterDown, TooMany
from proxy.net.limits import Limits
from proxy.net.lines import Lines
from tests.proxy.net.fakes import EAST, FakeCluster, until


def with_lines(
    use: Callable[[Lines, FakeCluster], Awaitable[None]], limits: Limits | None = None
) -> None:
    async def main() -> None:
        fake, lines = FakeCluster(EAST), Lines(limits or Limits())
        await fake.start()
        try:
            await use(lines, fake)
        finally:
            lines.close()
            await fake.stop()

    uvloop.run(main())


def test_a_users_idle_connection_is_used_again_by_that_user_alone() -> None:
    async def use(lines: Lines, fake: FakeCluster) -> None:
        used = []
        for user in ("ann", "ann", "bob"):
            async with lines.borrow(EAST, fake.endpoint, user) as connection:
                used.append(connection)
        assert used[0] is used[1]
        assert used[2] is not used[0]
        assert len(lines) == 2

    with_lines(use)


def test_a_connection_that_failed_is_not_used_again() -> None:
    async def use(lines: Lines, fake: FakeCluster) -> None:
        with pytest.raises(RuntimeError):
            async with lines.borrow(EAST, fake.endpoint, "ann"):
                raise RuntimeError
        await until(lambda: len(lines) == 0)
        async with lines.borrow(EAST, fake.endpoint, "ann") as connection:
            pass
        connection.abort()
        await until(lambda: len(lines) == 0)
        async with lines.borrow(EAST, fake.endpoint, "ann") as another:
            assert another is not connection

    with_lines(use)


def test_idle_connections_make_room_and_are_swept() -> None:
    async def use(lines: Lines, fake: FakeCluster) -> None:
        async with lines.borrow(EAST, fake.endpoint, "ann"):
            with pytest.raises(TooMany):
                async with lines.borrow(EAST, fake.endpoint, "bob"):
                    pass
        lines.sweep()
        await until(lambda: len(lines) == 0)
        async with lines.borrow(EAST, fake.endpoint, "bob"):
            assert len(lines) == 1

    with_lines(use, Limits(endpoint_connections=1, idle_seconds=0.0))


def test_the_first_endpoint_that_answers_is_used() -> None:
    async def use(lines: Lines, fake: FakeCluster) -> None:
        nobody = Endpoint("127.0.0.1", 1)
        endpoint, connection = await lines.connect(
            Cluster(EAST, "file:/e", (nobody, fake.endpoint)), "ann"
        )
        assert endpoint == fake.endpoint
        connection.abort()
        with pytest.raises(ClusterDown, match=r"Cluster east is down \(127\.0\.0\.1:1: "):
            await lines.connect(Cluster(EAST, "file:/e", (nobody,)), "ann")
        await until(lambda: len(lines) == 0)

    with_lines(use)
