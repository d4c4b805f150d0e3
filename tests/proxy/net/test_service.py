"""Flows of clients through the proxy, over real sockets and fake clusters."""

import asyncio
from contextlib import suppress

import pytest

from metastore.errors import MetastoreDown
from proxy.net.limits import Limits
from proxy.wire.binary import CALL, I32, LIST, STRUCT, Items, Message, encode_message
from proxy.wire.types import OperationState
from tests.proxy.net.fakes import Client, World, column_length, error_of, play, until


def test_a_session_is_opened_where_its_first_statement_goes_as_its_user() -> None:
    async def scenario(world: World) -> None:
        client = await world.client("zoe")
        assert (world.east.log, world.west.log) == ([], [])
        assert await client.rows("SELECT * FROM w") == 1
        assert world.east.log == []
        assert {user for user, _, _ in world.west.log} == {"zoe"}
        assert world.west.protocols == [5]

    play(scenario)


@pytest.mark.parametrize("protocol", range(11))
def test_every_protocol_version(protocol: int) -> None:
    async def scenario(world: World) -> None:
        client = await world.client(opened=False)
        result = await client.open(protocol)
        assert result[2] == (I32, protocol)
        await client.operation("SELECT 1")
        assert world.east.protocols == [protocol]
        shown = await client.operation("SHOW CLUSTERS")
        fetched = await client.on("FetchResults", shown)
        assert error_of(fetched) is None

    play(scenario)


def test_the_clients_configuration_reaches_the_cluster() -> None:
    async def scenario(world: World) -> None:
        client = await world.client(opened=False)
        await client.open(5, set__hivevar__x="1", use__database="sales")
        assert await client.rows("SELECT * FROM w") == 1  # sales.w
        assert world.west.configurations == [{"set:hivevar:x": "1", "use:database": "sales"}]

    play(scenario)


def test_a_missing_database_refuses_the_session() -> None:
    async def scenario(world: World) -> None:
        client = await world.client(opened=False)
        failure = error_of(await client.open(5, use__database="nosuch"))
        assert failure is not None
        assert failure.message.startswith("Failed to open new session: ")
        assert "[SCHEMA_NOT_FOUND] The schema `nosuch` cannot be found" in failure.message

    play(scenario)


def test_use_is_answered_from_the_catalog_and_repeated_in_clusters() -> None:
    async def scenario(world: World) -> None:
        client = await world.client()
        await client.operation("USE sales")
        assert world.east.log == world.west.log == []
        failure = error_of(await client.execute("USE nosuch"))
        assert failure is not None
        assert (failure.sqlstate, failure.vendor) == ("42704", 0)
        await client.operation("SELECT * FROM w")
        assert world.west.statements == ["USE sales", "SELECT * FROM w"]

    play(scenario)


def test_what_a_session_said_is_repeated_once_and_in_order() -> None:
    async def scenario(world: World) -> None:
        client = await world.client()
        said = ["SET a=1", "CREATE TEMPORARY VIEW v AS SELECT * FROM default.w", "USE sales"]
        for each in said:
            await client.operation(each)
        await client.operation("SELECT * FROM v")
        assert world.west.statements[-1] == "SELECT * FROM v"
        await client.operation("USE CLUSTER east")
        await client.operation("SELECT 1")
        assert world.east.statements == [*said, "SELECT 1"]
        await client.operation("SELECT 2")
        assert world.east.statements == [*said, "SELECT 1", "SELECT 2"]

    play(scenario)


def test_a_view_that_a_cluster_cannot_make_is_missed_only_by_its_users() -> None:
    async def scenario(world: World) -> None:
        client = await world.client()
        view = "CREATE TEMPORARY VIEW v AS SELECT 1 AS one"
        world.west.fails[view] = "Error running query: no such path"
        await client.operation(view)
        await client.operation("USE CLUSTER west")
        assert await client.rows("SELECT * FROM w") == 1
        failure = error_of(await client.execute("SELECT * FROM v"))
        assert failure is not None
        assert "[CW203] Cluster west cannot repeat" in failure.message
        assert "no such path" in failure.message
        await client.operation("USE CLUSTER")
        assert await client.rows("SELECT * FROM v") == 1
        await client.operation("DROP VIEW v")
        assert await client.rows("SELECT * FROM w") == 1
        assert world.west.statements == [view, "SELECT * FROM w", "SELECT * FROM w"]

    play(scenario)


