"""Calls over HTTP, over real sockets to fake clusters."""

import asyncio
import contextlib

import pytest

from conf.settings.security.transports import Transport, Transports
from proxy.auth.authenticator import NoAuthentication
from proxy.errors import AuthRejected
from proxy.limits import Limits
from tests.proxy.fakes import EAST, World, column_length, error_of, play, until
from tests.proxy.web import PATH, basic, post, read_reply, web
from thriftcodec.values import CALL, STRUCT, Message, Struct
from thriftcodec.writer import encode_message

ALL = Transports(Transport.ALL, http_port=0)
ANN = basic("ann")
CALL_BYTES = encode_message(Message("GetInfo", CALL, 7, Struct({1: (STRUCT, Struct())})))


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


# Cookies


class Counting(NoAuthentication):
    """Accepts the password, returns the short name, and records the checks."""

    def __init__(self) -> None:
        super().__init__()
        self.checked: list[str] = []

    async def password(self, user: str, password: str, peer: str) -> str:
        self.checked.append(user)
        if password != "pw":
            raise AuthRejected
        return user.partition("@")[0]

    async def bearer(self, token: str, peer: str) -> str:
        self.checked.append(token)
        if token != "good":
            raise AuthRejected
        return "ann"


def test_a_cookie_replaces_only_the_credentials_that_it_was_made_for() -> None:
    counting = Counting()

    async def scenario(world: World) -> None:
        async with web(world.http, "ann@corp") as client:
            await client.open()
            header = client.last.header("Set-Cookie") or ""
            assert header.endswith("; Max-Age=86400; HttpOnly; SameSite=Strict")
            cookie = header.partition(";")[0]
            client.headers = {"Cookie": f"other=1; {cookie}"}
            assert await client.rows("SELECT * FROM w") == 1
            assert client.last.header("Set-Cookie") is None
            client.headers["Authorization"] = basic("ann@corp", "whatever")
            assert await client.rows("SELECT * FROM w") == 1
            assert counting.checked == ["ann@corp"]
            client.headers["Authorization"] = basic("bob", "wrong")
            assert (await client.say(post(CALL_BYTES, **client.headers))).status == 401
            client.headers["Authorization"] = basic("bob")
            failure = error_of(await client.execute("SELECT * FROM w"))
            assert failure is not None  # ann's session
            forged = cookie[:-3] + "AAA"
            assert (await client.say(post(CALL_BYTES, Cookie=forged))).status == 401
        assert {user for user, _, _ in world.west.log} == {"ann"}

    play(scenario, authenticator=counting)


def test_bearer_tokens_are_checked_each_time_and_get_no_cookie() -> None:
    counting = Counting()

    async def scenario(world: World) -> None:
        async with web(world.http) as client:
            await client.open()
            cookie = (client.last.header("Set-Cookie") or "").partition(";")[0]
            client.headers = {"Authorization": "Bearer good"}
            for _ in range(3):
                assert await client.rows("SELECT * FROM w") == 1
                assert client.last.header("Set-Cookie") is None
            assert counting.checked.count("good") >= 3
            client.headers = {"Authorization": "Bearer stale", "Cookie": cookie}
            assert (await client.say(post(CALL_BYTES, **client.headers))).status == 401

    play(scenario, authenticator=counting)


def test_cookies_can_be_disabled() -> None:
    async def scenario(world: World) -> None:
        async with web(world.http) as client:
            await client.open()
            assert client.last.header("Set-Cookie") is None

    play(scenario, transports=Transports(Transport.ALL, http_port=0, cookies=False))


def test_do_as_in_the_url_needs_a_rule() -> None:
    async def scenario(world: World) -> None:
        async with web(world.http) as client:
            client.path = f"{PATH}?doAs=zed"
            failure = error_of(await client.open())
            assert failure is not None
            assert failure.sqlstate == "28000"
            client.path = f"{PATH}/?DOAS=ann"
            assert error_of(await client.open()) is None
        assert world.east.log == []

    play(scenario)


# Time-outs


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


def test_an_idle_connection_is_closed_and_its_session_stays() -> None:
    async def scenario(world: World) -> None:
        async with web(world.http) as client:
            await client.open()
            assert await client.reader.read() == b""
        async with web(world.http) as again:
            again.session = client.session
            assert await again.rows("SELECT * FROM w") == 1

    play(scenario, transports=Transports(Transport.ALL, http_port=0, http_idle=0.5))


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
