"""Calls over real sockets to fake clusters: results, handles, limits, malformed bytes."""

import asyncio
from contextlib import suppress

import pytest
from TCLIService.ttypes import TOperationState

from conf.access.document import rules_of
from proxy.limits import Limits
from proxy.protocol.types import OperationState
from tests.proxy.fakes import Client, World, column_length, error_of, play, until
from thriftcodec.values import (
    CALL,
    I32,
    LIST,
    MAP,
    STRING,
    STRUCT,
    Items,
    Message,
    Pairs,
    Struct,
)
from thriftcodec.writer import encode_message


def test_a_silent_connection_is_closed() -> None:
    async def scenario(world: World) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", world.endpoint.port)
        with suppress(ConnectionError):
            assert await reader.read() == b""
        writer.close()

    play(scenario, Limits(negotiation=0.05))


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
            status = await client.on("GetOperationStatus", operation)
            assert status.get(2) == OperationState.RUNNING
        failure = error_of(await client.on("FetchResults", operation))
        assert failure is not None
        assert failure.message == "Expected state FINISHED, but found RUNNING"
        await client.on("CancelOperation", operation)
        status = await client.on("GetOperationStatus", operation)
        assert status.get(2) == OperationState.CANCELED

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
            status = await client.on("GetOperationStatus", operation)
            assert status.get(2) == OperationState.RUNNING
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


def test_metadata_calls_go_to_the_pinned_or_default_cluster() -> None:
    async def scenario(world: World) -> None:
        client = await world.client()
        types = (LIST, Items(11, [b"TABLE"]))
        for cluster, fake in (("east", world.east), ("west", world.west)):
            result = await client.call("GetTables", Struct({1: (STRUCT, client.session), 5: types}))
            handle = result.get(2)
            assert isinstance(handle, Struct)
            assert column_length(await client.on("FetchResults", handle)) == 1, cluster
            assert ("ann", "GetTables", "") in fake.log
            await client.operation("USE CLUSTER west")

    play(scenario)


def test_lists_that_only_the_cluster_can_make_are_refused_to_whom_tables_are_denied() -> None:
    async def scenario(world: World) -> None:
        client = await world.client()
        for call in ("GetTables", "GetSchemas", "GetColumns"):
            result = await client.call(call, Struct({1: (STRUCT, client.session)}))
            failure = error_of(result)
            assert failure is not None
            assert "[CW107] ann may not use this list" in failure.message
            assert ("ann", call, "") not in world.east.log
        types = await client.call("GetTypeInfo", Struct({1: (STRUCT, client.session)}))
        assert error_of(types) is None

    rule = {"name": "a", "effect": "deny", "users": ["ann"], "databases": ["hr"]}
    play(scenario, access=rules_of({"rules": [rule]}))


def test_statements_and_commands_are_refused_by_access_rules() -> None:
    async def scenario(world: World) -> None:
        client, other = await world.client(), await world.client("bob")
        for text in ("SELECT * FROM sales.w", "USE CLUSTER west", "USE sales", "SET a.b = c"):
            with pytest.raises(AssertionError, match="CW107"):
                await client.operation(text)
            await other.operation(text)
        assert not any("sales" in each[2] for each in world.west.log if each[0] == "ann")

    rule = {
        "name": "a", "effect": "deny", "users": ["ann"], "databases": ["sales"],
        "clusters": ["west"], "settings": ["a.*"],
    }  # fmt: skip
    play(scenario, access=rules_of({"rules": [rule]}))


def test_get_info() -> None:
    async def scenario(world: World) -> None:
        client = await world.client()
        for kind, value in ((18, b"Fake 1"), (18, b"Fake 1"), (47, b"ann"), (30, 128), (99, 0)):
            result = await client.call(
                "GetInfo", Struct({1: (STRUCT, client.session), 2: (I32, kind)})
            )
            ((_, info),) = result.get(2).fields.values()
            assert info == value
        assert [call for _, call, _ in world.east.log] == ["GetInfo"]
        await world.east.stop()
        result = await client.call("GetInfo", Struct({1: (STRUCT, client.session), 2: (I32, 17)}))
        assert error_of(result) is None

    play(scenario)


def test_get_info_fails_for_a_session_that_is_gone() -> None:
    async def scenario(world: World) -> None:
        ann, bob = await world.client(), await world.client("bob")
        for kind in (17, 30):
            assert error_of(await ann.info(kind)) is None
        await ann.call("CloseSession", Struct({1: (STRUCT, ann.session)}))
        for kind in (17, 30):
            failure = error_of(await ann.info(kind))
            assert failure is not None
            assert failure.message.startswith("Invalid SessionHandle")
        ann.session = bob.session
        assert error_of(await ann.info()) is not None, "another user's session"

    play(scenario)