def test_a_setting_that_a_cluster_cannot_repeat_keeps_the_session_out() -> None:
    async def scenario(world: World) -> None:
        client = await world.client()
        world.west.fails["SET a=1"] = "Error running query: no such setting"
        await client.operation("SET a=1")
        failure = error_of(await client.execute("SELECT * FROM w"))
        assert failure is not None
        assert "[CW203] Cluster west cannot repeat 'SET a=1'" in failure.message
        assert await client.rows("SELECT 1") == 1
        await client.operation("SET a=2")
        assert await client.rows("SELECT * FROM w") == 1

    play(scenario)


def test_a_table_that_changed_since_it_was_read_is_looked_at_anew() -> None:
    async def scenario(world: World) -> None:
        client = await world.client()
        for version in (1, 1, 2, 2):
            world.metastore.versions["default.w"] = version
            await client.operation("SELECT * FROM w")
        read, refresh = "SELECT * FROM w", "REFRESH TABLE `default`.`w`"
        assert world.west.statements == [read, read, refresh, read, read]

    play(scenario)


def test_a_session_that_a_cluster_closed_is_opened_anew() -> None:
    async def scenario(world: World) -> None:
        client = await world.client()
        await client.operation("SET a=1")
        await client.operation("SELECT 1")
        world.east.sessions.clear()
        assert await client.rows("SELECT 1") == 1
        assert world.east.statements[-2:] == ["SET a=1", "SELECT 1"]

    play(scenario)


def test_a_change_that_may_have_happened_costs_the_clusters_session() -> None:
    async def scenario(world: World) -> None:
        client = await world.client()
        await client.operation("SET a=1")
        world.east.sleeping.add("SET b=1")
        operation = await client.operation("SET b=1", run_async=True)
        await until(lambda: "SET b=1" in world.east.statements)
        await client.on("CancelOperation", operation)
        await client.operation("SELECT 1")
        assert world.east.statements == ["SET a=1", "SET b=1", "SET a=1", "SELECT 1"]

    play(scenario)


def test_a_silent_connection_is_let_go() -> None:
    async def scenario(world: World) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", world.endpoint.port)
        with suppress(ConnectionError):
            assert await reader.read() == b""
        writer.close()

    play(scenario, Limits(negotiation=0.05))


def test_a_statement_that_fails_changes_no_session() -> None:
    async def scenario(world: World) -> None:
        client = await world.client()
        world.east.sessions.clear()
        failure = error_of(await client.execute("FAIL Error running query: no"))
        assert failure is not None
        assert "[CW101]" in failure.message  # not understood
        await client.operation("USE CLUSTER west")
        await client.operation("USE CLUSTER")
        assert world.west.statements == []

    play(scenario)


def test_a_refusal_is_a_statement_error_and_the_session_goes_on() -> None:
    async def scenario(world: World) -> None:
        client = await world.client()
        failure = error_of(await client.execute("SELECT * FROM e JOIN w"))
        assert failure is not None
        assert failure.message.startswith("[CW104] No cluster has all inputs.")
        assert failure.vendor == 104
        operation = await client.operation("SELECT * FROM e JOIN w", run_async=True)
        status = await client.on("GetOperationStatus", operation)
        assert status[2][1] == OperationState.ERROR
        assert str(status[5][1]).startswith("b'[CW104] No cluster")
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
            str(status[5][1]), "utf-8"
        ).replace(b"\\n", b"\n").replace(b"\\t", b"\t")
        fetched = error_of(await client.on("FetchResults", operation))
        assert fetched is not None
        assert fetched.message == "Expected state FINISHED, but found ERROR"

    play(scenario)


def test_a_statement_without_rows_has_an_empty_column() -> None:
    async def scenario(world: World) -> None:
        world.east.without_columns.add("SELECT ddl")
        client = await world.client()
        assert await client.rows("SELECT ddl") == 0

    play(scenario)


def test_pages_and_rewinding_of_our_own_result() -> None:
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


