"""Statements that exceed a limit end, and their clients receive the reason."""

import pytest

from conf.access.document import rules_of
from conf.access.quotas import UserQuota
from conf.access.rules import AccessRules
from proxy.limits import Limits, with_quota
from proxy.protocol.types import OperationState
from tests.proxy.fakes import World, column_length, error_of, play, until
from thriftcodec.values import STRUCT, Struct


def test_the_rows_read_of_a_result_are_limited() -> None:
    async def scenario(world: World) -> None:
        world.east.counts["SELECT many"] = 5_000
        client = await world.client()
        operation = await client.operation("SELECT many")
        for _ in range(2):
            assert error_of(await client.on("FetchResults", operation, rows=1000)) is None
        for _ in range(2):
            failure = error_of(await client.on("FetchResults", operation, rows=1000))
            assert failure is not None
            assert "[CW222] The statement's result has more than 2,000 rows." in failure.message
            assert failure.sqlstate == "54000"
        await until(lambda: "SELECT many" not in running(world))
        assert error_of(await client.on("CloseOperation", operation)) is None
        assert await client.rows("SELECT 1") == 1

    play(scenario, Limits(result_rows=2_000))


def test_the_bytes_read_of_a_result_are_limited() -> None:
    async def scenario(world: World) -> None:
        world.east.counts["SELECT many"] = 5_000
        client = await world.client()
        operation = await client.operation("SELECT many")
        assert error_of(await client.on("FetchResults", operation, rows=1000)) is None
        failure = error_of(await client.on("FetchResults", operation, rows=1000))
        assert failure is not None
        assert "[CW222] The statement's result has more than 500 bytes." in failure.message

    play(scenario, Limits(result_bytes=500))


def test_without_limits_all_is_read() -> None:
    async def scenario(world: World) -> None:
        world.east.counts["SELECT many"] = 5_000
        client = await world.client()
        operation = await client.operation("SELECT many")
        for _ in range(5):
            assert error_of(await client.on("FetchResults", operation, rows=1000)) is None

    play(scenario, Limits(result_rows=0, result_bytes=0))


@pytest.mark.slow
def test_a_statement_that_runs_for_too_long_is_cancelled() -> None:
    async def scenario(world: World) -> None:
        world.east.sleeping.add("SELECT long")
        client = await world.client()
        failure = error_of(await client.execute("SELECT long"))
        assert failure is not None
        assert "[CW223] " in failure.message
        assert failure.sqlstate == "57014"
        await until(lambda: "SELECT long" not in running(world))
        assert await client.rows("SELECT 1") == 1

    play(scenario, Limits(statement_time=1.0, check_interval=0.05, linger=0.0))


@pytest.mark.slow
def test_a_write_that_runs_for_too_long_is_marked_as_ended() -> None:
    async def scenario(world: World) -> None:
        sql = "INSERT INTO w VALUES (1)"
        world.west.sleeping.add(sql)
        client = await world.client()
        assert "[CW223] " in str(error_of(await client.execute(sql)))
        await until(lambda: "close default.w" in world.metastore.log)

    play(scenario, Limits(statement_time=1.0, check_interval=0.05, linger=0.0))


def test_an_unread_result_is_closed_in_its_cluster() -> None:
    async def scenario(world: World) -> None:
        client = await world.client()
        unread = await client.operation("SELECT x FROM e")
        await until(lambda: not world.east.operations)
        assert error_of(await client.on("FetchResults", unread)) is not None
        assert await client.rows("SELECT 1") == 1

    play(scenario, Limits(idle_result=0.5, check_interval=0.05))


def running(world: World) -> list[str]:
    return [each.sql for each in world.east.operations.values()]


def quotas_of_ann(**bounds: int) -> AccessRules:
    return rules_of({"quotas": [{"name": "q", "users": ["ann"], **bounds}]})


@pytest.mark.slow
def test_a_quota_bounds_the_results_and_the_time_of_its_user_alone() -> None:
    async def scenario(world: World) -> None:
        world.east.counts["SELECT many"] = 5_000
        world.east.sleeping.add("SELECT long")
        client, other = await world.client(), await world.client("bob")
        for each, works in ((client, False), (other, True)):
            operation = await each.operation("SELECT many")
            assert error_of(await each.on("FetchResults", operation, rows=1000)) is None
            failure = error_of(await each.on("FetchResults", operation, rows=1000))
            assert (failure is None) is works
            assert works or "[CW222]" in str(failure)
        assert "[CW223] The statement ran for more than 1 seconds." in str(
            error_of(await client.execute("SELECT long"))
        )

    limits = Limits(check_interval=0.05, linger=0.0)
    play(scenario, limits, access=quotas_of_ann(rows=1000, seconds=1))


