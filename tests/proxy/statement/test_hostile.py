"""Eight clients send the worst known statements, which do not delay other clients."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from proxy.statement.analysis import analyzer_pool
from tests.proxy.fakes import Client, World, error_of, play

SLOW = (Path(__file__).parents[2] / "dialect" / "slow.sql").read_text().splitlines()
HOSTILE, OTHERS, ROUNDS = 8, 4, 25


@pytest.mark.slow
def test_hostile_statements_close_no_session_and_hardly_use_the_event_loop(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    allowed: list[int] = []
    original = analyzer_pool.attempt

    def attempt(sql: str, namespace: Any, catalog: Any, steps: int) -> Any:
        allowed.append(steps)
        assert len(sql) <= analyzer_pool.SHORT_TEXT
        return original(sql, namespace, catalog, steps)

    async def attack(client: Client, number: int, over: asyncio.Event) -> None:
        at = number
        while not over.is_set():
            at += 1
            await client.execute(f"{SLOW[at % len(SLOW)]} -- {number} {at}")

    async def work(client: Client) -> None:
        for number in range(ROUNDS):
            assert await client.rows("SELECT 1") == 1
            assert await client.rows(f"SELECT {number} + {id(client)}") == 1

    async def scenario(world: World) -> None:
        over = asyncio.Event()
        hostile = [await world.client(f"eve{number}") for number in range(HOSTILE)]
        others = [await world.client(f"ann{number}") for number in range(OTHERS)]
        async with asyncio.TaskGroup() as group:
            for number, each in enumerate(hostile):
                group.create_task(attack(each, number, over))
            async with asyncio.TaskGroup() as honest:
                for each in others:
                    honest.create_task(work(each))
            over.set()
        for each in (*hostile, *others):
            assert error_of(await each.execute("SELECT 2")) is None

    monkeypatch.setattr(analyzer_pool, "attempt", attempt)
    play(scenario)
    assert set(allowed) == {analyzer_pool.STEPS}
