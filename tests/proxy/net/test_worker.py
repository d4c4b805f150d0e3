"""Long statements in a process of their own."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest
import uvloop

from conf.names import TableRef
from conf.tables import Column, TableInfo, TableKind
from dialect.analyze import analyze
from dialect.statement import ALL, Analysis, Known, Namespace, Needs, Unknown
from proxy.net.worker import Told, Worker
from tests.proxy.net.fakes import World, error_of, play

pytestmark = pytest.mark.slow

T = TableRef("default", "w")
TABLES = {T: TableInfo(T, TableKind.TABLE, (Column("a", "int"),))}
LONG = "INSERT INTO w VALUES " + ", ".join(f"({number})" for number in range(5000))


def with_worker(use: Callable[[Worker], Awaitable[None]], patience: float = 60.0) -> None:
    async def main() -> None:
        worker = Worker(patience)
        try:
            await use(worker)
        finally:
            await worker.close()

    uvloop.run(main())


def test_it_says_what_analyze_says() -> None:
    async def use(worker: Worker) -> None:
        assert await worker.analyse(LONG, Namespace(), {}) == Needs(frozenset({T}))
        for sql in (LONG, "SELECT * FROM w WHERE a > 1", "gibberish here"):
            here = analyze(sql, Namespace(), Told(TABLES))
            there = await worker.analyse(sql, Namespace(), TABLES)
            assert there == here
            if isinstance(there, Known) and there.writes:
                assert there.writes[0].partitions is ALL  # the router asks so
        assert isinstance(here, Unknown)

    with_worker(use)


def test_what_takes_too_long_is_not_understood_and_the_next_is() -> None:
    async def use(worker: Worker) -> None:
        worker._patience = 0.0
        found = await worker.analyse(LONG, Namespace(), TABLES)
        assert isinstance(found, Unknown)
        assert found.writing
        assert "takes too long" in found.why
        worker._patience = 60.0
        assert isinstance(await worker.analyse(LONG, Namespace(), TABLES), Known)

    with_worker(use)


def test_a_process_that_died_is_replaced() -> None:
    async def use(worker: Worker) -> None:
        await worker.analyse("SELECT 1", Namespace(), {})
        assert worker._process is not None
        worker._process.kill()
        found = [await worker.analyse("SELECT 1", Namespace(), {}) for _ in range(2)]
        assert isinstance(found[-1], Known)

    with_worker(use)


def test_who_stops_waiting_does_not_get_anothers_answer() -> None:
    async def use(worker: Worker) -> None:
        waiting = asyncio.ensure_future(worker.analyse(LONG, Namespace(), TABLES))
        await asyncio.sleep(0.01)
        waiting.cancel()
        await asyncio.wait([waiting])
        found: Analysis = await worker.analyse("SELECT 1", Namespace(), {})
        assert isinstance(found, Known)
        assert found.kind == "select"

    with_worker(use)


def test_a_long_statement_through_the_proxy() -> None:
    async def scenario(world: World) -> None:
        client = await world.client()
        assert error_of(await client.execute(LONG)) is None
        assert world.west.statements == [LONG]
        assert world.metastore.log[0] == "open default.w"

    play(scenario)
