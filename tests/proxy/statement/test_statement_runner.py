"""Statements over real sockets and fake clusters: errors, cancels, writes, dead clusters."""

import asyncio
import itertools
from typing import Any

import pytest

from conf.catalog.tables import NotLoaded
from conf.names import TableRef
from conf.placement import Copy, Placement
from conf.write_ids import new_id, with_time
from metastore.errors import MetastoreDown
from proxy.limits import Limits
from proxy.protocol.types import OperationState
from tests.proxy.fakes import EAST, WEST, Client, World, column_length, error_of, play, until
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
        world.east.poll_time = 1e6  # its own polls do not come back
        operation = await client.operation("SELECT long", run_async=True)
        await until(lambda: ("ann", "GetOperationStatus", "") in world.east.log)
        status = await client.on("GetOperationStatus", operation)
        assert status.get(2) == OperationState.RUNNING
        await client.on("CancelOperation", operation)
        await client.on("CancelOperation", operation)
        status = await client.on("GetOperationStatus", operation)
        assert status.get(2) == OperationState.CANCELED
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
            state = (await client.on("GetOperationStatus", operation)).get(2)
        assert column_length(await client.on("FetchResults", operation)) == 1
        calls = [call for _, call, text in world.east.log if "SET" not in text]
        assert calls[:3] == ["OpenSession", "ExecuteStatement", "GetResultSetMetadata"]
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
        status = await client.on("GetOperationStatus", operation)
        assert status.get(2) == OperationState.RUNNING

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
        status = await client.on("GetOperationStatus", operation)
        assert status.get(2) == OperationState.RUNNING
        await client.on("CancelOperation", operation)
        status = await client.on("GetOperationStatus", operation)
        assert status.get(2) == OperationState.CANCELED

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
            state = (await client.on("GetOperationStatus", operation)).get(2)
            assert state != OperationState.ERROR
        assert column_length(await client.on("FetchResults", operation)) == 1
        assert world.east.statements[-2:] == ["SET a=1", "SELECT * FROM w"]

    play(scenario)


@pytest.mark.parametrize("call", ["GetResultSetMetadata", "FetchResults"])
def test_a_result_that_is_lost_before_its_first_row_is_made_again(call: str) -> None:
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
def test_a_result_is_not_made_again_in_another_session_or_after_a_row(between: str) -> None:
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


def test_a_thousand_reads_under_kills_have_each_row_once() -> None:
    """West dies and comes back, many times. No client gets an error, and no row comes twice."""

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


def test_explain_cluster_of_our_own_statements() -> None:
    async def scenario(world: World) -> None:
        client = await world.client()
        assert await client.rows("EXPLAIN CLUSTER USE CLUSTER west") == 1
        assert await client.rows("SHOW CURRENT CLUSTER") == 1
        assert world.east.log == world.west.log == []

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


async def writing(world: World, number: int) -> tuple[Client, Struct]:
    """A client whose INSERT runs or waits, as its state says; the cluster runs it until `end`."""
    sql = f"INSERT INTO w SELECT {number}"
    world.west.sleeping.add(sql)
    client = await world.client()
    operation = await client.operation(sql, run_async=True)
    status = await client.on("GetOperationStatus", operation)
    assert status.get(2) == OperationState.RUNNING
    return client, operation


def writes_of(world: World) -> list[int]:
    """The numbers of the INSERTs that the cluster got, in order."""
    return [int(sql.rpartition(" ")[2]) for sql in world.west.statements if "INSERT" in sql]


def end_write(world: World, number: int) -> None:
    for operation in world.west.operations.values():
        if operation.sql == f"INSERT INTO w SELECT {number}":
            world.west.end(operation)


def test_writes_of_a_table_run_one_after_the_other() -> None:
    async def scenario(world: World) -> None:
        operations = [await writing(world, number) for number in range(4)]
        assert writes_of(world) == [0]
        reader = await world.client()
        assert await reader.rows("SELECT * FROM w") == 1  # a read waits for no write
        assert error_of(await reader.execute("INSERT INTO e SELECT 1")) is None
        await operations[1][0].on("CancelOperation", operations[1][1])
        operations[2][0].close()
        await until(lambda: len(world.metastore.log) > 0)
        end_write(world, 0)
        await until(lambda: writes_of(world) == [0, 3])
        opened = [line for line in world.metastore.log if line == "open default.w"]
        assert len(opened) == 2  # what waits has no mark
        end_write(world, 3)
        client, operation = operations[3]
        state = OperationState.RUNNING
        while state == OperationState.RUNNING:
            state = (await client.on("GetOperationStatus", operation)).get(2)  # type: ignore[assignment]
        assert state == OperationState.FINISHED

    play(scenario, Limits(linger=0.0, first_poll=0.01))


