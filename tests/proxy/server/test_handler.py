"""Calls over real sockets to fake clusters: statements, metadata calls, limits, malformed bytes."""

import asyncio
from contextlib import suppress

import pytest

from conf.access.document import rules_of
from proxy.limits import Limits
from tests.proxy.fakes import Client, World, column_length, error_of, play, until
from thriftcodec.values import CALL, I32, LIST, MAP, STRING, STRUCT, Items, Message, Pairs, Struct
from thriftcodec.writer import encode_message


def test_a_silent_connection_is_closed() -> None:
    async def scenario(world: World) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", world.endpoint.port)
        with suppress(ConnectionError):
            assert await reader.read() == b""
        writer.close()

    play(scenario, Limits(negotiation=0.05))


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


def test_lists_from_the_cluster_are_refused_to_users_with_denied_tables() -> None:
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
