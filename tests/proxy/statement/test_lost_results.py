"""Reads in a cluster that dies while it runs them, or before their first row is fetched."""

import asyncio
import itertools

import pytest

from proxy.protocol.types import OperationState
from tests.proxy.fakes import EAST, World, column_length, error_of, play, until
from thriftcodec.values import Struct


@pytest.mark.parametrize("call", ["ExecuteStatement", "GetOperationStatus"])
@pytest.mark.parametrize("run_async", [False, True])
def test_a_read_goes_on_in_another_cluster_when_its_own_dies(call: str, run_async: bool) -> None:
    async def scenario(world: World) -> None:
        world.metastore.fresh["default.w"] = EAST
        client = await world.client()
        await client.operation("SET a=1")
        world.west.dies_at = call
        operation = await client.operation("SELECT * FROM w", run_async)
        state = None
        while state != OperationState.FINISHED:
            state = await client.state(operation)
            assert state != OperationState.ERROR
        assert column_length(await client.on("FetchResults", operation)) == 1
        assert world.east.statements[-2:] == ["SET a=1", "SELECT * FROM w"]

    play(scenario)


@pytest.mark.parametrize("call", ["GetResultSetMetadata", "FetchResults"])
def test_a_query_whose_result_is_lost_before_its_first_row_runs_again(call: str) -> None:
    async def scenario(world: World) -> None:
        world.metastore.fresh["default.w"] = EAST
        client = await world.client()
        world.west.dies_at = call
        operation = await client.operation("SELECT * FROM w")
        if call == "FetchResults":  # the client has a schema, which the other cluster has, too
            assert error_of(await client.on("GetResultSetMetadata", operation)) is None
        assert column_length(await client.on("FetchResults", operation)) == 1
        assert error_of(await client.on("GetResultSetMetadata", operation)) is None
        assert world.east.statements[-1] == "SELECT * FROM w"
        await client.on("CloseOperation", operation)
        await until(lambda: not world.east.operations)

    play(scenario)


@pytest.mark.parametrize("between", ["SET a=1", "USE sales", "USE CLUSTER west", "a row"])
def test_a_query_does_not_run_again_after_a_row_or_a_change_of_the_session(between: str) -> None:
    async def scenario(world: World) -> None:
        world.metastore.fresh["default.w"] = EAST
        client = await world.client()
        operation = await client.operation("SELECT * FROM w")
        if between == "a row":
            assert column_length(await client.on("FetchResults", operation)) == 1
        else:
            await client.operation(between)
        world.west.dies_at = "FetchResults"
        failure = error_of(await client.on("FetchResults", operation))
        assert failure is not None
        assert failure.message.startswith("[CW202]")
        assert "SELECT * FROM w" not in world.east.statements

    play(scenario)


def test_a_result_with_another_schema_does_not_take_the_place_of_the_first() -> None:
    async def scenario(world: World) -> None:
        world.metastore.fresh["default.w"] = EAST
        world.east.column = "another"
        client = await world.client()
        operation = await client.operation("SELECT * FROM w")
        assert error_of(await client.on("GetResultSetMetadata", operation)) is None
        world.west.dies_at = "FetchResults"
        failure = error_of(await client.on("FetchResults", operation))
        assert failure is not None
        assert failure.message.startswith("[CW202]")
        await until(lambda: not world.east.operations)

    play(scenario)


@pytest.mark.slow
def test_a_thousand_reads_under_kills_have_each_row_once() -> None:
    """West is killed and restarted many times. No client gets an error or a row twice."""

    async def scenario(world: World) -> None:
        world.metastore.fresh["default.w"] = EAST
        for each in (world.east, world.west):
            each.poll_time = 0.01
        read = done = 0

        async def reader() -> None:
            nonlocal read
            client = await world.client()
            while read < 1000:
                read += 1
                operation = await client.operation("SELECT * FROM w", run_async=True)
                state = None
                while state != OperationState.FINISHED:
                    status = await client.on("GetOperationStatus", operation)
                    state = status.get(2)
                    assert state != OperationState.ERROR, status.get(5)
                assert column_length(await client.on("FetchResults", operation)) == 1
                await client.on("CloseOperation", operation)

        async def killer() -> None:
            nonlocal done
            for call in itertools.cycle(("GetOperationStatus", "FetchResults")):
                world.west.dies_at = call
                await asyncio.sleep(0.02)
                world.west.dies_at = ""
                done += 1
                await asyncio.sleep(0.02)

        killing = asyncio.ensure_future(killer())
        await asyncio.gather(*(reader() for _ in range(8)))
        killing.cancel()
        assert done > 10
        assert world.east.statements.count("SELECT * FROM w") > 10

    play(scenario)


@pytest.mark.parametrize(
    "call",
    [
        "ExecuteStatement",
        "GetOperationStatus",
        "GetResultSetMetadata",
        "FetchResults",
        "CloseOperation",
    ],
)
def test_a_cluster_that_dies_at_any_call(call: str) -> None:
    async def scenario(world: World) -> None:
        client = await world.client()
        world.west.dies_at = call
        result = await client.execute("SELECT * FROM w")
        if error_of(result) is None:
            operation = result.get(2)
            assert isinstance(operation, Struct)
            for each in ("GetOperationStatus", "GetResultSetMetadata", "FetchResults"):
                await client.on(each, operation)
            await client.on("CloseOperation", operation)
        world.west.dies_at = ""
        assert await client.rows("SELECT * FROM w") == 1
        assert await client.rows("SELECT 1") == 1

    play(scenario)
