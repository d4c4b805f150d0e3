"""Copies for queries: made once for all queries that wait, within limits of users and links."""

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from cli.errors import CopyFailed
from conf.names import ClusterName, TableRef
from conf.settings.fetching import Fetching
from proxy.counters import LocalCounters
from proxy.errors import CopyQuotaExceeded
from proxy.statement.copies.allowance import Allowance
from proxy.statement.copies.fetcher import Fetcher
from router.needed_copies import CopyNeeded
from tests.proxy.fakes import until
from tests.proxy.statement.copies.fake_copier import FakeCopier

EAST, WEST = ClusterName("east"), ClusterName("west")
MIB = 1 << 20
VISITS = CopyNeeded(
    TableRef("sample", "visits"), ((("ds", "1"),), (("ds", "2"),)), WEST, EAST, 3 * MIB
)
USERS = CopyNeeded(TableRef("sample", "users"), (), WEST, EAST, None)


@dataclass
class World:
    copier: FakeCopier = field(default_factory=lambda: FakeCopier(sent=2 * MIB))
    bounds: Fetching = field(default_factory=Fetching)
    day: float = 0.0
    logged: list[str] = field(default_factory=list)
    counters: LocalCounters = field(default_factory=LocalCounters)

    def __post_init__(self) -> None:
        allowance = Allowance(self.bounds, self.counters, lambda: self.day * 86_400)
        self.fetcher = Fetcher(self.copier, 60.0, allowance, bandwidth=MIB, pause=0.0)

    def ask(
        self, *copies: CopyNeeded, user: str = "ann", most: int = 9 * MIB
    ) -> "asyncio.Future[None]":
        return asyncio.ensure_future(
            self.fetcher.fetch(user, copies or (VISITS,), most, self.logged.append)
        )


def play(scenario: Callable[[World], Coroutine[Any, Any, None]], **bounds: int) -> None:
    async def main() -> None:
        async with asyncio.timeout(20):
            await scenario(World(bounds=Fetching(**bounds)))

    asyncio.run(main())


def test_copies_are_made_one_after_the_other_within_what_the_query_may_copy() -> None:
    async def scenario(world: World) -> None:
        world.copier.ends.set()
        await world.ask(VISITS, USERS)
        assert world.copier.ways == ["sample.visits 2 west east", "sample.users 0 west east"]
        assert world.copier.bounds == [(9 * MIB, 60.0, MIB), (7 * MIB, 60.0, MIB)]
        assert world.logged == [
            "Copying 2 partitions of sample.visits (about 3.1 MB) from west to east, which no"
            " cluster has together with the other inputs.",
            "Copied 2 partitions of sample.visits (about 3.1 MB) from west to east: 2.1 MB were"
            " sent.",
            "Copying sample.users from west to east, which no cluster has together with the other"
            " inputs.",
            "Copied sample.users from west to east: 2.1 MB were sent.",
        ]

    play(scenario)


def test_queries_that_lack_the_same_wait_for_one_copy() -> None:
    async def scenario(world: World) -> None:
        asked = [world.ask(user=user) for user in ("ann", "bob", "cid")]
        await until(lambda: bool(world.copier.begun))
        asked.append(world.ask(replace(VISITS, partitions=VISITS.partitions[::-1], size=None)))
        world.copier.ends.set()
        await asyncio.gather(*asked)
        assert len(world.copier.begun) == 1
        await world.ask()
        assert len(world.copier.begun) == 2

    play(scenario)


def test_a_copy_ends_when_the_last_query_that_waits_is_cancelled() -> None:
    async def scenario(world: World) -> None:
        first, second = world.ask(), world.ask()
        await until(lambda: bool(world.copier.begun))
        first.cancel()
        await asyncio.wait({first})
        assert (world.copier.cancelled, second.done()) == (0, False)
        second.cancel()
        await asyncio.wait({second})
        await until(lambda: world.copier.cancelled == 1)
        third = world.ask()
        await until(lambda: len(world.copier.begun) == 2)
        world.copier.ends.set()
        await third

    play(scenario)


def test_a_failure_is_that_of_the_query_that_began_the_copy() -> None:
    """Another query, which waited for the copy, begins one of its own: its limits may be higher."""

    async def scenario(world: World) -> None:
        world.copier.failures = [CopyFailed("[CW614] It is too large.")]
        first, second = world.ask(most=1), world.ask()
        await until(lambda: bool(world.copier.begun))
        world.copier.ends.set()
        with pytest.raises(CopyFailed, match="too large"):
            await first
        await second
        assert [most for most, *_ in world.copier.bounds] == [1, 9 * MIB]

    play(scenario)


def test_a_copy_is_made_after_one_of_the_same_data_in_another_process() -> None:
    async def scenario(world: World) -> None:
        busy = CopyFailed("[CW611] A run copies sample.visits.")
        world.copier.failures = [busy, busy]
        world.copier.ends.set()
        await world.ask()
        assert len(world.copier.begun) == 3

    play(scenario)


def test_a_user_has_a_number_of_bytes_copied_a_day() -> None:
    async def scenario(world: World) -> None:
        world.copier.ends.set()
        await world.ask()
        with pytest.raises(
            CopyQuotaExceeded, match=r"2\.1 MB may still be copied for user ann today"
        ):
            await world.ask()  # the copy is known to need 3 MiB
        await world.ask(USERS)
        assert world.copier.bounds[-1] == (2 * MIB, 60.0, MIB)
        with pytest.raises(CopyQuotaExceeded, match="0 bytes may still be copied for user ann"):
            await world.ask(USERS)
        await world.ask(user="bob")
        world.day += 1
        await world.ask()

    play(scenario, user_daily=4 * MIB)


def test_a_link_carries_a_number_of_bytes_a_day() -> None:
    async def scenario(world: World) -> None:
        world.copier.ends.set()
        await world.ask()
        with pytest.raises(CopyQuotaExceeded, match="from west to east"):
            await world.ask(user="bob")
        await world.ask(replace(VISITS, source=EAST, target=WEST))

    play(scenario, link_daily=4 * MIB)
