"""Calls over HTTP, over real sockets to fake clusters: sessions and connections."""

import asyncio
import contextlib

import pytest

from conf.settings.security.transports import Transport, Transports
from proxy.limits import Limits
from tests.proxy.fakes import EAST, World, column_length, error_of, play, until
from tests.proxy.web import web
from thriftcodec.values import STRUCT, Struct


def test_a_session_over_http_runs_statements_as_its_user() -> None:
    async def scenario(world: World) -> None:
        async with web(world.http, "zoe") as client:
            assert error_of(await client.open()) is None
            assert await client.rows("SELECT * FROM w") == 1
        assert {user for user, _, _ in world.west.log} == {"zoe"}

    play(scenario)


def test_a_session_outlives_its_connection() -> None:
    async def scenario(world: World) -> None:
        async with web(world.http) as client:
            await client.open()
            operation = await client.operation("SELECT * FROM w")
            session = client.session
        async with web(world.http) as again:
            again.session = session
            assert column_length(await again.on("FetchResults", operation)) == 1
            assert await again.rows("SELECT * FROM w") == 1
            assert (
                error_of(await again.call("CloseSession", Struct({1: (STRUCT, session)}))) is None
            )
        await until(lambda: not world.west.sessions)

    play(scenario)


@pytest.mark.slow
def test_an_abandoned_session_is_closed() -> None:
    async def scenario(world: World) -> None:
        async with web(world.http) as client:
            await client.open()
            assert await client.rows("SELECT * FROM w") == 1
        assert world.west.sessions
        await until(lambda: not world.west.sessions)
        async with web(world.http) as again:
            again.session = client.session
            failure = error_of(await again.execute("SELECT * FROM w"))
            assert failure is not None
            assert failure.message.startswith("Invalid SessionHandle")

    play(scenario, Limits(idle_session=1.0, check_interval=0.02))


def test_a_session_is_usable_over_both_transports_by_its_user_only() -> None:
    async def scenario(world: World) -> None:
        async with web(world.http) as client:
            await client.open()
            ann = await world.client("ann")
            ann.session = client.session
            assert await ann.rows("SELECT * FROM w") == 1
        async with web(world.http, "bob") as other:
            other.session = client.session
            failure = error_of(await other.execute("SELECT * FROM w"))
            assert failure is not None
            assert failure.message.startswith("Invalid SessionHandle")

    play(scenario)


def test_a_disconnect_during_a_fetch_keeps_the_session_usable() -> None:
    async def scenario(world: World) -> None:
        world.west.counts["SELECT * FROM w"] = 5000
        world.west.drip = 400_000
        async with web(world.http) as client:
            await client.open()
            operation = await client.operation("SELECT * FROM w")
            await client.send(
                "FetchResults", Struct({1: (STRUCT, operation), 2: (8, 0), 3: (10, 5000)})
            )
            await client.reader.readexactly(1000)
        async with web(world.http) as again:
            again.session = client.session
            result = await again.on("FetchResults", operation, orientation=4, rows=2)
            assert column_length(result) == 2
            assert [call for _, call, _ in world.west.log].count("OpenSession") == 1

    play(scenario)


def test_a_result_is_not_made_again_after_a_part_of_a_reply() -> None:
    async def scenario(world: World) -> None:
        world.metastore.fresh["default.w"] = EAST
        world.west.counts["SELECT * FROM w"] = 5000
        world.west.stalls_after = 400_000
        async with web(world.http) as client:
            await client.open()
            await client.operation("SELECT * FROM e")  # a session is open in the other cluster
            operation = await client.operation("SELECT * FROM w")
            await client.send(
                "FetchResults", Struct({1: (STRUCT, operation), 2: (8, 0), 3: (10, 5000)})
            )
            await client.reader.readexactly(1000)
            await world.west.stop()
            with contextlib.suppress(ConnectionError):
                await client.reader.read(-1)
        async with web(world.http) as again:
            again.session = client.session
            failure = error_of(await again.on("FetchResults", operation))
            assert failure is not None
            assert failure.message.startswith("[CW202]")
        assert world.east.statements == ["SELECT * FROM e"]

    play(scenario)


def test_large_results_with_a_slow_reader_arrive_whole() -> None:
    async def scenario(world: World) -> None:
        world.west.counts["SELECT * FROM w"] = 20_000
        async with web(world.http) as client:
            await client.open()
            operation = await client.operation("SELECT * FROM w")
            await client.send(
                "FetchResults", Struct({1: (STRUCT, operation), 2: (8, 0), 3: (10, 20_000)})
            )
            await asyncio.sleep(0.2)
            message = await client.receive()
            result = message.body.get(0)
            assert isinstance(result, Struct)
            assert column_length(result) == 20_000
            assert len(client.last.body) == int(client.last.header("Content-Length") or 0)

    play(scenario)


def test_a_disconnect_during_a_synchronous_statement_leaves_no_operation() -> None:
    async def scenario(world: World) -> None:
        async with web(world.http) as client:
            await client.open()
            world.west.sleeping.add("SELECT * FROM w")
            await client.send(
                "ExecuteStatement",
                Struct({1: (STRUCT, client.session), 2: (11, b"SELECT * FROM w")}),
            )
            await until(lambda: bool(world.west.operations))
        (operation,) = world.west.operations.values()
        world.west.end(operation)
        await until(lambda: not world.west.operations)
        assert world.west.sessions

    play(scenario)


def test_an_idle_connection_is_closed_and_its_session_stays() -> None:
    async def scenario(world: World) -> None:
        async with web(world.http) as client:
            await client.open()
            assert await client.reader.read() == b""
        async with web(world.http) as again:
            again.session = client.session
            assert await again.rows("SELECT * FROM w") == 1

    play(scenario, transports=Transports(Transport.ALL, http_port=0, http_idle=0.5))
