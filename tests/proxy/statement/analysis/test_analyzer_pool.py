"""The choice between the event loop and processes, and the order of the processes' tasks."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from conf.catalog.tables import TableInfo, TableKind
from conf.names import TableRef
from dialect.grammar.cluster_statements import ExplainCluster, UseCluster
from dialect.statement import Known, Namespace, Needs
from proxy.errors import LimitReached
from proxy.statement.analysis import analyzer_pool
from proxy.statement.analysis.analyzer_pool import AnalyzerPool, Client, Usage
from proxy.statement.analysis.analyzer_process import (
    Analyze,
    KnownTables,
    ParseCommand,
    Result,
    Task,
)

ANN, BOB, EVE = (Client(name, 1) for name in ("ann", "bob", "eve"))
NAMESPACE = Namespace()
T = TableRef("default", "t")
CATALOG = KnownTables({T: TableInfo(T, TableKind.TABLE)})
NO_TABLES = KnownTables({})
COMPLEX = "SELECT {}, " + ", ".join(f"f(a{number})" for number in range(250))
LONG = "SELECT '" + "x" * analyzer_pool.SHORT_TEXT + "{}'"


class Fakes:
    """Fake processes that record their tasks, and end them when the test says so."""

    def __init__(self) -> None:
        self.begun: list[Task] = []
        self.seconds = 1.0
        self.gate = asyncio.Event()
        self.gate.set()

    async def run(self, task: Task) -> tuple[Result, float]:
        self.begun.append(task)
        await self.gate.wait()
        result: Any = Known("select")
        if isinstance(task, ParseCommand):
            result = UseCluster("fake")
        elif T not in task.tables and " t" in task.sql:
            result = Needs(frozenset({T}))
        return result, self.seconds

    async def close(self) -> None:
        return None


def with_pool(
    use: Callable[[AnalyzerPool, Fakes], Awaitable[None]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(analyzer_pool, "packed", lambda task: _Sized(task))

    async def main() -> None:
        pool, fakes = AnalyzerPool(), Fakes()
        for lane in pool._lanes:
            lane.process = _Unpacking(fakes)  # type: ignore[assignment]
        async with asyncio.timeout(120):
            await use(pool, fakes)
        await pool.close()

    asyncio.run(main())


class _Sized:
    def __init__(self, task: Task) -> None:
        self.task = task

    def __len__(self) -> int:
        return len(self.task.sql)


class _Unpacking:
    def __init__(self, fakes: Fakes) -> None:
        self._fakes = fakes

    async def run(self, task: _Sized) -> tuple[Result, float]:
        return await self._fakes.run(task.task)

    async def close(self) -> None:
        return None


def test_the_event_loop_analyses_short_and_simple_statements(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def use(pool: AnalyzerPool, fakes: Fakes) -> None:
        await pool.analyse("SELECT 'simple'", NAMESPACE, CATALOG, ANN)
        assert not fakes.begun
        for each in (COMPLEX.format(1), LONG.format(1)):
            await pool.analyse(each, NAMESPACE, CATALOG, ANN)
            assert [task.sql for task in fakes.begun] == [each]
            fakes.begun.clear()
        assert (pool.in_loop, pool.in_processes) == (1, 2)

    with_pool(use, monkeypatch)


def test_a_statement_that_took_too_many_steps_is_not_tried_in_the_loop_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    tried: list[str] = []
    original = analyzer_pool.attempt

    def attempt(sql: str, *rest: Any) -> Any:
        tried.append(sql)
        return original(sql, *rest)

    async def use(pool: AnalyzerPool, fakes: Fakes) -> None:
        for _ in range(3):
            await pool.analyse(COMPLEX.format(2), NAMESPACE, CATALOG, ANN)
        assert len(tried) == 1
        assert len(fakes.begun) == 3

    monkeypatch.setattr(analyzer_pool, "attempt", attempt)
    with_pool(use, monkeypatch)


def test_a_user_who_used_up_the_loops_share_is_analysed_in_processes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def use(pool: AnalyzerPool, fakes: Fakes) -> None:
        await pool.analyse("SELECT 'known'", NAMESPACE, CATALOG, EVE)
        now = asyncio.get_running_loop().time()
        pool._in_loop.add("eve", 2 * analyzer_pool.LOOP_CREDIT, now)
        await pool.analyse("SELECT 'new'", NAMESPACE, CATALOG, EVE)
        assert len(fakes.begun) == 1
        await pool.analyse("SELECT 'known'", NAMESPACE, CATALOG, EVE)  # is cached
        await pool.analyse("SELECT 'new to ann'", NAMESPACE, CATALOG, ANN)
        assert len(fakes.begun) == 1

    with_pool(use, monkeypatch)


def test_a_process_is_kept_free_for_users_that_used_little(monkeypatch: pytest.MonkeyPatch) -> None:
    async def use(pool: AnalyzerPool, fakes: Fakes) -> None:
        await pool.analyse(LONG.format("eve"), NAMESPACE, CATALOG, EVE)  # a second of it
        fakes.gate.clear()
        fakes.begun.clear()
        for number in range(8):
            _begin(pool, LONG.format(number), EVE)
        await _settled()
        assert len(fakes.begun) == 1
        _begin(pool, LONG.format("ann"), ANN)
        await _settled()
        assert [_last(task) for task in fakes.begun] == ["0", "ann"]
        fakes.gate.set()

    with_pool(use, monkeypatch)


def test_the_waiting_user_with_the_least_use_is_next(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def use(pool: AnalyzerPool, fakes: Fakes) -> None:
        now = asyncio.get_running_loop().time()
        for client, seconds in ((EVE, 100.0), (ANN, 5.0), (BOB, 30.0)):
            pool._in_processes.add(client.user, seconds, now)
        fakes.gate.clear()
        for client in (EVE, EVE, EVE, BOB, ANN):
            _begin(pool, LONG.format(client.user), client)
        await _settled()
        fakes.gate.set()
        while len(fakes.begun) < 5:  # noqa: ASYNC110
            await asyncio.sleep(0)
        assert [_last(task) for task in fakes.begun] == ["eve", "ann", "bob", "eve", "eve"]

    with_pool(use, monkeypatch)


def test_the_users_session_with_the_least_use_is_next(monkeypatch: pytest.MonkeyPatch) -> None:
    async def use(pool: AnalyzerPool, fakes: Fakes) -> None:
        busy, idle = Client("app", 1), Client("app", 2)
        now = asyncio.get_running_loop().time()
        pool._in_processes.add("app", 10.0, now)
        pool._in_processes.add(busy, 10.0, now)
        fakes.gate.clear()
        for client in (busy, busy, busy, idle):
            _begin(pool, LONG.format(client.session), client)
        await _settled()
        fakes.gate.set()
        while len(fakes.begun) < 4:  # noqa: ASYNC110
            await asyncio.sleep(0)
        assert [_last(task) for task in fakes.begun] == ["1", "2", "1", "1"]

    with_pool(use, monkeypatch)


def test_tables_in_memory_are_sent_along_with_the_statement(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def use(pool: AnalyzerPool, fakes: Fakes) -> None:
        sql = LONG.format("") + " FROM t"
        assert await pool.analyse(sql, NAMESPACE, NO_TABLES, ANN) == Needs(frozenset({T}))
        fakes.begun.clear()
        assert isinstance(await pool.analyse(sql, NAMESPACE, CATALOG, ANN), Known)
        (task,) = fakes.begun
        assert isinstance(task, Analyze)
        assert list(task.tables) == [T]

    with_pool(use, monkeypatch)


def test_the_number_of_waiting_tasks_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(analyzer_pool, "WAITING_OF_USER", 2)
    monkeypatch.setattr(analyzer_pool, "WAITING", 3)

    async def use(pool: AnalyzerPool, fakes: Fakes) -> None:
        fakes.gate.clear()
        for number in range(4):
            _begin(pool, LONG.format(number), EVE)
        await _settled()
        with pytest.raises(LimitReached):
            await pool.analyse(LONG.format(4), NAMESPACE, CATALOG, EVE)
        _begin(pool, LONG.format("ann"), ANN)
        await _settled()
        with pytest.raises(LimitReached):
            await pool.analyse(LONG.format("bob"), NAMESPACE, CATALOG, BOB)
        fakes.gate.set()

    with_pool(use, monkeypatch)


def test_a_client_that_gives_up_waits_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    async def use(pool: AnalyzerPool, fakes: Fakes) -> None:
        fakes.gate.clear()
        tasks = [_begin(pool, LONG.format(number), EVE) for number in range(5)]
        await _settled()
        assert pool.waiting == 3
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)
        assert pool.waiting == 0
        fakes.gate.set()
        await pool.analyse(LONG.format("ann"), NAMESPACE, CATALOG, ANN)
        assert [_last(task) for task in fakes.begun] == ["0", "1", "ann"]

    with_pool(use, monkeypatch)


def test_own_commands_are_parsed_in_the_loop_or_in_a_process(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def use(pool: AnalyzerPool, fakes: Fakes) -> None:
        assert await pool.command("USE CLUSTER x", True, ANN) == UseCluster("x")
        assert await pool.command("USE CLUSTER x", False, ANN) is None
        assert await pool.command(LONG, True, ANN) is None
        assert not fakes.begun
        explained = "EXPLAIN CLUSTER " + LONG
        assert await pool.command(explained, True, ANN) == UseCluster("fake")
        assert fakes.begun == [ParseCommand(explained)]
        assert isinstance(await pool.command("EXPLAIN CLUSTER SELECT 1", True, ANN), ExplainCluster)

    with_pool(use, monkeypatch)


def test_use_counts_half_after_its_half_life() -> None:
    usage = Usage(10.0)
    usage.add("ann", 4.0, 100.0)
    assert usage.of("ann", 110.0) == pytest.approx(2.0)
    usage.add("ann", 1.0, 120.0)
    assert usage.of("ann", 120.0) == pytest.approx(2.0)
    assert usage.of("bob", 120.0) == 0.0


def _begin(pool: AnalyzerPool, sql: str, client: Client) -> "asyncio.Task[object]":
    return asyncio.get_running_loop().create_task(_quietly(pool, sql, client))


async def _quietly(pool: AnalyzerPool, sql: str, client: Client) -> object:
    return await pool.analyse(sql, NAMESPACE, CATALOG, client)


async def _settled() -> None:
    for _ in range(10):
        await asyncio.sleep(0)


def _last(task: Task) -> str:
    return task.sql.rpartition("x")[2].rstrip("'")