def test_a_large_result_is_carried_whole_and_a_slow_reader_holds_it_back() -> None:
    async def scenario(world: World) -> None:
        world.east.row = b"y" * 10_000
        client = await world.client()
        operation = await client.operation("SELECT many")
        world.east.counts["SELECT many"] = 5_000  # 50 MB
        await client.send("FetchResults", {1: (STRUCT, operation), 2: (I32, 0), 3: (10, 5_000)})
        await asyncio.sleep(0.3)  # the client does not read
        other = await world.client("bob")
        assert await other.rows("SELECT 1") == 1
        message = await client.receive()
        body = message.body[0][1]
        assert isinstance(body, dict)
        assert column_length(body) == 5_000

    play(scenario)


@pytest.mark.parametrize("drip", [1, 3, 100, 515, 516, 517])
def test_a_reply_may_come_in_any_pieces(drip: int) -> None:
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


def test_polls_are_answered_promptly_and_cancelling_is_prompt() -> None:
    async def scenario(world: World) -> None:
        client = await world.client()
        world.east.sleeping.add("SELECT long")
        world.east.poll_time = 1e6  # its own polls do not come back
        operation = await client.operation("SELECT long", run_async=True)
        await until(lambda: ("ann", "GetOperationStatus", "") in world.east.log)
        status = await client.on("GetOperationStatus", operation)
        assert status[2][1] == OperationState.RUNNING
        await client.on("CancelOperation", operation)
        await client.on("CancelOperation", operation)
        status = await client.on("GetOperationStatus", operation)
        assert status[2][1] == OperationState.CANCELED
        assert await client.rows("SELECT 1") == 1

    play(scenario)


def test_another_statement_of_the_session_runs_beside_a_long_one() -> None:
    async def scenario(world: World) -> None:
        client = await world.client()
        world.east.sleeping.add("SELECT long")
        await client.operation("SELECT long", run_async=True)
        await until(lambda: ("ann", "GetOperationStatus", "") in world.east.log)
        assert await client.rows("SELECT 1") == 1

    play(scenario)


def test_a_vanished_client_leaves_nothing() -> None:
    async def scenario(world: World) -> None:
        world.east.sleeping |= {"SELECT long", "SELECT longer"}
        first = await world.client()
        await first.operation("SELECT long", run_async=True)
        await first.operation("SELECT * FROM w")
        second = await world.client()
        await second.send(
            "ExecuteStatement", {1: (STRUCT, second.session), 2: (11, b"SELECT longer")}
        )
        await until(lambda: len(world.east.statements) == 2)
        assert (len(world.east.sessions), len(world.west.sessions)) == (2, 1)
        first.close()
        second.close()
        await until(lambda: not world.east.sessions and not world.west.sessions)
        await until(lambda: not world.east.operations and not world.west.operations)

    play(scenario)


@pytest.mark.parametrize("call", ["FetchResults", "GetTables", "CloseSession"])
def test_a_client_that_vanishes_while_a_cluster_thinks(call: str) -> None:
    async def scenario(world: World) -> None:
        client = await world.client()
        operation = await client.operation("SELECT 1")
        world.east.hangs_at = call
        about = operation if call == "FetchResults" else client.session
        await client.send(call, {1: (STRUCT, about), 2: (I32, 0), 3: (10, 1)})
        await until(lambda: ("ann", call, "hangs") in world.east.log)
        client.close()
        await until(lambda: not world.east.sessions)

    play(scenario, Limits(close=0.1))


def test_a_client_with_several_sessions_on_a_connection_leaves_none() -> None:
    async def scenario(world: World) -> None:
        client = await world.client()
        await client.operation("SELECT 1")
        await client.open()
        await client.operation("SELECT 1")
        assert len(world.east.sessions) == 2
        client.close()
        await until(lambda: not world.east.sessions)

    play(scenario)


def test_handles_are_their_users() -> None:
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


def test_closing() -> None:
    async def scenario(world: World) -> None:
        client = await world.client()
        operation = await client.operation("SELECT 1")
        assert error_of(await client.on("CloseOperation", operation)) is None
        assert error_of(await client.on("CloseOperation", operation)) is not None
        await until(lambda: not world.east.operations)
        handle = {1: (STRUCT, client.session)}
        assert error_of(await client.call("CloseSession", handle)) is None
        failure = error_of(await client.call("CloseSession", handle))
        assert failure is not None
        assert failure.message == "Session does not exist!"
        assert not world.east.sessions

    play(scenario)


