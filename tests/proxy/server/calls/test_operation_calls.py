"""Statuses and results of operations: pages, large results, who may fetch them."""

import asyncio

import pytest
from TCLIService.ttypes import TOperationState

from proxy.limits import Limits
from proxy.protocol.types import OperationState
from tests.proxy.fakes import Client, World, column_length, error_of, play, until
from thriftcodec.values import I32, STRUCT, Struct


def test_a_statement_without_rows_has_an_empty_column() -> None:
    async def scenario(world: World) -> None:
        world.east.without_columns.add("SELECT ddl")
        client = await world.client()
        assert await client.rows("SELECT ddl") == 0

    play(scenario)


def test_local_results_have_pages_and_can_be_rewound() -> None:
    async def scenario(world: World) -> None:
        client = await world.client()
        operation = await client.operation("SHOW CLUSTERS")
        for orientation, rows in ((0, 1), (0, 1), (0, 0), (4, 1), (0, 1), (1, 1)):
            result = await client.on("FetchResults", operation, rows=1, orientation=orientation)
            assert column_length(result) == rows
        failure = error_of(await client.on("FetchResults", operation, orientation=5))
        assert failure is not None
        assert failure.sqlstate == "HY106"

    play(scenario)


def test_a_large_result_arrives_whole_at_the_speed_of_a_slow_reader() -> None:
    async def scenario(world: World) -> None:
        world.east.row = b"y" * 10_000
        client = await world.client()
        operation = await client.operation("SELECT many")
        world.east.counts["SELECT many"] = 5_000  # 50 MB
        await client.send(
            "FetchResults", Struct({1: (STRUCT, operation), 2: (I32, 0), 3: (10, 5_000)})
        )
        await asyncio.sleep(0.3)  # the client does not read
        other = await world.client("bob")
        assert await other.rows("SELECT 1") == 1
        message = await client.receive()
        body = message.body.get(0)
        assert isinstance(body, Struct)
        assert column_length(body) == 5_000

    play(scenario)


@pytest.mark.slow
@pytest.mark.parametrize("drip", [1, 3, 100, 515, 516, 517])
def test_a_reply_may_arrive_in_any_pieces(drip: int) -> None:
    async def scenario(world: World) -> None:
        world.east.row = b"z" * 20
        client = await world.client()
        world.east.counts["SELECT some"] = 30
        operation = await client.operation("SELECT some")
        world.east.drip = drip
        for rows in (30, 5, 0):
            orientation = 4 if rows else 0
            result = await client.on("FetchResults", operation, rows=rows, orientation=orientation)
            assert column_length(result) == rows

    play(scenario)


def test_handles_belong_to_their_user() -> None:
    async def scenario(world: World) -> None:
        ann, bob, other = [await world.client(name) for name in ("ann", "bob", "ann")]
        operation = await ann.operation("SELECT 1")
        bob.session = ann.session
        failure = error_of(await bob.execute("SELECT 1"))
        assert failure is not None
        assert failure.message.startswith("Invalid SessionHandle: SessionHandle [")
        for name in ("GetOperationStatus", "FetchResults", "CancelOperation", "CloseOperation"):
            failure = error_of(await bob.on(name, operation))
            assert failure is not None
            assert "Invalid OperationHandle" in failure.message
        assert column_length(await other.on("FetchResults", operation)) == 1

    play(scenario)


def test_a_statement_that_waits_for_its_cluster_is_shown_as_running() -> None:
    async def scenario(world: World) -> None:
        world.east.hangs_at = "OpenSession"
        client = await world.client()
        operation = await client.operation("SELECT id FROM range(2)", run_async=True)
        for _ in range(2):
            assert await client.state(operation) == OperationState.RUNNING
        failure = error_of(await client.on("FetchResults", operation))
        assert failure is not None
        assert failure.message == "Expected state FINISHED, but found RUNNING"
        await client.on("CancelOperation", operation)
        assert await client.state(operation) == OperationState.CANCELED

    play(scenario, Limits(first_poll=0.02, call=0.5))


@pytest.mark.parametrize("state", [TOperationState.PENDING_STATE, TOperationState.UKNOWN_STATE])
def test_a_statement_that_waits_in_its_cluster_is_shown_as_running(state: int) -> None:
    async def scenario(world: World) -> None:
        world.east.sleeping.add("SELECT 1 FROM e")
        world.east.poll_time = 0.01
        client = await world.client()
        operation = await client.operation("SELECT 1 FROM e", run_async=True)
        await until(lambda: len(world.east.operations) == 1)
        (waiting,) = world.east.operations.values()
        waiting.state = state
        for _ in range(3):
            assert await client.state(operation) == OperationState.RUNNING
        world.east.end(waiting)
        await finished(client, operation)
        assert column_length(await client.on("FetchResults", operation)) == 1

    play(scenario, Limits(first_poll=0.02))


async def finished(client: Client, operation: Struct) -> None:
    """Polls as PyHive's documented loop does: until the state is another one than RUNNING."""
    state = OperationState.RUNNING
    while state == OperationState.RUNNING:
        status = await client.on("GetOperationStatus", operation)
        state = OperationState(status.get(2))
    assert state is OperationState.FINISHED


def test_the_schema_is_requested_after_the_statement_ended() -> None:
    """A Thrift Server that returns a schema before the end stores a wrong one."""

    async def scenario(world: World) -> None:
        client = await world.client()
        east = world.east
        east.poll_time = 0.02
        east.sleeping.add("SELECT 7 FROM e")
        operation = await client.operation("SELECT 7 FROM e", run_async=True)
        calls = lambda name: sum(call == name for _, call, _ in east.log)  # noqa: E731
        await until(lambda: calls("GetOperationStatus") > 3)
        assert calls("GetResultSetMetadata") == 0
        (running,) = east.operations.values()
        east.end(running)
        await until(lambda: calls("GetResultSetMetadata") > 0)
        assert error_of(await client.on("GetResultSetMetadata", operation)) is None
        assert calls("GetResultSetMetadata") == 1

    play(scenario)
