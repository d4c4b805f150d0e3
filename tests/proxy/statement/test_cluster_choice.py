"""Queries that two clusters may run go to the first one, or are spread, by `router.choice`."""

import pytest

from conf.settings.settings import ClusterChoice
from proxy.protocol.types import OperationState
from tests.proxy.fakes import EAST, WEST, Client, World, play, until
from thriftcodec.values import Struct

BOTH = "SELECT * FROM e JOIN w"


async def started(there: World, count: int) -> list[tuple[Client, Struct]]:
    """Runs endless queries that both clusters may run, each in a session of its own."""
    there.metastore.fresh = {"default.e": WEST, "default.w": EAST}
    there.east.sleeping.add(BOTH)
    there.west.sleeping.add(BOTH)
    running: list[tuple[Client, Struct]] = []
    for _ in range(count):
        client = await there.client()
        running.append((client, await client.operation(BOTH, run_async=True)))
        await until(lambda: sum(counts(there)) == len(running))
    return running


def counts(there: World) -> list[int]:
    return [cluster.statements.count(BOTH) for cluster in (there.east, there.west)]


@pytest.mark.parametrize(
    ("choice", "where"),
    [(ClusterChoice.SPECIFICATION, [4, 0]), (ClusterChoice.COST, [2, 2])],
)
def test_queries_that_run_at_the_same_time(choice: ClusterChoice, where: list[int]) -> None:
    async def scenario(there: World) -> None:
        await started(there, 4)
        assert counts(there) == where

    play(scenario, choice=choice)


def test_closed_statements_do_not_count_as_load() -> None:
    async def scenario(there: World) -> None:
        for client, operation in await started(there, 3):
            await client.on("CloseOperation", operation)
        await until(lambda: not there.east.operations and not there.west.operations)
        client = await there.client()
        operation = await client.operation(BOTH, run_async=True)
        await until(lambda: sum(counts(there)) == 4)
        assert counts(there) == [3, 1]  # both are expected to take the same again
        assert await client.state(operation) == OperationState.RUNNING

    play(scenario, choice=ClusterChoice.COST)


def test_a_session_that_is_pinned_stays_there() -> None:
    async def scenario(there: World) -> None:
        await started(there, 1)
        client = await there.client()
        await client.operation("USE CLUSTER east")
        await client.operation(BOTH, run_async=True)
        await until(lambda: sum(counts(there)) == 2)
        assert counts(there) == [2, 0]

    play(scenario, choice=ClusterChoice.COST)