@pytest.mark.parametrize("leave", ["cancel", "vanish", "fail"])
def test_a_write_that_does_not_finish_makes_room_for_the_next(leave: str) -> None:
    async def scenario(world: World) -> None:
        client, operation = await writing(world, 0)
        await until(lambda: writes_of(world) == [0])
        await writing(world, 1)
        if leave == "cancel":
            await client.on("CancelOperation", operation)
        elif leave == "vanish":
            client.close()
        else:
            await world.west.stop()
            world.west.operations.clear()  # as a process that was started again
            await world.west.start()
        await until(lambda: writes_of(world) == [0, 1])

    play(scenario, Limits(linger=0.0, first_poll=0.01))


def test_a_write_waits_until_a_cancelled_one_has_made_its_last_step() -> None:
    async def scenario(world: World) -> None:
        client, operation = await writing(world, 0)
        await until(lambda: writes_of(world) == [0])
        await writing(world, 1)
        await client.on("CancelOperation", operation)
        await asyncio.sleep(0.1)
        assert writes_of(world) == [0]
        await until(lambda: writes_of(world) == [0, 1])

    play(scenario, Limits(linger=0.3, first_poll=0.01))


def test_a_write_does_not_wait_for_ever() -> None:
    async def scenario(world: World) -> None:
        await writing(world, 0)
        client = await world.client()
        failure = error_of(await client.execute("INSERT INTO w SELECT 1"))
        assert failure is not None
        text = "[CW225] Earlier writes of default.w did not end within 0.1 s."
        assert failure.message.startswith(text)
        assert writes_of(world) == [0]

    play(scenario, Limits(write_wait=0.1, first_poll=0.01))


def test_a_write_is_marked_before_and_closed_after() -> None:
    async def scenario(world: World) -> None:
        client = await world.client()
        await client.operation("INSERT INTO w SELECT 1")
        assert world.metastore.log == ["open default.w", "close default.w", "forget default.w"]
        world.metastore.log.clear()
        world.west.fails["INSERT INTO w SELECT 2"] = "no"
        assert error_of(await client.execute("INSERT INTO w SELECT 2")) is not None
        assert world.metastore.log == ["open default.w", "close default.w", "forget default.w"]

    play(scenario)


def test_a_cancelled_or_abandoned_write_is_closed_too() -> None:
    async def scenario(world: World) -> None:
        world.west.sleeping.add("INSERT INTO w SELECT 1")
        for leave in ("cancel", "vanish"):
            world.metastore.log.clear()
            world.west.log.clear()
            client = await world.client()
            operation = await client.operation("INSERT INTO w SELECT 1", run_async=True)
            await until(lambda: bool(world.west.statements))
            assert world.metastore.log == ["open default.w"]
            if leave == "cancel":
                await client.on("CancelOperation", operation)
            else:
                client.close()
            await until(lambda: "close default.w" in world.metastore.log)

    play(scenario, Limits(linger=0.0))


def test_a_cancelled_write_stays_open_a_little_longer() -> None:
    async def scenario(world: World) -> None:
        world.west.sleeping.add("INSERT INTO w SELECT 1")
        client = await world.client()
        operation = await client.operation("INSERT INTO w SELECT 1", run_async=True)
        await until(lambda: bool(world.west.statements))
        await client.on("CancelOperation", operation)
        status = await client.on("GetOperationStatus", operation)
        assert status.get(2) == OperationState.CANCELED
        await client.rows("SELECT 1")
        assert "close default.w" not in world.metastore.log

    play(scenario, Limits(linger=60.0, close=0.1))