def test_get_info_fails_once_the_upstream_closed_the_session() -> None:
    async def scenario(world: World) -> None:
        client = await world.client()
        assert error_of(await client.info()) is None
        await world.east.stop()
        failure = error_of(await client.info())
        assert failure is not None
        assert failure.sqlstate == "08006"

    play(scenario, in_use=False)


def test_get_info_of_an_upstream_that_needs_a_session() -> None:
    """Hive's own HiveServer2 answers for its sessions alone; a failure is not remembered."""

    async def scenario(world: World) -> None:
        world.east.checks_sessions = True
        client = await world.client()
        assert (await client.info(18)).get(2) == Struct({1: (11, b"Fake 1")})
        assert error_of(await (await world.client("bob")).info()) is None

    play(scenario, in_use=False)


def test_get_info_fails_while_no_cluster_of_the_session_is_up() -> None:
    async def scenario(world: World) -> None:
        limited, free = await world.client(), await world.client()
        await limited.operation("USE CLUSTER west")
        await world.west.stop()
        await until_down(limited, "08001")
        assert error_of(await free.info()) is None, "it may use the other cluster"
        await world.east.stop()
        await until_down(free, "08001")
        await world.west.start()
        while error_of(await limited.info()) is not None:  # noqa: ASYNC110
            await asyncio.sleep(0.01)

    play(scenario, Limits(health_interval=0.02))


def test_get_info_works_in_a_cluster_that_came_up_after_its_last_health_check() -> None:
    async def scenario(world: World) -> None:
        client = await world.client()
        await client.operation("USE CLUSTER west")
        await world.west.stop()
        with pytest.raises(AssertionError, match="CW201"):
            await client.operation("SELECT 1")
        assert error_of(await client.info()) is not None
        await world.west.start()
        assert error_of(await client.info()) is None

    play(scenario, Limits(health_interval=600.0))


async def until_down(client: Client, sqlstate: str) -> None:
    while (failure := error_of(await client.info())) is None:  # noqa: ASYNC110
        await asyncio.sleep(0.01)
    assert failure.sqlstate == sqlstate


def test_a_client_names_its_application(caplog: pytest.LogCaptureFixture) -> None:
    async def scenario(world: World) -> None:
        client = await world.client()
        properties = Pairs(
            STRING, STRING, [(b"ApplicationName", b"Reports" * 100), (b"ClientUser", b"zed")]
        )
        request = Struct({1: (STRUCT, client.session), 2: (MAP, properties)})
        assert error_of(await client.call("SetClientInfo", request)) is None
        await client.call("CloseSession", Struct({1: (STRUCT, client.session)}))
        assert error_of(await client.call("SetClientInfo", request)) is not None

    caplog.set_level("INFO")
    play(scenario)
    (record,) = (each for each in caplog.records if "client of the session" in each.msg)
    assert record.getMessage() == "client of the session: " + ("Reports" * 100)[:128]


@pytest.mark.parametrize("name", ["GetLog", "CloseImpalaOperation", "GetQueryId"])
def test_an_unknown_method_is_an_application_exception(name: str) -> None:
    async def scenario(world: World) -> None:
        client = await world.client()
        await client.send(name, Struct())
        message = await client.receive()
        assert message.kind == 3
        assert message.body == Struct(
            {1: (11, f"Invalid method name: '{name}'".encode()), 2: (I32, 1)}
        )
        assert await client.rows("SELECT 1") == 1

    play(scenario)


def test_a_request_that_is_too_large_is_refused() -> None:
    async def scenario(world: World) -> None:
        client = await world.client()
        sql = b"SELECT '" + b"x" * (66 << 20) + b"'"
        request = Struct({1: (STRUCT, client.session), 2: (11, sql)})
        data = encode_message(
            Message("ExecuteStatement", CALL, 101, Struct({1: (STRUCT, request)}))
        )
        client.seqid = 101
        client.writer.write(len(data).to_bytes(4, "big") + data)
        message = await client.receive()
        failure = error_of(message.body.get(0))  # type: ignore[arg-type]
        assert failure is not None
        assert "[CW208]" in failure.message
        assert await client.rows("SELECT 1") == 1

    play(scenario)


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


def test_without_clusters_all_calls_go_to_the_upstream() -> None:
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
        failure = error_of(await client.execute("SELECT 1"))  # its state is lost
        assert failure is not None
        assert "[CW202]" in failure.message

    play(scenario, in_use=False)


def test_malformed_bytes_close_the_connection() -> None:
    async def scenario(world: World) -> None:
        for data in (b"GET / HTTP/1.1\r\n\r\n", b"\1\0\0\0\5PLAIN\2\0\0\0\5\0ann\0"):
            reader, writer = await asyncio.open_connection("127.0.0.1", world.endpoint.port)
            writer.write(data)
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


def test_the_schema_is_requested_after_the_statement_ended() -> None:
    """A Thrift Server that is asked before the end remembers a wrong schema."""

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
