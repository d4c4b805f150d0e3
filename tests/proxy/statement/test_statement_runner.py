"""Statements over real sockets and fake clusters: errors, polls, cancels, dead clusters."""

import asyncio

import pytest

from metastore.errors import MetastoreDown
from proxy.limits import Limits
from proxy.protocol.types import OperationState
from tests.proxy.fakes import World, column_length, error_of, play, until
from thriftcodec.values import Struct


def test_a_refusal_is_a_statement_error_and_the_session_goes_on() -> None:
    async def scenario(world: World) -> None:
        client = await world.client()
        failure = error_of(await client.execute("SELECT * FROM e JOIN w"))
        assert failure is not None
        assert failure.message.startswith("[CW104] No cluster has all inputs.")
        assert failure.vendor == 104
        operation = await client.operation("SELECT * FROM e JOIN w", run_async=True)
        status = await client.on("GetOperationStatus", operation)
        assert status.get(2) == OperationState.ERROR
        assert str(status.get(5)).startswith("b'[CW104] No cluster")
        assert await client.rows("SELECT * FROM e") == 1

    play(scenario)


def test_a_clusters_own_error() -> None:
    async def scenario(world: World) -> None:
        world.east.fails["SELECT nothing"] = "Error running query: no such thing"
        client = await world.client()
        failure = error_of(await client.execute("SELECT nothing"))
        assert failure is not None
        assert (failure.message, failure.sqlstate) == (
            "Error running query: no such thing",
            "42P01",
        )
        await until(lambda: not world.east.operations)
        operation = await client.operation("SELECT nothing", run_async=True)
        status = await client.on("GetOperationStatus", operation)
        assert b"HiveSQLException: Error running query: no such thing\n\tat" in bytes(
            str(status.get(5)), "utf-8"
        ).replace(b"\\n", b"\n").replace(b"\\t", b"\t")
        fetched = error_of(await client.on("FetchResults", operation))
        assert fetched is not None
        assert fetched.message == "Expected state FINISHED, but found ERROR"

    play(scenario)


def test_polls_are_answered_promptly_and_cancelling_is_prompt() -> None:
    async def scenario(world: World) -> None:
        client = await world.client()
        world.east.sleeping.add("SELECT long")
        world.east.poll_time = 1e6  # seconds: its polls get no reply
        operation = await client.operation("SELECT long", run_async=True)
        await until(lambda: ("ann", "GetOperationStatus", "") in world.east.log)
        assert await client.state(operation) == OperationState.RUNNING
        await client.on("CancelOperation", operation)
        await client.on("CancelOperation", operation)
        assert await client.state(operation) == OperationState.CANCELED
        assert await client.rows("SELECT 1") == 1

    play(scenario)


@pytest.mark.parametrize("run_async", [False, True])
def test_a_select_of_literals_is_one_call_to_its_cluster(run_async: bool) -> None:
    async def scenario(world: World) -> None:
        client = await world.client()
        world.east.log.clear()
        operation = await client.operation("SELECT 1, 'a' AS b", run_async)
        state = None
        while state != OperationState.FINISHED:
            state = await client.state(operation)
        assert column_length(await client.on("FetchResults", operation)) == 1
        calls = [call for _, call, text in world.east.log if "SET" not in text]
        opened = ["OpenSession", "GetInfo"]  # the session in the cluster
        assert calls[:4] == [*opened, "ExecuteStatement", "GetResultSetMetadata"]
        await client.operation("SELECT count(1)")
        assert ("ann", "GetOperationStatus", "") in world.east.log

    play(scenario)


def test_a_select_of_literals_fails_as_any_statement() -> None:
    async def scenario(world: World) -> None:
        world.east.fails["SELECT nothing"] = "Error running query: no such thing"
        client = await world.client()
        operation = await client.operation("SELECT nothing", run_async=True)
        status = Struct()
        while status.get(2) != OperationState.ERROR:
            status = await client.on("GetOperationStatus", operation)
        assert "no such thing\\n\\tat" in str(status.get(5))
        assert world.east.statements.count("SELECT nothing") == 2

    play(scenario)


