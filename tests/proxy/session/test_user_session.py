"""Sessions over real sockets and fake clusters: opened, lost, bounded and closed."""

import pytest

from proxy.limits import Limits
from tests.proxy.fakes import World, error_of, play, until
from thriftcodec.values import I32, STRUCT, Struct


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
        assert result.get(2) == protocol
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


def test_a_vanished_client_leaves_nothing() -> None:
    async def scenario(world: World) -> None:
        world.east.sleeping |= {"SELECT long", "SELECT longer"}
        first = await world.client()
        await first.operation("SELECT long", run_async=True)
        await first.operation("SELECT * FROM w")
        second = await world.client()
        await second.send(
            "ExecuteStatement", Struct({1: (STRUCT, second.session), 2: (11, b"SELECT longer")})
        )
        await until(lambda: len(world.east.statements) == 2)
        assert (len(world.east.sessions), len(world.west.sessions)) == (2, 1)
        first.close()
        second.close()
        await until(lambda: not world.east.sessions and not world.west.sessions)
        await until(lambda: not world.east.operations and not world.west.operations)

    play(scenario)


@pytest.mark.parametrize("call", ["FetchResults", "GetTables", "CloseSession"])
def test_a_client_that_vanishes_during_a_statement_leaves_nothing(call: str) -> None:
    async def scenario(world: World) -> None:
        client = await world.client()
        operation = await client.operation("SELECT x")
        world.east.hangs_at = call
        about = operation if call == "FetchResults" else client.session
        await client.send(call, Struct({1: (STRUCT, about), 2: (I32, 0), 3: (10, 1)}))
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


def test_closing() -> None:
    async def scenario(world: World) -> None:
        client = await world.client()
        operation = await client.operation("SELECT 1")
        assert error_of(await client.on("CloseOperation", operation)) is None
        assert error_of(await client.on("CloseOperation", operation)) is not None
        await until(lambda: not world.east.operations)
        handle = Struct({1: (STRUCT, client.session)})
        assert error_of(await client.call("CloseSession", handle)) is None
        failure = error_of(await client.call("CloseSession", handle))
        assert failure is not None
        assert failure.message == "Session does not exist!"
        assert not world.east.sessions

    play(scenario)


def test_closing_a_session_cancels_its_running_statement() -> None:
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


def test_a_client_cannot_act_as_another_user() -> None:
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
