"""Clients above a limit receive the reason; idle sessions are closed, also in the clusters."""

import asyncio

import pytest

from proxy.limits import Limits
from proxy.protocol.framing import client_negotiation
from proxy.protocol.messages import decode_message
from saslauth.negotiation import COMPLETE
from tests.proxy.fakes import Client, World, error_of, play, until
from thriftcodec.values import STRING, STRUCT, Struct


async def refusal(world: World, user: str) -> str:
    client = await world.client(user, opened=False)
    failure = error_of(await client.open())
    return failure.message if failure is not None else ""


@pytest.mark.parametrize(
    ("limits", "user"),
    [
        (Limits(sessions_per_user=2), "The user ann"),
        (Limits(sessions_per_address=2), "The address 127.0.0.1"),
        (Limits(sessions_per_user_address=2), "The user ann at 127.0.0.1"),
    ],
)
def test_sessions(limits: Limits, user: str) -> None:
    async def scenario(world: World) -> None:
        first, second = await world.client(), await world.client()
        assert f"[CW207] {user} has 2 sessions" in await refusal(world, "ann")
        refused = await refusal(world, "bob")
        assert bool(refused) is ("user" not in user)
        assert await second.rows("SELECT 1") == 1
        await first.call("CloseSession", Struct({1: (STRUCT, first.session)}))
        assert await refusal(world, "ann") == ""

    play(scenario, limits)


def test_running_statements() -> None:
    async def scenario(world: World) -> None:
        world.east.sleeping.add("SELECT long")
        ann, again, bob = [await world.client(user) for user in ("ann", "ann", "bob")]
        operation = await ann.operation("SELECT long", run_async=True)
        for client in (ann, again):
            failure = error_of(await client.execute("SELECT 1"))
            assert failure is not None
            assert "[CW207] The user ann has 1 statements running" in failure.message
            assert failure.sqlstate == "53300"
        assert await bob.rows("SELECT 1") == 1
        await ann.on("CancelOperation", operation)
        await until(lambda: "SELECT long" not in [o.sql for o in running(world)])
        while error_of(await again.execute("SELECT 1")) is not None:  # noqa: ASYNC110
            await asyncio.sleep(0.01)  # until the proxy has seen the end

    play(scenario, Limits(statements_per_user=1, linger=0.0))


def test_pipelined_statements_count_one_at_a_time() -> None:
    async def scenario(world: World) -> None:
        client = await world.client()
        request = Struct({1: (STRUCT, client.session), 2: (STRING, b"SELECT 1")})
        for _ in range(6):
            await client.send("ExecuteStatement", request)
        for _ in range(6):
            length = int.from_bytes(await client.reader.readexactly(4), "big")
            reply = decode_message(await client.reader.readexactly(length))
            assert "[CW" not in str(reply.body)

    play(scenario, Limits(statements_per_user=1, linger=0.0))


def running(world: World) -> list:
    return [each for each in world.east.operations.values() if not each.changed.is_set()]


async def refused_connection(world: World) -> str:
    """The reason why a connection is rejected; empty if it is not."""
    reader, writer = await asyncio.open_connection("127.0.0.1", world.endpoint.port)
    writer.write(client_negotiation("ann", "pw"))
    status, length = (head := await reader.readexactly(5))[0], int.from_bytes(head[1:], "big")
    reason = (await reader.readexactly(length)).decode()
    accepted = status == COMPLETE
    if not accepted:
        assert await reader.read() == b""
    writer.transport.abort()
    return "" if accepted else reason


@pytest.mark.parametrize(
    "limits", [Limits(client_connections=2), Limits(connections_per_address=2)]
)
def test_connections(limits: Limits) -> None:
    async def scenario(world: World) -> None:
        first, second = await world.client(), await world.client()
        assert (await refused_connection(world)).startswith("[CW207] ")
        assert await second.rows("SELECT 1") == 1
        first.close()
        for _ in range(1000):
            if not await refused_connection(world):
                return
        raise AssertionError("no client is let in any more")

    play(scenario, limits)


def test_over_http_a_limit_is_an_answer_of_http() -> None:
    async def scenario(world: World) -> None:
        await world.client()
        reader, writer = await asyncio.open_connection("127.0.0.1", world.http.port)
        writer.write(b"POST /cliservice HTTP/1.1\r\nHost: localhost\r\n\r\n")
        reply = await reader.read()
        writer.transport.abort()
        assert reply.startswith(b"HTTP/1.1 503 ")

    play(scenario, Limits(client_connections=1))


@pytest.mark.slow
def test_a_session_that_is_idle_is_closed_here_and_in_its_clusters() -> None:
    async def scenario(world: World) -> None:
        idle, busy = await world.client(), await world.client("bob")
        await idle.operation("SELECT 1")
        await busy.operation("SELECT 1")
        world.east.sleeping.add("SELECT long")
        await busy.operation("SELECT long", run_async=True)
        assert len(world.east.sessions) == 2
        await until(lambda: len(world.east.sessions) == 1)
        failure = error_of(await idle.execute("SELECT 1"))
        assert failure is not None
        assert "Invalid SessionHandle" in failure.message
        assert error_of(await busy.execute("SELECT 1")) is None

    play(scenario, Limits(idle_session=2.0, check_interval=0.02))


@pytest.mark.slow
def test_a_session_with_a_running_call_is_not_idle() -> None:
    async def scenario(world: World) -> None:
        client = await world.client()
        operation = await client.operation("SELECT 1")
        for _ in range(25):
            await client.on("GetOperationStatus", operation)
            await asyncio.sleep(0.1)
        assert await client.rows("SELECT 1") == 1

    play(scenario, Limits(idle_session=2.0, check_interval=0.02))


@pytest.mark.slow
def test_a_session_with_a_slow_cluster_is_not_idle() -> None:
    async def scenario(world: World) -> None:
        asking, idle = await world.client(), await world.client("bob")
        world.east.hangs_at = "GetSchemas"
        await asking.send("GetSchemas", Struct({1: (STRUCT, asking.session)}))
        await until(lambda: world.east.log[-1:] == [("ann", "GetSchemas", "hangs")])
        await idle.operation("SELECT 1")
        assert len(world.east.sessions) == 2
        await until(lambda: len(world.east.sessions) == 1)
        again = await world.client()
        again.session = asking.session
        assert error_of(await again.execute("USE CLUSTER")) is None

    play(scenario, Limits(idle_session=2.0, check_interval=0.02))


@pytest.mark.parametrize(("timeout", "kept"), [(0.5, {"SELECT long"}), (-0.5, set())])
def test_idle_operations(timeout: float, kept: set[str]) -> None:
    async def scenario(world: World) -> None:
        world.east.sleeping.add("SELECT long")
        client = await world.client()
        await client.operation("SELECT long", run_async=True)
        await client.operation("SELECT 1")
        await until(lambda: {each.sql for each in world.east.operations.values()} == kept)
        assert await client.rows("SELECT 1") == 1

    play(scenario, Limits(idle_operation=timeout, check_interval=0.02))


def test_a_session_that_cannot_begin_is_not_counted() -> None:
    async def scenario(world: World) -> None:
        client: Client = await world.client(opened=False)
        for _ in range(3):
            assert error_of(await client.open(use__database="nowhere")) is not None
        assert error_of(await client.open()) is None

    play(scenario, Limits(sessions_per_user=1))