def test_a_quota_bounds_the_statements_at_once_and_a_minute() -> None:
    async def scenario(world: World) -> None:
        world.east.sleeping.add("SELECT long")
        client, other = await world.client(), await world.client("bob")
        for _ in range(2):
            await client.operation("SELECT long", run_async=True)
        refused = str(error_of(await client.execute("SELECT 1")))
        assert "[CW207] The user ann has 2 statements running, which is the limit." in refused
        third = await world.client("cid")
        for _ in range(3):
            assert await third.rows("SELECT 1") == 1
        refused = str(error_of(await third.execute("SELECT 1")))
        assert "[CW207] The user cid has 3 statements a minute, which is the limit." in refused
        for _ in range(5):
            assert await other.rows("SELECT 1") == 1

    minute = {"name": "m", "users": ["cid"], "statements_a_minute": 3}
    once = {"name": "q", "users": ["ann"], "statements": 2}
    play(scenario, access=rules_of({"quotas": [once, minute]}))


def test_statements_beyond_a_quota_wait_for_their_turn() -> None:
    async def scenario(world: World) -> None:
        world.east.sleeping |= {"SELECT long", "SELECT longer"}
        client, other = await world.client(), await world.client()
        first = await client.operation("SELECT long", run_async=True)
        await until(lambda: running(world) == ["SELECT long"])
        second = await client.operation("SELECT longer", run_async=True)
        third = await other.operation("SELECT 1", run_async=True)
        refused = str(error_of(await other.execute("SELECT 1")))
        assert "[CW207] 2 statements of the user ann wait, which is the limit." in refused
        for operation, ahead in ((second, 0), (third, 1)):
            assert await client.state(operation) == OperationState.RUNNING
            (line,) = await client.log(operation)
            assert line.startswith("Waiting: The user ann has 1 statements running")
            assert line.endswith(f" {ahead} more are ahead.")
        await client.on("CancelOperation", second)
        assert await client.state(second) == OperationState.CANCELED
        assert running(world) == ["SELECT long"]
        await client.on("CancelOperation", first)
        while await client.state(third) == OperationState.RUNNING:
            pass  # each status waits a little
        assert column_length(await other.on("FetchResults", third)) == 1
        assert await client.rows("SELECT 1") == 1
        assert "SELECT longer" not in running(world)

    once = {"name": "q", "users": ["ann"], "statements": 1, "waiting": 2, "seconds": 60}
    play(scenario, Limits(linger=0.0), access=rules_of({"quotas": [once]}))


def test_a_session_that_is_closed_leaves_the_queue() -> None:
    async def scenario(world: World) -> None:
        world.east.sleeping |= {"SELECT long", "SELECT longer"}
        client, other = await world.client(), await world.client()
        first = await client.operation("SELECT long", run_async=True)
        await until(lambda: running(world) == ["SELECT long"])
        await other.operation("SELECT longer", run_async=True)
        await other.call("CloseSession", Struct({1: (STRUCT, other.session)}))
        second = await client.operation("SELECT 1", run_async=True)  # the queue has one place
        await client.on("CancelOperation", first)
        while await client.state(second) == OperationState.RUNNING:
            pass  # each status waits a little
        assert column_length(await client.on("FetchResults", second)) == 1
        assert "SELECT longer" not in running(world)

    once = {"name": "q", "users": ["ann"], "statements": 1, "waiting": 1}
    play(scenario, Limits(linger=0.0), access=rules_of({"quotas": [once]}))


@pytest.mark.slow
def test_a_statement_that_waits_for_too_long_fails() -> None:
    async def scenario(world: World) -> None:
        world.east.sleeping.add("SELECT long")
        client = await world.client()
        await client.operation("SELECT long", run_async=True)
        failure = str(error_of(await client.execute("SELECT 1")))
        assert "[CW207] The statement waited 1 s for its turn. The user ann has 1" in failure
        assert "SELECT 1" not in running(world)

    once = {"name": "q", "users": ["ann"], "statements": 1, "waiting": 2, "waiting_seconds": 1}
    play(scenario, access=rules_of({"quotas": [once]}))


def test_the_smaller_limit_holds() -> None:
    limits = Limits(result_rows=10, result_bytes=0, statement_time=5.0)
    found = with_quota(limits, UserQuota(rows=20, bytes=7, seconds=3))
    assert (found.result_rows, found.result_bytes, found.statement_time) == (10, 7, 3)
    assert with_quota(limits, UserQuota(statements=1)) == limits
    assert with_quota(limits, None) is limits
