"""Writes: their order, their marks, and what happens to a mark when the end is not known."""

import asyncio
from typing import Any

import pytest

from metastore.errors import MetastoreDown
from proxy.limits import Limits
from proxy.protocol.types import OperationState
from tests.proxy.fakes import Client, World, error_of, play, until
from thriftcodec.values import Struct


async def writing(world: World, number: int) -> tuple[Client, Struct]:
    """A client and its INSERT, which runs or waits for its turn; it runs until `end`."""
    sql = f"INSERT INTO w SELECT {number}"
    world.west.sleeping.add(sql)
    client = await world.client()
    operation = await client.operation(sql, run_async=True)
    assert await client.state(operation) == OperationState.RUNNING
    return client, operation


def writes_of(world: World) -> list[int]:
    """The numbers of the INSERTs that the cluster has received, in order."""
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
        assert await reader.rows("SELECT * FROM w") == 1  # a read does not wait for writes
        assert error_of(await reader.execute("INSERT INTO e SELECT 1")) is None
        await operations[1][0].on("CancelOperation", operations[1][1])
        operations[2][0].close()
        await until(lambda: len(world.metastore.log) > 0)
        end_write(world, 0)
        await until(lambda: writes_of(world) == [0, 3])
        opened = [line for line in world.metastore.log if line == "open default.w"]
        assert len(opened) == 2  # a waiting write has no mark
        end_write(world, 3)
        client, operation = operations[3]
        state = OperationState.RUNNING
        while state == OperationState.RUNNING:
            state = await client.state(operation)
        assert state == OperationState.FINISHED

    play(scenario, Limits(linger=0.0, first_poll=0.01))


@pytest.mark.parametrize("leave", ["cancel", "vanish", "fail"])
def test_a_write_that_fails_or_is_cancelled_ends_its_turn(leave: str) -> None:
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
            world.west.operations.clear()  # as in a restarted process
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
        assert await client.state(operation) == OperationState.CANCELED
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
            state = await client.state(operation)
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
        state = await client.state(operation)
        assert state == OperationState.ERROR

    play(scenario, Limits(linger=0.0))


def test_a_mark_that_the_metastore_did_not_remove_is_removed_later(
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
        world.west.operations.clear()  # as in a restarted process
        state = OperationState.RUNNING
        while state == OperationState.RUNNING:
            state = await client.state(operation)
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
