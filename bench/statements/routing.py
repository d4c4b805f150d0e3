"""Measures the proxy's decisions for tables with very many partitions, on a real metastore.

    python -m bench.statements.routing [--partitions N ..] [--rounds N] [--folder FOLDER]

It includes everything that the proxy does before a statement runs: analysis, checking with the
metastore whether the table has changed, and the decision. FOLDER keeps the filled metastore.
"""

import argparse
import asyncio
import gc
import os
import statistics
import tempfile
import tracemalloc
from collections.abc import Awaitable, Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace
from pathlib import Path
from time import perf_counter, process_time

from bench.catalogs.metastore import views
from bench.support.filled import EAST, FEW, FEW_AT, FIRST_DAY, HOURS, WEST, few_of, filled, table_of
from conf.names import ClusterName, TableRef
from conf.settings.settings import ClusterChoice, Settings, Writers
from conf.topology import Cluster, Endpoint, Topology
from metastore.snapshot.loader_client import SnapshotLoader
from metastore.snapshot.snapshot import Snapshot
from proxy.protocol.types import NEWEST_PROTOCOL
from proxy.session.session import SessionState
from proxy.statement.statement_router import StatementRouter
from proxy.upstream.cluster_load import ClusterLoad
from router.decision import RunIn

COUNTS = (100_000, 1_000_000)
_TOPOLOGY = Topology({name: Cluster(name, f"file:/{name}", ()) for name in (EAST, WEST)}, EAST)


@dataclass(frozen=True, slots=True)
class Figure:
    """One line of the table: milliseconds, or megabytes of memory."""

    what: str
    value: float
    unit: str = "ms"


def run(metastore: Endpoint, counts: Sequence[int] = COUNTS, rounds: int = 200) -> list[Figure]:
    """Measures against a metastore that `filled` made."""
    rows = []
    with views(metastore, 0.0) as listening:
        addresses = {ClusterName(name): (each,) for name, each in listening.items()}
        settings = Settings(_TOPOLOGY, (metastore,), views=addresses, metastore_timeout=60.0)
        for count in counts:
            rows += asyncio.run(_rows(settings, count, rounds))
            if count <= FEW_AT:
                rows += asyncio.run(_few(settings, count, rounds))
    return rows


async def _few(settings: Settings, count: int, rounds: int) -> list[Figure]:
    """A read of all partitions of a table with a few copies."""
    sql, what = f"SELECT count(*) FROM {few_of(count)}", f"{count:,} partitions, {FEW} copies, all"
    async with aclosing(_Routing(settings)) as routing:
        await routing.decide(f"{sql} WHERE ds = 'none'")  # connects
        first = await _elapsed(lambda: routing.decide(sql))
        return [
            Figure(f"{what}, first", first),
            *await _warm(f"{what}, warm", routing, sql, rounds),
        ]


async def _rows(settings: Settings, count: int, rounds: int) -> list[Figure]:
    table = table_of(count)
    day = f"SELECT count(*) FROM {table} WHERE ds = '{FIRST_DAY}'"
    days = f"SELECT count(*) FROM {table} WHERE ds <= '{FIRST_DAY}'"
    rows = []
    async with aclosing(_Routing(settings)) as routing:
        await routing.decide(f"SELECT count(*) FROM {table} WHERE ds = 'none'")  # connects
        for what, sql in (("ds = '..'", day), ("ds <= '..'", days)):
            first = await _elapsed(lambda: routing.decide(sql))  # noqa: B023
            rows.append(Figure(f"{count:,} partitions, {what}, first", first))
            rows += await _warm(f"{count:,} partitions, {what}, warm", routing, sql, rounds)
        asking = [await _elapsed(lambda: routing.ask(table)) for _ in range(rounds)]
        rows.append(Figure("  of it the question to the metastore", statistics.median(asking)))
    async with aclosing(_Routing(replace(settings, writers=Writers.VIEWS))) as routing:
        await routing.decide(day)
        what = f"{count:,} partitions, snapshot.writers = views, warm"
        rows += await _warm(what, routing, day, rounds)
    by_cost = replace(settings, writers=Writers.VIEWS, cluster_choice=ClusterChoice.COST)
    async with aclosing(_Routing(by_cost)) as routing:
        await routing.decide(day)
        rows += await _warm("  the same, router.choice = cost, warm", routing, day, rounds)
    async with aclosing(_Routing(settings)) as routing:
        rows.append(Figure(f"{count:,} partitions, memory", await _memory(routing, days), "MB"))
    return rows


class _Routing:
    """The parts of `causeway serve` that decide, without connections of clients."""

    def __init__(self, settings: Settings) -> None:
        snapshot = Snapshot(ttl=600.0)
        self._loader = SnapshotLoader(settings, snapshot)
        by_cost = settings.cluster_choice is ClusterChoice.COST
        load = ClusterLoad() if by_cost else None
        self._router = StatementRouter(settings, snapshot, self._loader, load=load)
        self._session = SessionState.opened("bench", NEWEST_PROTOCOL, {}, _TOPOLOGY)

    async def decide(self, sql: str) -> None:
        decision = (await self._router.decide(sql, self._session)).decision
        assert isinstance(decision, RunIn), decision

    async def ask(self, table: TableRef) -> None:
        """Checks only whether the table has changed."""
        await self._loader.load_facts([table], {table: ()})

    async def aclose(self) -> None:
        self._loader.close()
        await self._router.analysis.close()


async def _warm(what: str, routing: _Routing, sql: str, rounds: int) -> list[Figure]:
    """Elapsed in all, and the processor's part of it in this process."""
    times, began = [], process_time()
    for _ in range(rounds):
        times.append(await _elapsed(lambda: routing.decide(sql)))
    cpu = (process_time() - began) / rounds * 1000
    times.sort()
    return [
        Figure(what, statistics.median(times)),
        Figure("  of 20 the slowest", times[len(times) * 19 // 20]),
        Figure("  of it in this process", cpu),
    ]


async def _elapsed(act: Callable[[], Awaitable[object]]) -> float:
    began = perf_counter()
    await act()
    return (perf_counter() - began) * 1000


async def _memory(routing: _Routing, sql: str) -> float:
    """The memory that a statement adds to the snapshot."""
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    await routing.decide(sql)
    gc.collect()
    after = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    return (after - before) / 1e6


def show(rows: list[Figure]) -> None:
    for row in rows:
        print(f"{row.what:<58} {row.value:>12.2f} {row.unit}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.statements.routing", description=__doc__)
    parser.add_argument("--partitions", type=int, nargs="+", default=list(COUNTS))
    parser.add_argument("--rounds", type=int, default=200, help="(%(default)s)")
    parser.add_argument("--folder", type=Path, help="keeps the filled metastore")
    args = parser.parse_args()
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}, one day has {HOURS} partitions")
    with (
        tempfile.TemporaryDirectory() as spare,
        filled(args.folder or Path(spare), args.partitions) as metastore,
    ):
        show(run(metastore, args.partitions, args.rounds))


if __name__ == "__main__":
    main()
