"""Silent clients keep no others out, and hold little memory."""

import asyncio
import os

import pytest

from proxy.auth.authenticator import NoAuthentication
from proxy.limits import Limits
from proxy.protocol.framing import client_negotiation
from proxy.server.receive_budget import SMALL
from tests.proxy.fakes import World, play, until
from tests.proxy.test_limits import refused_connection

FEW = Limits(client_connections=4, new_connections=10, new_connections_per_address=6)
Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


async def silent(world: World, count: int, http: bool = False) -> list[Streams]:
    endpoint = world.http if http else world.endpoint
    return [await asyncio.open_connection(endpoint.host, endpoint.port) for _ in range(count)]


async def is_gone(reader: asyncio.StreamReader, patience: float) -> bool:
    """Whether the connection ends within this time in seconds."""
    try:
        async with asyncio.timeout(patience):
            while await reader.read(1 << 16):
                pass
            return True
    except ConnectionError:
        return True
    except TimeoutError:
        return False


def hang_up(streams: list[Streams]) -> None:
    for _, writer in streams:
        writer.transport.abort()


@pytest.mark.parametrize("http", [False, True])
def test_silent_clients_do_not_keep_others_out(http: bool) -> None:
    async def scenario(world: World) -> None:
        opened = await silent(world, 30, http)
        clients = [await world.client(f"user{number}") for number in range(3)]
        for each in clients:
            assert await each.rows("SELECT 1") == 1
        assert await is_gone(opened[0][0], 60.0)  # the oldest connection was closed
        hang_up(opened)

    play(scenario, FEW)


def test_silent_clients_take_no_place_of_logged_in_clients() -> None:
    async def scenario(world: World) -> None:
        first = await world.client()
        opened = await silent(world, 30)
        assert await first.rows("SELECT 1") == 1
        others = [await world.client() for _ in range(3)]
        assert (await refused_connection(world)).startswith("[CW207] ")
        for each in (first, *others):
            assert await each.rows("SELECT 1") == 1
        hang_up(opened)

    play(scenario, FEW)


def test_clients_that_never_log_in_free_their_places() -> None:
    async def scenario(world: World) -> None:
        for _ in range(5):
            hang_up(await silent(world, 6))
            await asyncio.sleep(0.02)
        assert await (await world.client()).rows("SELECT 1") == 1

    play(scenario, FEW)


def test_a_newcomer_does_not_replace_a_client_that_is_authenticating() -> None:
    asked, go_on = asyncio.Event(), asyncio.Event()

    class Slow(NoAuthentication):
        async def password(self, user: str, password: str, peer: str) -> str:
            asked.set()
            await go_on.wait()
            return user

    async def scenario(world: World) -> None:
        coming = asyncio.ensure_future(world.client())
        await asked.wait()
        opened = await silent(world, 30)
        assert await is_gone(opened[0][0], 60.0)
        go_on.set()
        assert await (await coming).rows("SELECT 1") == 1
        hang_up(opened)

    play(scenario, FEW, authenticator=Slow())


def test_an_unfinished_frame_times_out() -> None:
    async def scenario(world: World) -> None:
        client = await world.client()
        client.writer.write((1 << 20).to_bytes(4, "big") + b"x" * 1000)
        assert await is_gone(client.reader, 60.0)

    play(scenario, Limits(request=0.1))


@pytest.mark.slow
def test_a_slow_frame_that_ends_in_time_is_served() -> None:
    async def scenario(world: World) -> None:
        client = await world.client()
        for _ in range(4):
            await client.rows("SELECT 1")
            await asyncio.sleep(0.6)

    play(scenario, Limits(request=1.0))


def test_unfinished_frames_stay_within_the_budget() -> None:
    half = (60 << 20).to_bytes(4, "big") + os.urandom(16) * (8 * SMALL // 16)

    async def scenario(world: World) -> None:
        worker = await world.client("eve", opened=False)
        others = [await world.client("eve", opened=False) for _ in range(9)]
        for each in (worker, *others):
            each.writer.write(half)
        ends = [asyncio.ensure_future(is_gone(each.reader, 60.0)) for each in (worker, *others)]
        await until(lambda: sum(each.done() for each in ends) >= 6)
        for each in ends:
            each.cancel()
        honest = await world.client("ann")
        assert await honest.rows("SELECT '" + "x" * (2 * SMALL) + "'") == 1

    play(scenario, Limits(buffered=32 * SMALL))


def test_an_unfinished_http_body_counts() -> None:
    head = b"POST /cliservice HTTP/1.1\r\nHost: localhost\r\nAuthorization: Basic YW5uOnB3\r\n"
    head += b"Content-Length: 60000000\r\n\r\n"

    async def scenario(world: World) -> None:
        streams = await silent(world, 4, http=True)
        for _, writer in streams:
            writer.write(head)
            await asyncio.sleep(0.05)
            writer.write(b"x" * (20 * SMALL))
        assert await is_gone(streams[0][0], 60.0)
        assert not await is_gone(streams[-1][0], 0.1)
        hang_up(streams)

    play(scenario, Limits(buffered=32 * SMALL))


def test_endless_negotiations_are_closed() -> None:
    async def scenario(world: World) -> None:
        (reader, writer), *_ = opened = await silent(world, 2)
        writer.write(client_negotiation("ann", "pw")[:9])
        assert await is_gone(reader, 60.0)
        hang_up(opened)

    play(scenario, Limits(negotiation=0.1))
