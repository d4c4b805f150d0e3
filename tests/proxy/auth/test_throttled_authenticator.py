"""The gate: failures are counted and told to nobody but the log, and no secret is in that."""

import asyncio
import logging
import threading

import pytest

from proxy.auth.errors import AuthBackendUnavailable, BadCredentials
from proxy.auth.login_throttle import Bounds, LoginThrottle
from proxy.auth.throttled_authenticator import ThrottledAuthenticator
from proxy.errors import AuthRejected
from proxy.server.sasl_transport import SecurityLayer
from tests.proxy.fakes import until

SECRET = "hunter2-secret"


class Known:
    """Passwords and tokens in one: ann's is SECRET, and of `slow` it thinks until told."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.go_on = threading.Event()

    def check(self, user: str, password: str = "", found: object = None) -> str:
        self.asked.append(user)
        if user == "slow":
            self.go_on.wait(10)
        if user == "unsure":
            raise AuthBackendUnavailable("it does not answer")
        if password != SECRET:
            raise BadCredentials("wrong")
        return user


class Steps:
    """GssapiServer that never come to an end."""

    layer: SecurityLayer | None = None

    def step(self, token: bytes) -> tuple[bytes, str | None]:
        return token, None

    def sasl(self) -> "Steps":
        return self

    def spnego(self) -> "Steps":
        return self


def gate(known: Known, burst: int = 3) -> ThrottledAuthenticator:
    bounds = Bounds(burst, 1000.0)
    return ThrottledAuthenticator(
        frozenset(("PLAIN",)), known, Steps(), None, LoginThrottle(bounds, Bounds(100, 1000.0))
    )


async def refused(
    asking: ThrottledAuthenticator, user: str, password: str = "no", peer: str = "p"
) -> None:
    with pytest.raises(AuthRejected) as error:
        await asking.password(user, password, peer)
    assert str(error.value) == "[CW213] Not let in."
    assert error.value.__cause__ is None


def test_failures_are_limited_and_the_rest_is_not_even_asked() -> None:
    async def scenario() -> None:
        known = Known()
        asking = gate(known)
        for _ in range(10):
            await refused(asking, "ann")
        assert len(known.asked) == 3
        await refused(asking, "ann", SECRET)  # the right one as little: it would tell
        assert await asking.password("bob", SECRET, "p") == "bob"

    asyncio.run(scenario())


def test_a_directory_that_does_not_answer_is_nobodys_failure() -> None:
    async def scenario() -> None:
        known = Known()
        asking = gate(known)
        for _ in range(10):
            await refused(asking, "unsure")
        assert len(known.asked) == 10

    asyncio.run(scenario())


def test_guesses_at_once_are_counted_too() -> None:
    async def scenario() -> None:
        known = Known()
        asking = gate(known)
        await asyncio.gather(*(refused(asking, "ann") for _ in range(500)))
        assert len(known.asked) <= 3 + 16

    asyncio.run(scenario())


def test_who_waits_for_a_thread_and_goes_is_forgotten() -> None:
    async def scenario() -> None:
        known = Known()
        asking = gate(known)
        async with asyncio.TaskGroup() as group:
            tasks = [
                group.create_task(asking.password("slow", SECRET, str(at))) for at in range(100)
            ]
            await until(lambda: len(known.asked) == 16)
            for task in tasks:
                task.cancel()
            await asyncio.sleep(0)
            known.go_on.set()
            assert await asking.password("ann", SECRET, "p") == "ann"
        assert known.asked.count("slow") == 16

    asyncio.run(scenario())


def test_what_is_not_offered() -> None:
    async def scenario() -> None:
        asking = gate(Known())
        with pytest.raises(AuthRejected):
            await asking.bearer("x", "p")
        nothing = ThrottledAuthenticator(frozenset())
        with pytest.raises(AuthRejected):
            await nothing.password("ann", SECRET, "p")
        with pytest.raises(AuthRejected):
            nothing.gssapi("p")

    asyncio.run(scenario())


def test_a_negotiation_has_an_end() -> None:
    async def scenario() -> None:
        acceptor = gate(Known()).gssapi("p")
        for _ in range(8):
            assert await acceptor.step(b"x") == (b"x", None)
        with pytest.raises(AuthRejected):
            await acceptor.step(b"x")
        with pytest.raises(AuthRejected):
            await gate(Known()).gssapi("p").step(bytes(1 << 20))

    asyncio.run(scenario())


def test_the_log_has_the_reason_and_no_secret(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)

    async def scenario() -> None:
        asking = gate(Known())
        await refused(asking, "ann\nINFO root: all is well", SECRET + "x", "10.0.0.9")

    asyncio.run(scenario())
    assert "refused: wrong" in caplog.text
    assert "\\nINFO root" in caplog.text
    assert SECRET not in caplog.text


def test_one_person_has_one_count_whatever_is_typed() -> None:
    async def scenario() -> None:
        known = Known()
        asking = gate(known)
        spellings = ["ann", "ANN", "\uff41nn", "ann@x", "a\u0301nn", "ann\ufe0f", " ann", "Ann"]
        for peer, name in enumerate(spellings):
            await refused(asking, name, peer=str(peer))
        assert len(known.asked) == 3
        await refused(asking, "ANN", SECRET, "elsewhere")
        assert await asking.password("bob", SECRET, "p") == "bob"

    asyncio.run(scenario())


class Aliases(Known):
    """A directory in which every name finds the same entry."""

    def check(self, user: str, password: str = "", found: object = None) -> str:
        assert callable(found)
        found("uid=ann,dc=example")
        return super().check(user, password)


def test_a_directorys_entry_has_one_count_whatever_names_it_has() -> None:
    async def scenario() -> None:
        known = Aliases()
        asking = gate(known)
        for number in range(10):
            await refused(asking, f"alias{number}", peer=str(number))
        assert len(known.asked) == 3

    asyncio.run(scenario())
