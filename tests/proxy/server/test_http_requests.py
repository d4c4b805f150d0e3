"""HTTP requests that are no calls are refused with a status; bodies, HEAD and time-outs."""

import contextlib

import pytest

from conf.settings.security.transports import Transport, Transports
from proxy.limits import Limits
from tests.proxy.fakes import World, error_of, play
from tests.proxy.web import ANN, CALL_BYTES, PATH, basic, post, read_reply, web


@pytest.mark.parametrize(
    ("request_bytes", "status"),
    [
        (post(CALL_BYTES), 401),
        (post(CALL_BYTES, Authorization="Basic !!!"), 401),
        (post(CALL_BYTES, Authorization=basic("ann", "")), 401),
        (post(CALL_BYTES, Authorization="Bearer abc"), 401),
        (post(CALL_BYTES, Authorization="Digest abc"), 401),
        (post(CALL_BYTES, "/elsewhere", Authorization=ANN), 404),
        (f"GET {PATH} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode(), 405),
        (post(b"", Authorization=ANN), 400),
        (post(b"not thrift at all", Authorization=ANN), 400),
        (b"nonsense\r\n\r\n", 400),
        (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 400),
        (post(b"", Authorization=ANN, Content_Length=str(2 << 30)), 413),
        (post(CALL_BYTES, Authorization=ANN, X="x" * 40_000), 431),
        (post(CALL_BYTES, **{f"X{n}": "1" for n in range(120)}), 431),
        (post(b"", Authorization=ANN) * 40, 429),
    ],
)
def test_requests_that_are_no_calls_are_refused_with_a_status(
    request_bytes: bytes, status: int
) -> None:
    async def scenario(world: World) -> None:
        async with web(world.http) as client:
            reply = await client.say(request_bytes)
            while reply.status != status:  # other requests of the same piece are answered in turn
                reply = await read_reply(client.reader)
            if status == 401:
                assert reply.header("WWW-Authenticate") == 'Basic realm="Causeway"'
            if status == 405:
                assert reply.header("Allow") == "POST"
            if reply.header("Connection") == "close":
                assert await client.reader.read() == b""

    play(scenario)


def test_a_refused_request_does_not_end_the_connection() -> None:
    async def scenario(world: World) -> None:
        async with web(world.http) as client:
            assert (await client.say(post(CALL_BYTES))).status == 401
            assert (await client.say(post(CALL_BYTES, "/x", Authorization=ANN))).status == 404
            assert error_of(await client.open()) is None

    play(scenario)


def test_the_body_of_an_unauthenticated_request_is_not_awaited() -> None:
    async def scenario(world: World) -> None:
        async with web(world.http) as client:
            reply = await client.say(post(b"", Content_Length="50000000"))
            assert reply.status == 401
            assert reply.header("Connection") == "close"

    play(scenario)


def test_a_reply_to_head_has_no_body() -> None:
    async def scenario(world: World) -> None:
        async with web(world.http) as client:
            request = f"HEAD {PATH} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode()
            assert (await client.say(request, to_head=True)).status == 405
            assert error_of(await client.open()) is None

    play(scenario)


def test_chunked_bodies_and_expect_continue() -> None:
    async def scenario(world: World) -> None:
        async with web(world.http) as client:
            head = f"POST {PATH} HTTP/1.1\r\nHost: localhost\r\nAuthorization: {ANN}\r\n"
            chunks = b"".join(b"%x\r\n%c\r\n" % (1, byte) for byte in CALL_BYTES) + b"0\r\n\r\n"
            request = (head + "Transfer-Encoding: chunked\r\n\r\n").encode()
            assert (await client.say(request + chunks)).status == 200
            length = f"Content-Length: {len(CALL_BYTES)}\r\nExpect: 100-continue\r\n\r\n"
            assert (await client.say((head + length).encode())).status == 100
            assert (await client.say(CALL_BYTES)).status == 200

    play(scenario)


def test_a_reply_is_sent_before_the_connection_closes() -> None:
    async def scenario(world: World) -> None:
        async with web(world.http) as client:
            reply = await client.say(post(CALL_BYTES, Authorization=ANN, Connection="close"))
            assert (reply.status, reply.header("Connection")) == (200, "close")
            assert await client.reader.read() == b""

    play(scenario)


@pytest.mark.parametrize(
    ("request_bytes", "status"),
    [
        (b"POST /cliservice HTTP/1.1\r\nHo", 408),
        (post(CALL_BYTES, Authorization=ANN)[:-5], 408),
    ],
)
def test_slow_requests_time_out(request_bytes: bytes, status: int) -> None:
    async def scenario(world: World) -> None:
        async with web(world.http) as client:
            assert (await client.say(request_bytes)).status == status
            assert await client.reader.read() == b""

    play(scenario, Limits(negotiation=0.1, request=0.1))


def test_silent_http_connections_are_closed() -> None:
    async def scenario(world: World) -> None:
        async with web(world.http) as silent, web(world.http) as client:
            assert await silent.reader.read() == b""
            with contextlib.suppress(ConnectionError):
                assert await client.reader.read() == b""

    play(scenario, Limits(negotiation=0.05))


def test_forged_requests_are_refused_before_authentication() -> None:
    async def protected(world: World) -> None:
        async with web(world.http) as client:
            refused = await client.say(post(CALL_BYTES, Authorization=ANN))
            assert refused.status == 400
        async with web(world.http) as client:
            headers = {"Authorization": ANN, "X-XSRF-HEADER": "true"}
            assert (await client.say(post(CALL_BYTES, **headers))).status == 200
        async with web(world.http) as client:
            headers = {"Authorization": ANN, "X-XSRF-HEADER": "true", "Host": "rebound.example"}
            assert (await client.say(post(CALL_BYTES, **headers))).status == 421

    play(protected, transports=Transports(Transport.ALL, http_port=0, xsrf=True))
