"""Log-ins over real sockets: a slow back end does not block other clients."""

import asyncio
from contextlib import suppress

from proxy.auth.authenticator import NoAuthentication
from proxy.errors import AuthRejected
from proxy.limits import Limits
from proxy.protocol.framing import MAX_EARLY, client_negotiation
from saslauth.negotiation import GSSAPI
from saslauth.security_layer import SecurityLayer
from tests.proxy.fakes import World, play, until
from thriftcodec.values import I32, Struct

NO = b"Error validating the login"


class Doorman(NoAuthentication):
    """Accepts ann, waits for `slow` until the test ends it, and rejects all others."""

    def __init__(self) -> None:
        super().__init__()
        self.thinking: list[str] = []
        self.gave_up: list[str] = []
        self.decided = asyncio.Event()

    async def password(self, user: str, password: str, peer: str) -> str:
        assert peer == "127.0.0.1"
        if user.startswith("slow"):
            self.thinking.append(user)
            try:
                await self.decided.wait()
            except asyncio.CancelledError:
                self.gave_up.append(user)
                raise
            return user
        if user != "ann":
            raise AuthRejected
        return "anna"


def test_the_client_has_the_name_that_the_backend_returned() -> None:
    async def scenario(world: World) -> None:
        client = await world.client("ann")
        assert await client.rows("SELECT 1") == 1
        assert world.east.log[0][0] == "anna"

    play(scenario, authenticator=Doorman())


def test_a_rejected_client_receives_no_reason() -> None:
    async def scenario(world: World) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", world.endpoint.port)
        writer.write(client_negotiation("bob", "pw") + b"\0\0\0\1x")
        assert await reader.read() == b"\3" + len(NO).to_bytes(4, "big") + NO
        writer.close()

    play(scenario, authenticator=Doorman())


def test_a_slow_backend_does_not_block_other_clients() -> None:
    doorman = Doorman()

    async def scenario(world: World) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", world.endpoint.port)
        writer.write(client_negotiation("slow", "pw"))
        await until(lambda: doorman.thinking == ["slow"])
        other = await world.client("ann")
        assert await other.rows("SELECT 1") == 1
        doorman.decided.set()
        assert await reader.readexactly(5) == b"\5\0\0\0\0"
        writer.close()

    play(scenario, authenticator=doorman)


def test_a_disconnect_cancels_the_check() -> None:
    doorman = Doorman()

    async def scenario(world: World) -> None:
        _, writer = await asyncio.open_connection("127.0.0.1", world.endpoint.port)
        writer.write(client_negotiation("slow", "pw"))
        await until(lambda: doorman.thinking == ["slow"])
        writer.transport.abort()
        await until(lambda: doorman.gave_up == ["slow"])

    play(scenario, authenticator=doorman)


def test_a_check_without_an_answer_times_out() -> None:
    doorman = Doorman()

    async def scenario(world: World) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", world.endpoint.port)
        writer.write(client_negotiation("slow", "pw"))
        assert await reader.read() == b""
        assert doorman.gave_up == ["slow"]
        writer.close()

    play(scenario, Limits(negotiation=0.05), authenticator=doorman)


def test_a_client_that_sends_too_much_during_the_check_is_closed() -> None:
    doorman = Doorman()

    async def scenario(world: World) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", world.endpoint.port)
        writer.write(client_negotiation("slow", "pw") + bytes(MAX_EARLY + 1))
        with suppress(ConnectionError):  # the rest of its bytes was not read
            assert await reader.read() == b""
        await until(lambda: doorman.gave_up == doorman.thinking)
        writer.close()

    play(scenario, authenticator=doorman)


def test_calls_sent_during_the_check_are_answered_after_it() -> None:
    doorman = Doorman()

    async def scenario(world: World) -> None:
        client = await world.client("slow", opened=False, greeted=False)
        await client.send("OpenSession", Struct({1: (I32, 5)}))
        await until(lambda: doorman.thinking == ["slow"])
        doorman.decided.set()
        assert await client.reader.readexactly(5) == b"\5\0\0\0\0"
        assert (await client.receive()).name == "OpenSession"

    play(scenario, authenticator=doorman)


class GssapiServer(NoAuthentication):
    """Accepts two tokens and returns a name; rejects the token `bad`."""

    layer: SecurityLayer | None = None

    async def step(self, token: bytes) -> tuple[bytes, str | None]:
        if token == b"bad":
            raise AuthRejected
        return token.upper(), "ann" if token == b"two" else None

    def gssapi(self, peer: str) -> "GssapiServer":
        return self


def sasl_step(status: int, payload: bytes) -> bytes:
    return bytes((status,)) + len(payload).to_bytes(4, "big") + payload


def test_tokens_are_exchanged_until_accepted() -> None:
    async def scenario(world: World) -> None:
        for last, reply in ((b"two", sasl_step(5, b"TWO")), (b"bad", sasl_step(3, NO))):
            reader, writer = await asyncio.open_connection("127.0.0.1", world.endpoint.port)
            writer.write(sasl_step(1, b"GSSAPI") + sasl_step(2, b"one"))
            assert await reader.readexactly(8) == sasl_step(2, b"ONE")
            writer.write(sasl_step(2, last))
            assert await reader.readexactly(len(reply)) == reply
            writer.close()

    play(scenario, authenticator=GssapiServer(frozenset((GSSAPI,))))
