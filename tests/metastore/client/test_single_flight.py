"""Sharing of loads, step by step."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from metastore.client.single_flight import SingleFlight
from metastore.errors import MetastoreDown


class Loads:
    """Loads that land when the test says so."""

    def __init__(self) -> None:
        self.started: list[asyncio.Future[str]] = []
        self.flights: SingleFlight[str, str] = SingleFlight(self.start)

    def start(self, key: str) -> "asyncio.Future[str]":
        self.started.append(asyncio.get_running_loop().create_future())
        return self.started[-1]

    def ask(self) -> "asyncio.Future[str]":
        return asyncio.ensure_future(self.flights.ask("k"))


def _run(scenario: Callable[[Loads], Awaitable[None]]) -> None:
    async def run() -> None:
        await scenario(Loads())

    asyncio.run(run())


async def _settle() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


def test_a_caller_during_a_load_gets_a_later_load() -> None:
    async def scenario(loads: Loads) -> None:
        first = loads.ask()
        await _settle()
        later = [loads.ask() for _ in range(10)]
        await _settle()
        assert len(loads.started) == 1
        loads.started[0].set_result("old")
        await _settle()
        assert len(loads.started) == 2
        loads.started[1].set_result("new")
        assert await first == "old"
        assert {await each for each in later} == {"new"}

    _run(scenario)


def test_a_failure_reaches_all_callers_and_the_next_loads_again() -> None:
    async def scenario(loads: Loads) -> None:
        first = loads.ask()
        await _settle()
        second = loads.ask()
        await _settle()
        loads.started[0].set_exception(MetastoreDown("down"))
        await _settle()
        loads.started[1].set_exception(MetastoreDown("down"))
        for each in (first, second):
            with pytest.raises(MetastoreDown):
                await each
        third = loads.ask()
        await _settle()
        loads.started[2].set_result("up")
        assert await third == "up"

    _run(scenario)


def test_a_cancelled_reader_cancels_no_other() -> None:
    async def scenario(loads: Loads) -> None:
        asking = [loads.ask()]
        await _settle()
        asking += [loads.ask(), loads.ask()]
        await _settle()
        asking[0].cancel()
        asking[1].cancel()
        await _settle()
        loads.started[0].set_result("old")
        await _settle()
        loads.started[1].set_result("new")
        assert await asking[2] == "new"

    _run(scenario)