def test_closing_what_still_runs_leaves_nothing_there() -> None:
    async def scenario(world: World) -> None:
        client = await world.client()
        world.east.sleeping.add("SELECT long")
        for wait in (True, False):
            operation = await client.operation("SELECT long", run_async=True)
            if wait:
                await until(lambda: bool(world.east.operations))
            assert error_of(await client.on("CloseOperation", operation)) is None
            await until(lambda: not world.east.operations)
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
            state = status[2][1]  # type: ignore[assignment]
        assert state == OperationState.ERROR
        assert b"[CW202]" in bytes(str(status[5][1]), "utf-8")

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
            operation = result[2][1]
            assert isinstance(operation, dict)
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


def test_a_silent_cluster_blocks_nobody_else() -> None:
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
        assert status[2][1] == OperationState.CANCELED
        await client.rows("SELECT 1")
        assert "close default.w" not in world.metastore.log

    play(scenario, Limits(linger=60.0, close=0.1))


def test_a_write_whose_end_is_not_known_stays_open(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("proxy.net.statement._SETTLING", (0.01, 0.01))

    async def scenario(world: World) -> None:
        world.west.sleeping.add("INSERT INTO w SELECT 1")
        client = await world.client()
        operation = await client.operation("INSERT INTO w SELECT 1", run_async=True)
        await until(lambda: ("ann", "GetOperationStatus", "") in world.west.log)
        await world.west.stop()
        state = OperationState.RUNNING
        while state == OperationState.RUNNING:
            state = (await client.on("GetOperationStatus", operation))[2][1]  # type: ignore[assignment]
        assert state == OperationState.ERROR
        assert world.metastore.log == ["open default.w", "forget default.w"]

    play(scenario)


def test_a_new_table_is_its_clusters() -> None:
    async def scenario(world: World) -> None:
        client = await world.client()
        await client.operation("CREATE TABLE n AS SELECT * FROM w")
        assert "claim default.n west" in world.metastore.log

    play(scenario)


def test_a_metastore_that_is_down_is_a_statement_error() -> None:
    async def scenario(world: World) -> None:
        client = await world.client()
        world.metastore.failing = MetastoreDown("nobody answers.")
        failure = error_of(await client.execute("SELECT * FROM w"))
        assert failure is not None
        assert failure.message.startswith("[CW301] nobody answers.")
        world.metastore.failing = None
        assert await client.rows("SELECT * FROM w") == 1

    play(scenario)


def test_metadata_calls_go_to_the_pinned_or_default_cluster() -> None:
    async def scenario(world: World) -> None:
        client = await world.client()
        types = (LIST, Items(11, [b"TABLE"]))
        for cluster, fake in (("east", world.east), ("west", world.west)):
            result = await client.call("GetTables", {1: (STRUCT, client.session), 5: types})
            handle = result[2][1]
            assert isinstance(handle, dict)
            assert column_length(await client.on("FetchResults", handle)) == 1, cluster
            assert ("ann", "GetTables", "") in fake.log
            await client.operation("USE CLUSTER west")

    play(scenario)


def test_get_info() -> None:
    async def scenario(world: World) -> None:
        client = await world.client()
        for kind, value in ((18, b"Fake 1"), (18, b"Fake 1"), (47, b"ann"), (30, 128), (99, 0)):
            result = await client.call("GetInfo", {1: (STRUCT, client.session), 2: (I32, kind)})
            ((_, told),) = result[2][1].values()  # type: ignore[union-attr]
            assert told == value
        assert [call for _, call, _ in world.east.log] == ["GetInfo"]
        await world.east.stop()
        result = await client.call("GetInfo", {1: (STRUCT, client.session), 2: (I32, 17)})
        assert error_of(result) is None

    play(scenario)


@pytest.mark.parametrize("name", ["GetLog", "CloseImpalaOperation", "GetQueryId"])
def test_a_method_that_the_thrift_server_lacks(name: str) -> None:
    async def scenario(world: World) -> None:
        client = await world.client()
        await client.send(name, {})
        message = await client.receive()
        assert message.kind == 3
        assert message.body == {1: (11, f"Invalid method name: '{name}'".encode()), 2: (I32, 1)}
        assert await client.rows("SELECT 1") == 1

    play(scenario)


def test_a_request_that_is_too_large() -> None:
    async def scenario(world: World) -> None:
        client = await world.client()
        sql = b"SELECT '" + b"x" * (66 << 20) + b"'"
        request = {1: (STRUCT, client.session), 2: (11, sql)}
        data = encode_message(Message("ExecuteStatement", CALL, 101, {1: (STRUCT, request)}))
        client._seqid = 101
        client.writer.write(len(data).to_bytes(4, "big") + data)
        message = await client.receive()
        failure = error_of(message.body[0][1])  # type: ignore[arg-type]
        assert failure is not None
        assert "[CW208]" in failure.message
        assert await client.rows("SELECT 1") == 1

    play(scenario)


def test_nobody_acts_as_another() -> None:
    async def scenario(world: World) -> None:
        client = await world.client(opened=False)
        failure = error_of(await client.open(5, **{"hive.server2.proxy.user": "zed"}))
        assert failure is not None
        assert "[CW204] ann may not act as 'zed'" in failure.message
        await client.open()
        failure = error_of(await client.execute("SET hive.server2.proxy.user=zed"))
        assert failure is not None
        assert failure.sqlstate == "28000"
        assert world.east.log == []

    play(scenario)


def test_sessions_of_a_user_are_bounded() -> None:
    async def scenario(world: World) -> None:
        client = await world.client()
        failure = error_of(await client.open())
        assert failure is not None
        assert "[CW207]" in failure.message
        other = await world.client("bob")
        assert await other.rows("SELECT 1") == 1

    play(scenario, Limits(sessions_per_user=1))


def test_connections_to_a_cluster_are_bounded() -> None:
    async def scenario(world: World) -> None:
        clients = [await world.client(f"u{number}") for number in range(3)]
        assert [await client.rows("SELECT 1") for client in clients[:2]] == [1, 1]
        failure = error_of(await clients[2].execute("SELECT 1"))
        assert failure is not None
        assert "[CW207]" in failure.message
        clients[0].close()
        await until(lambda: len(world.east.connections) < 2)
        assert await clients[2].rows("SELECT 1") == 1

    play(scenario, Limits(endpoint_connections=2))


def test_explain_cluster_runs_nothing() -> None:
    async def scenario(world: World) -> None:
        client = await world.client()
        assert await client.rows("EXPLAIN CLUSTER INSERT INTO w SELECT * FROM w") == 1
        assert world.west.log == world.east.log == []
        assert world.metastore.log == []

    play(scenario)


def test_without_clusters_everything_goes_through() -> None:
    async def scenario(world: World) -> None:
        client = await world.client(opened=False)
        await client.open(10, use__database="anything")
        assert world.east.configurations == [{"use:database": "anything"}]
        for statement in ("USE CLUSTER west", "SHOW CLUSTERS", "gibberish"):
            assert await client.rows(statement) == 1
        assert world.east.statements == ["USE CLUSTER west", "SHOW CLUSTERS", "gibberish"]
        assert not world.metastore.loaded
        await world.east.stop()
        await world.east.start()
        failure = error_of(await client.execute("SELECT 1"))  # its state is lost: say so
        assert failure is not None
        assert "[CW202]" in failure.message

    play(scenario, in_use=False)


def test_what_is_no_client_is_let_go() -> None:
    async def scenario(world: World) -> None:
        for said in (b"GET / HTTP/1.1\r\n\r\n", b"\1\0\0\0\5PLAIN\2\0\0\0\5\0ann\0"):
            reader, writer = await asyncio.open_connection("127.0.0.1", world.endpoint.port)
            writer.write(said)
            writer.write_eof()
            with suppress(ConnectionError):
                await reader.read()
            writer.close()
        client = await world.client()
        client.writer.write(b"\0\0\0\4junk")
        with pytest.raises((asyncio.IncompleteReadError, ConnectionError)):
            await client.receive()
        assert isinstance(await world.client(), Client)

    play(scenario)