def test_a_select_of_literals_waits_for_a_busy_cluster() -> None:
    async def scenario(world: World) -> None:
        client = await world.client()
        await client.operation("SELECT count(1)")
        world.east.hangs_at = "ExecuteStatement"
        operation = await client.operation("SELECT 1", run_async=True)
        await asyncio.sleep(0.4)
        assert await client.state(operation) == OperationState.RUNNING

    play(scenario, Limits(call=0.1))


def test_a_call_without_a_reply_is_given_up() -> None:
    async def scenario(world: World) -> None:
        client = await world.client()
        await client.operation("SELECT * FROM e")
        world.east.hangs_at = "ExecuteStatement"
        failure = error_of(await client.execute("SELECT * FROM e"))
        assert failure is not None
        text = "[CW202] Cluster east: no answer to ExecuteStatement (no answer in time)."
        assert failure.message.startswith(text)

    play(scenario, Limits(call=0.1))


def test_a_select_of_literals_is_cancelled_at_once() -> None:
    async def scenario(world: World) -> None:
        client = await world.client()
        await client.operation("SELECT count(1)")
        world.east.hangs_at = "ExecuteStatement"
        operation = await client.operation("SELECT 1", run_async=True)
        assert await client.state(operation) == OperationState.RUNNING
        await client.on("CancelOperation", operation)
        assert await client.state(operation) == OperationState.CANCELED

    play(scenario)


def test_another_statement_of_the_session_runs_beside_a_long_one() -> None:
    async def scenario(world: World) -> None:
        client = await world.client()
        world.east.sleeping.add("SELECT long")
        await client.operation("SELECT long", run_async=True)
        await until(lambda: ("ann", "GetOperationStatus", "") in world.east.log)
        assert await client.rows("SELECT 1") == 1

    play(scenario)


def test_a_dead_cluster_is_an_error_and_the_session_goes_on() -> None:
    async def scenario(world: World) -> None:
        client = await world.client()
        await client.operation("SET a=1")
        await client.operation("SELECT * FROM w")
        await world.west.stop()
        failure = error_of(await client.execute("SELECT * FROM w"))
        assert failure is not None
        assert "[CW201] Cluster west is down" in failure.message
        assert await client.rows("SELECT 1") == 1
        await world.west.start()
        assert await client.rows("SELECT * FROM w") == 1
        assert world.west.statements[-2:] == ["SET a=1", "SELECT * FROM w"]

    play(scenario)


def test_a_cluster_that_dies_under_a_statement() -> None:
    async def scenario(world: World) -> None:
        client = await world.client()
        world.west.sleeping.add("SELECT * FROM w")
        operation = await client.operation("SELECT * FROM w", run_async=True)
        await until(lambda: ("ann", "GetOperationStatus", "") in world.west.log)
        await world.west.stop()
        state = OperationState.RUNNING
        while state == OperationState.RUNNING:
            status = await client.on("GetOperationStatus", operation)
            state = status.get(2)  # type: ignore[assignment]
        assert state == OperationState.ERROR
        assert b"[CW202]" in bytes(str(status.get(5)), "utf-8")

    play(scenario)


def test_a_silent_cluster_blocks_no_other_client() -> None:
    async def scenario(world: World) -> None:
        world.west.silent = True
        client, other = await world.client(), await world.client("bob")
        waiting = asyncio.ensure_future(client.execute("SELECT * FROM w"))
        assert await other.rows("SELECT 1") == 1
        failure = error_of(await waiting)
        assert failure is not None
        assert "[CW201]" in failure.message
        assert "no answer in time" in failure.message

    play(scenario, Limits(connect=0.2))


def test_a_metastore_that_is_down_is_a_statement_error() -> None:
    async def scenario(world: World) -> None:
        client = await world.client()
        world.metastore.failing = MetastoreDown("no address answers.")
        failure = error_of(await client.execute("SELECT * FROM w"))
        assert failure is not None
        assert failure.message.startswith("[CW301] no address answers.")
        world.metastore.failing = None
        assert await client.rows("SELECT * FROM w") == 1

    play(scenario)
