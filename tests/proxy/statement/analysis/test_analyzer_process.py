"""Statements that are analysed in a process of their own."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest
import uvloop

from conf.catalog.tables import Column, TableInfo, TableKind
from conf.names import TableRef
from dialect.analyze import analyze
from dialect.grammar.cluster_statements import ExplainCluster
from dialect.statement import ALL, Known, Namespace, Needs, Unknown
from proxy.statement.analysis.analyzer_process import (
    Analyze,
    AnalyzerProcess,
    KnownTables,
    ParseCommand,
    Result,
    packed,
)
from tests.proxy.fakes import World, error_of, play

pytestmark = pytest.mark.slow

T = TableRef("default", "w")
TABLES = {T: TableInfo(T, TableKind.TABLE, (Column("a", "int"),))}
LONG = "INSERT INTO w VALUES " + ", ".join(f"({number})" for number in range(5000))


def with_process(
    use: Callable[[AnalyzerProcess], Awaitable[None]], cpu_seconds: float = 60.0
) -> None:
    async def main() -> None:
        process = AnalyzerProcess(cpu_seconds)
        try:
            await use(process)
        finally:
            await process.close()

    uvloop.run(main())


async def analyzed(process: AnalyzerProcess, sql: str, tables: object = TABLES) -> Result:
    assert isinstance(tables, dict)
    return (await process.run(packed(Analyze(sql, Namespace(), tables))))[0]


def test_the_process_returns_the_result_of_analyze() -> None:
    async def use(process: AnalyzerProcess) -> None:
        assert await analyzed(process, LONG, {}) == Needs(frozenset({T}))
        for sql in (LONG, "SELECT * FROM w WHERE a > 1", "gibberish here"):
            here = analyze(sql, Namespace(), KnownTables(TABLES))
            there = await analyzed(process, sql)
            assert there == here
            if isinstance(there, Known) and there.writes:
                assert there.writes[0].partitions is ALL  # the router asks so
        assert isinstance(here, Unknown)
        command, seconds = await process.run(packed(ParseCommand(f"EXPLAIN CLUSTER {LONG}")))
        assert command == ExplainCluster(LONG)
        assert 0 < seconds < 60

    with_process(use)


def test_a_statement_that_takes_too_long_is_unknown_and_the_next_one_is_analysed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("proxy.statement.analysis.analyzer_process.CPU_SECONDS_A_MEGABYTE", 0.0)

    async def use(process: AnalyzerProcess) -> None:
        found = await analyzed(process, LONG)
        assert isinstance(found, Unknown)
        assert found.writing
        assert "takes too long" in found.why
        process.cpu_seconds = 60.0
        assert isinstance(await analyzed(process, LONG), Known)

    with_process(use, cpu_seconds=0.01)


def test_a_process_that_died_is_replaced() -> None:
    async def use(process: AnalyzerProcess) -> None:
        await analyzed(process, "SELECT 1")
        assert process._process is not None
        process._process.kill()
        found = [await analyzed(process, "SELECT 1") for _ in range(2)]
        assert isinstance(found[-1], Known)

    with_process(use)


def test_an_abandoned_result_is_not_read_as_that_of_the_next_task() -> None:
    async def use(process: AnalyzerProcess) -> None:
        waiting = asyncio.ensure_future(analyzed(process, LONG))
        await asyncio.sleep(0.01)
        waiting.cancel()
        await asyncio.wait([waiting])
        found = await analyzed(process, "SELECT 1")
        assert isinstance(found, Known)
        assert found.kind == "select"

    with_process(use)


def test_a_long_statement_through_the_proxy() -> None:
    async def scenario(world: World) -> None:
        client = await world.client()
        assert error_of(await client.execute(LONG)) is None
        assert world.west.statements == [LONG]
        assert world.metastore.log[0] == "open default.w"

    play(scenario)
