"""Failures are counted; their reasons are in the log only, which contains no secrets."""

import asyncio
import logging
import threading

import pytest

from proxy.auth.login_throttle import FailureLimit, LoginThrottle
from proxy.auth.throttled_authenticator import ThrottledAuthenticator
from proxy.errors import AuthRejected
from saslauth.errors import AuthBackendUnavailable, BadCredentials
from saslauth.security_layer import SecurityLayer
from tests.proxy.fakes import until

SECRET = "hunter2-secret"


class RecordingBackend:
    """Accepts SECRET as password and token; waits for `slow` until the test continues it."""

    def __init__(self) -> None:
        self.checked: list[str] = []
        self.go_on = threading.Event()

    def check(self, user: str, password: str = "", found: object = None) -> str:
        self.checked.append(user)
        if user == "slow":
            self.go_on.wait(60)
        if user == "unsure":
            raise AuthBackendUnavailable("it does not answer")
        if password != SECRET:
            raise BadCredentials("wrong")
        return user


class Steps:
    """A GSSAPI negotiation without an end."""

    layer: SecurityLayer | None = None

    def step(self, token: bytes) -> tuple[bytes, str | None]:
        return token, None

    def sasl(self) -> "Steps":
        return self

    def spnego(self) -> "Steps":
        return self


def throttled(backend: RecordingBackend, burst: int = 3) -> ThrottledAuthenticator:
    bounds = FailureLimit(burst, 1000.0)
    return ThrottledAuthenticator(
        frozenset(("PLAIN",)),
        backend,
        Steps(),
        None,
        LoginThrottle(bounds, FailureLimit(100, 1000.0)),
    )


async def refused(
    authenticator: ThrottledAuthenticator, user: str, password: str = "no", peer: str = "p"
) -> None:
    with pytest.raises(AuthRejected) as error:
        await authenticator.password(user, password, peer)
    assert str(error.value) == "[CW213] The login was rejected."
    assert error.value.__cause__ is None


def test_after_too_many_failures_the_back_end_is_not_called() -> None:
    async def scenario() -> None:
        backend = RecordingBackend()
        authenticator = throttled(backend)
        for _ in range(10):
            await refused(authenticator, "ann")
        assert len(backend.checked) == 3
        await refused(authenticator, "ann", SECRET)  # the right password is not checked either
        assert await authenticator.password("bob", SECRET, "p") == "bob"

    asyncio.run(scenario())


def test_an_unavailable_backend_does_not_count_as_a_failure() -> None:
    async def scenario() -> None:
        backend = RecordingBackend()
        authenticator = throttled(backend)
        for _ in range(10):
            await refused(authenticator, "unsure")
        assert len(backend.checked) == 10

    asyncio.run(scenario())


def test_concurrent_guesses_are_counted() -> None:
    async def scenario() -> None:
        backend = RecordingBackend()
        authenticator = throttled(backend)
        await asyncio.gather(*(refused(authenticator, "ann") for _ in range(500)))
        assert len(backend.checked) <= 3 + 16

    asyncio.run(scenario())


def test_a_cancelled_login_that_waits_for_a_thread_does_not_run() -> None:
    async def scenario() -> None:
        backend = RecordingBackend()
        authenticator = throttled(backend)
        async with asyncio.TaskGroup() as group:
            tasks = [
                group.create_task(authenticator.password("slow", SECRET, str(address)))
                for address in range(100)
            ]
            await until(lambda: len(backend.checked) == 16)
            for task in tasks:
                task.cancel()
            await asyncio.sleep(0)
            backend.go_on.set()
            assert await authenticator.password("ann", SECRET, "p") == "ann"
        assert backend.checked.count("slow") == 16

    asyncio.run(scenario())


def test_methods_that_are_not_offered_are_rejected() -> None:
    async def scenario() -> None:
        authenticator = throttled(RecordingBackend())
        with pytest.raises(AuthRejected):
            await authenticator.bearer("x", "p")
        nothing = ThrottledAuthenticator(frozenset())
        with pytest.raises(AuthRejected):
            await nothing.password("ann", SECRET, "p")
        with pytest.raises(AuthRejected):
            nothing.gssapi("p")

    asyncio.run(scenario())


def test_a_negotiation_has_a_maximum_of_steps() -> None:
    async def scenario() -> None:
        acceptor = throttled(RecordingBackend()).gssapi("p")
        for _ in range(8):
            assert await acceptor.step(b"x") == (b"x", None)
        with pytest.raises(AuthRejected):
            await acceptor.step(b"x")
        with pytest.raises(AuthRejected):
            await throttled(RecordingBackend()).gssapi("p").step(bytes(1 << 20))

    asyncio.run(scenario())


def test_the_log_contains_the_reason_and_no_secret(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)

    async def scenario() -> None:
        authenticator = throttled(RecordingBackend())
        await refused(authenticator, "ann\nINFO root: all is well", SECRET + "x", "10.0.0.9")

    asyncio.run(scenario())
    assert "refused: wrong" in caplog.text
    assert "\\nINFO root" in caplog.text
    assert SECRET not in caplog.text


def test_spellings_of_one_name_share_a_count() -> None:
    async def scenario() -> None:
        backend = RecordingBackend()
        authenticator = throttled(backend)
        spellings = ["ann", "ANN", "\uff41nn", "ann@x", "a\u0301nn", "ann\ufe0f", " ann", "Ann"]
        for peer, name in enumerate(spellings):
            await refused(authenticator, name, peer=str(peer))
        assert len(backend.checked) == 3
        await refused(authenticator, "ANN", SECRET, "elsewhere")
        assert await authenticator.password("bob", SECRET, "p") == "bob"

    asyncio.run(scenario())


class Aliases(RecordingBackend):
    """A directory that finds the same entry for every name."""

    def check(self, user: str, password: str = "", found: object = None) -> str:
        assert callable(found)
        found("uid=ann,dc=example")
        return super().check(user, password)


def test_all_names_of_a_directory_entry_share_a_count() -> None:
    async def scenario() -> None:
        backend = Aliases()
        authenticator = throttled(backend)
        for number in range(10):
            await refused(authenticator, f"alias{number}", peer=str(number))
        assert len(backend.checked) == 3

    asyncio.run(scenario())