def test_a_write_with_an_unknown_end_stays_open(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("proxy.upstream.remote_result.LEARNING_PAUSES", (0.01, 0.01))

    async def scenario(world: World) -> None:
        world.west.sleeping.add("INSERT INTO w SELECT 1")
        client = await world.client()
        operation = await client.operation("INSERT INTO w SELECT 1", run_async=True)
        await until(lambda: ("ann", "GetOperationStatus", "") in world.west.log)
        await world.west.stop()
        state = OperationState.RUNNING
        while state == OperationState.RUNNING:
            state = (await client.on("GetOperationStatus", operation)).get(2)  # type: ignore[assignment]
        assert state == OperationState.ERROR
        await asyncio.sleep(0.2)
        assert world.metastore.log == ["open default.w", "forget default.w"]

    play(scenario)


@pytest.mark.parametrize("lost_at", ["GetOperationStatus", "ExecuteStatement"])
def test_a_write_whose_cluster_stays_away_is_recovered_when_it_answers(
    monkeypatch: pytest.MonkeyPatch, lost_at: str
) -> None:
    monkeypatch.setattr("proxy.upstream.remote_result.LEARNING_PAUSES", (0.01, 0.01))
    monkeypatch.setattr("proxy.statement.running_writes.recovery_runner.PAUSES", (0.05,))

    async def scenario(world: World) -> None:
        world.west.sleeping.add("INSERT INTO w SELECT 1")
        client = await world.client()
        world.west.dies_at = lost_at
        world.west.hangs_at = "CloseSession"  # until it is stopped
        operation = await client.operation("INSERT INTO w SELECT 1", run_async=True)
        await until(lambda: ("ann", lost_at, "") in [(*each[:2], "") for each in world.west.log])
        await world.west.stop()
        await until(lambda: "forget default.w" in world.metastore.log)
        await asyncio.sleep(0.2)
        assert "close default.w" not in world.metastore.log
        world.west.dies_at = world.west.hangs_at = ""
        world.west.log.clear()
        await world.west.start()
        await until(lambda: "close default.w" in world.metastore.log)
        assert "CloseSession" in [call for _, call, _ in world.west.log]
        assert world.metastore.log.count("close default.w") == 1
        state = (await client.on("GetOperationStatus", operation)).get(2)
        assert state == OperationState.ERROR

    play(scenario, Limits(linger=0.0))


def test_a_mark_that_the_metastore_did_not_take_away_goes_later(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("proxy.statement.running_writes.recovery_runner.PAUSES", (0.05,))

    async def scenario(world: World) -> None:
        close = world.metastore.close_write
        failures = [MetastoreDown("down"), MetastoreDown("down")]

        async def failing(token: Any) -> None:
            if failures:
                raise failures.pop()
            await close(token)

        world.metastore.close_write = failing  # type: ignore[method-assign]
        client = await world.client()
        await client.rows("INSERT INTO w SELECT 1")
        await until(lambda: "close default.w" in world.metastore.log)
        assert world.metastore.log.count("close default.w") == 1

    play(scenario, Limits(linger=0.0))


def test_a_lost_write_fails_at_once_and_is_closed_when_no_server_knows_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("proxy.upstream.remote_result.LEARNING_PAUSES", (0.5,) * 20)

    async def scenario(world: World) -> None:
        world.west.sleeping.add("INSERT INTO w SELECT 1")
        client = await world.client()
        operation = await client.operation("INSERT INTO w SELECT 1", run_async=True)
        await until(lambda: ("ann", "GetOperationStatus", "") in world.west.log)
        await world.west.stop()
        world.west.operations.clear()  # as a restarted process
        state = OperationState.RUNNING
        while state == OperationState.RUNNING:
            state = (await client.on("GetOperationStatus", operation)).get(2)  # type: ignore[assignment]
        assert "close default.w" not in world.metastore.log
        await world.west.start()
        await until(lambda: "close default.w" in world.metastore.log)
        assert world.west.statements == ["INSERT INTO w SELECT 1"]

    play(scenario, Limits(linger=0.0))


def test_a_new_table_is_its_clusters() -> None:
    async def scenario(world: World) -> None:
        client = await world.client()
        await client.operation("CREATE TABLE n AS SELECT * FROM w")
        assert "claim default.n west" in world.metastore.log

    play(scenario)


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


def test_explain_cluster_runs_nothing() -> None:
    async def scenario(world: World) -> None:
        client = await world.client()
        assert await client.rows("EXPLAIN CLUSTER INSERT INTO w SELECT * FROM w") == 1
        assert await client.rows("EXPLAIN CLUSTER EXTENDED INSERT INTO w SELECT * FROM e") == 4
        assert await client.rows("EXPLAIN CLUSTER EXTENDED SHOW CLUSTERS") == 0
        assert world.west.log == world.east.log == []
        assert world.metastore.log == []

    play(scenario)


def test_copies_are_shown() -> None:
    stale = Copy(WEST, "file:/w", "old", {"missed": with_time(new_id(), 100.0), "bytes": 7})

    async def scenario(world: World) -> None:
        world.metastore.copied["default.e"] = Placement(EAST, "new", (stale,))
        client = await world.client()
        assert await client.rows("SHOW COPIES") == 2  # of e in both clusters; w has no copies
        assert await client.rows("SHOW COPIES IN default") == 2
        assert await client.rows("SHOW COPIES OF w") == 1
        missing = error_of(await client.execute("SHOW COPIES OF sales.missing"))
        assert missing is not None
        assert "CW303" in missing.message
        unknown = error_of(await client.execute("SHOW COPIES IN nowhere"))
        assert unknown is not None
        assert "SCHEMA_NOT_FOUND" in unknown.message
        assert world.west.log == world.east.log == []

    play(scenario)


def _calls(world: World) -> list[str]:
    return [call for _, call, _ in world.east.log]


def test_a_closing_goes_behind_the_next_statement() -> None:
    async def scenario(world: World) -> None:
        client = await world.client()
        first = await client.operation("SELECT * FROM e")
        assert error_of(await client.on("CloseOperation", first)) is None
        assert "CloseOperation" not in _calls(world)
        await client.operation("SELECT * FROM e")
        calls = _calls(world)
        assert calls[calls.index("CloseOperation") - 1] == "ExecuteStatement"
        assert len(world.east.operations) == 1

    play(scenario)


def test_a_closing_is_sent_by_itself_in_a_moment() -> None:
    async def scenario(world: World) -> None:
        client = await world.client()
        for _ in range(3):
            await client.on("CloseOperation", await client.operation("SHOW TABLES"))
        await until(lambda: not world.east.operations)

    play(scenario)


def test_a_schema_is_asked_before_its_client_asks() -> None:
    async def scenario(world: World) -> None:
        client = await world.client()
        operation = await client.operation("SELECT * FROM e")
        asked = ["GetOperationStatus", "GetResultSetMetadata"]
        await until(lambda: _calls(world)[-2:] == asked)
        assert 2 in await client.on("GetResultSetMetadata", operation)
        assert _calls(world)[-2:] == asked

    play(scenario)


def test_a_cluster_that_says_what_it_was_not_asked_is_let_go() -> None:
    async def scenario(world: World) -> None:
        client = await world.client()
        await client.operation("SELECT 1")
        for writer in world.east.connections:
            writer.write(b"\0\0\0\1x")
        await until(lambda: not world.east.connections)
        assert await client.rows("SELECT * FROM e") == 1

    play(scenario)


def test_a_schema_lost_with_the_connection_is_asked_again_and_the_session_goes_on() -> None:
    async def scenario(world: World) -> None:
        world.east.dies_at = "GetResultSetMetadata"
        client = await world.client()
        operation = await client.operation("SELECT * FROM e")
        await until(lambda: not world.east.connections)
        world.east.dies_at = ""
        failure = error_of(await client.on("GetResultSetMetadata", operation))
        assert failure is not None
        assert failure.message.startswith("Invalid OperationHandle")
        assert await client.rows("SELECT * FROM e") == 1

    play(scenario)


@pytest.mark.parametrize(
    ("sql", "what"), [("USE sales", "database_exists"), ("DROP DATABASE sales CASCADE", "table")]
)
def test_what_is_forgotten_while_it_is_used_is_asked_for_again(sql: str, what: str) -> None:
    async def scenario(world: World) -> None:
        world.metastore.primaries["sales.w"] = world.east.name
        client, known = await world.client(), getattr(world.metastore, what)
        forgotten = []

        def forgetful(name: TableRef | str) -> object:
            if not forgotten and str(name).startswith("sales"):
                forgotten.append(name)
                raise NotLoaded(TableRef.parse("sales.w"))
            return known(name)

        setattr(world.metastore, what, forgetful)
        assert error_of(await client.execute(sql)) is None
        assert forgotten

    play(scenario)


def test_what_is_always_forgotten_is_named() -> None:
    async def scenario(world: World) -> None:
        def forgetful(name: str) -> bool:
            raise NotLoaded(TableRef(name, ""))

        client = await world.client()
        world.metastore.database_exists = forgetful  # type: ignore[method-assign]
        failure = error_of(await client.execute("USE sales"))
        assert failure is not None
        assert failure.message.startswith("[CW210] Database sales keeps changing. Try again")

    play(scenario)
