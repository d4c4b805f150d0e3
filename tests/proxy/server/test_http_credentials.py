"""Passwords, cookies and bearer tokens of HTTP requests."""

from conf.settings.security.transports import Transport, Transports
from proxy.auth.authenticator import NoAuthentication
from proxy.errors import AuthRejected
from tests.proxy.fakes import World, error_of, play
from tests.proxy.web import CALL_BYTES, PATH, basic, post, web


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
