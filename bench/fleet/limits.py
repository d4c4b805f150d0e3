"""Measures the product's classes at the size of the fleet, as far as this machine's memory allows.

    python -m bench.fleet.limits [--tables 20000] [--partitions 1000000]

Memory is the growth of the process after objects were made from a metastore's bytes; times are
processor times. The fleet needs the figure of one table or partition times their number.
"""

import argparse
import asyncio
import gc
import multiprocessing
import time
from collections import Counter
from collections.abc import Callable, Iterator
from datetime import date, timedelta
from pathlib import Path
from random import Random
from typing import Any

from advice.copies import candidates
from advice.stock import Stock, TableStock
from bench.fleet.fleet import AREA, CLUSTERS, DAILY, HOURLY
from bench.fleet.shapes import popular
from conf.catalog.tables import TableInfo, TableKind
from conf.names import TableRef
from conf.partitions import PartitionSet, PlacedPartitions, Replicas, TableFacts
from conf.placement import COPY_PREFIX, PARTITIONS, PRIMARY, Placement, read_placement
from conf.settings.settings import Coverage
from dialect.analyze import analyze
from dialect.statement import Known, Namespace
from metastore.catalog.describe import describe
from metastore.catalog.listing_client import TableListing
from metastore.catalog.spark_table import packed
from metastore.client.types import Table
from metastore.snapshot.partitions import PartitionSheet
from metastore.snapshot.snapshot import Snapshot, TableRecord
from router.request import Request, wanted_partitions
from router.route import route
from thriftcodec.reader import read_value
from thriftcodec.values import STRUCT
from thriftcodec.writer import write_value

ALL_TABLES, ALL_PARTITIONS = 1_000_000, 100_000_000
COLUMNS = 10
EACH = ALL_PARTITIONS // ALL_TABLES
_FIRST = date(2026, 1, 1)
_COPY = {COPY_PREFIX + "c2": '{"location":"hdfs://c2/copies","of":"0"}'}  # of every tenth table


def resident() -> int:
    """Bytes of memory of this process."""
    gc.collect()
    status = Path("/proc/self/status").read_text(encoding="ascii")
    line = next(line for line in status.splitlines() if line.startswith("VmRSS"))
    return int(line.split()[1]) * 1024


def timed(work: Callable[[], Any]) -> float:
    """Seconds of the processor."""
    began = time.process_time()
    work()
    return time.process_time() - began


def _column(table: int, number: int) -> str:
    """Every other column has a name that only few tables have."""
    return f"column_{number}" if number % 2 else f"value_{table % 997}_{number}"


def read_table(number: int) -> Table:
    """A table with ten columns and a partition a day, decoded from a metastore's bytes."""
    columns = [(_column(number, n), ("bigint", "string", "double")[n % 3]) for n in range(COLUMNS)]
    table = Table.make(
        TableRef(f"area{number // 1000:04}", f"table_{number}"),
        columns,
        location=f"hdfs://c1/warehouse/area{number // 1000:04}.db/table_{number}",
        partition_keys=[("ds", "string")],
        parameters={
            PRIMARY: "c1",
            PARTITIONS: "uniform",
            "transient_lastDdlTime": "1770000000",
            **(_COPY if number % 10 == 0 else {}),
        },
    )
    out = bytearray()
    write_value(out, STRUCT, table.struct)
    value, _ = read_value(out, 0, STRUCT)
    assert not isinstance(value, str | bytes | bool | int | float)
    return Table(value)


def record_of(number: int) -> TableRecord:
    """What the snapshot keeps of a table, without its partitions."""
    table = read_table(number)
    placement = read_placement(table.parameters, CLUSTERS[0])
    return TableRecord(describe(table), placement, packed=packed(table))


def names(count: int, hours: int = 1) -> Iterator[str]:
    """Names of partitions, as separate strings, as decoding a reply makes them."""
    for number in range(count // hours):
        day = _FIRST - timedelta(days=number)
        for hour in range(hours):
            yield f"ds={day}" if hours == 1 else f"ds={day}/hr={hour:02}"


def memory(tables: int) -> Iterator[str]:
    """Measures the memory of the snapshot's tables and partitions."""
    snapshot = Snapshot(ttl=1e9, limit=10 * tables)
    start = resident()
    for number in range(tables):
        record = record_of(number)
        token = snapshot.begin(record.info.ref)
        snapshot.put_table(record.info.ref, record, token)
        snapshot.end(record.info.ref, token)
    middle = resident()
    refs = [record_of(number).info.ref for number in range(tables)]
    for ref in refs:
        snapshot.put_sheet(ref, PartitionSheet(DAILY, names(EACH), frozenset()), 0.0)
    end = resident()
    table, partition = (middle - start) / tables, (end - middle) / tables / EACH
    whole = table * ALL_TABLES + partition * ALL_PARTITIONS
    yield f"memory of a table in the snapshot: {table:,.0f} bytes; of a partition {partition:,.1f}"
    yield f"  of the whole fleet (extrapolated): {whole / 1e9:,.1f} GB"
    seconds = timed(snapshot.lacking_since)
    yield f"lags of copies for one scrape of metrics: {seconds * 1e3:,.0f} ms of {tables:,} tables"
    seconds = timed(lambda: snapshot.invalidate_database("area0001"))
    yield f"one database removed from memory: {seconds * 1e3:,.1f} ms of {tables:,} tables"


def decisions(most: int) -> Iterator[str]:
    """Measures one statement over a table with more and more partitions: for one day, and for all
    days since then."""
    count = 100
    while count <= most:
        started = time.process_time()
        sheet = PartitionSheet(HOURLY, names(count, 10), frozenset())
        made = time.process_time() - started
        info = TableInfo(TableRef("d", "t"), TableKind.TABLE, (), HOURLY)
        placement = Placement(CLUSTERS[1], exceptions=frozenset())
        record = TableRecord(info, placement, sheet)
        parts = []
        for operator in ("=", "<="):
            first, again = _decided(record, f"ds {operator} '{_FIRST - timedelta(days=5)}'")
            parts.append(f"ds {operator}: first {first * 1e3:,.2f} ms, again {again * 1e3:,.3f} ms")
        yield f"{count:>9,} partitions: names into rows {made * 1e3:,.0f} ms; {'; '.join(parts)}"
        count *= 10


def _decided(record: TableRecord, condition: str) -> tuple[float, float]:
    """Seconds of the first decision, and of one more of the same statement."""

    class _Catalog:
        def table(self, ref: TableRef) -> TableInfo | None:
            return record.info

    statement = analyze(f"SELECT count(*) FROM d.t WHERE {condition}", Namespace(), _Catalog())
    assert isinstance(statement, Known)

    def decide() -> None:
        for ref, selectors in wanted_partitions(statement, Coverage.READ).items():
            assert record.partitions is not None
            record.partitions.unknown(selectors)
            route(Request(statement, CLUSTERS[0], clusters=CLUSTERS), {ref: record.facts()})

    return timed(decide), min(timed(decide) for _ in range(5))


class _Loop(asyncio.SelectorEventLoop):
    """An event loop whose time is that of the simulation."""

    now = 0.0

    def time(self) -> float:
        return self.now


class _Listed:
    """A metastore for listings, and its feed of changes: all databases of the fleet, with a
    thousand tables each, and no changes."""

    newer = False

    def __init__(self) -> None:
        self.calls = 0

    async def run(self, read: Callable[[Any], Any]) -> Any:
        self.calls += 1
        return read(self)

    def get_databases(self) -> list[str]:
        return [f"area{number:04}" for number in range(ALL_TABLES // AREA)]

    def get_all_tables(self, database: str) -> list[str]:
        first = int(database.removeprefix("area")) * AREA
        return [f"table_{number}" for number in range(first, first + AREA)]

    def get_tables(self, database: str, names: list[str]) -> list[Table]:
        return [read_table(int(name.removeprefix("table_"))) for name in names]

    def follow(self, on_change: object) -> None:
        pass

    async def update(self) -> bool:
        return True


def listing(questions: int) -> Iterator[str]:
    """Measures tools that list the tables of one database each second, and of all databases every
    ten minutes."""
    source: Any = _Listed()
    answered = Counter[bool]()

    async def ask() -> None:
        listed, random = TableListing(source, source), Random(1)
        loop: Any = asyncio.get_running_loop()
        for number in range(questions):
            loop.now = float(number)
            if number % 600 == 300:
                await listed.tables_of(lambda name: True)
            area = f"area{popular(random, ALL_TABLES // AREA, 0.9):04}"
            found = await listed.tables_of(area.__eq__)
            answered[found is not None] += 1

    with asyncio.Runner(loop_factory=_Loop) as runner:
        runner.run(ask())
    yield (
        f"tables of a database, asked each second, of all each 10 minutes: {answered[True]:,} of"
        f" {questions:,} questions answered, {source.calls:,} readings"
    )


def stock(tables: int) -> Iterator[str]:
    """Measures the stock of `causeway assess`, and the sums over all its tables."""
    start = resident()
    held = dict(_stocked(number) for number in range(tables))
    each = (resident() - start) / tables
    whole = Stock(CLUSTERS, CLUSTERS[0], held)
    yield f"memory of a table with its partitions in a stock: {each:,.0f} bytes, of the fleet"
    yield f"  (extrapolated) {each * ALL_TABLES / 1e9:,.0f} GB"
    seconds = timed(lambda: [each.bytes_of_all_copies(CLUSTERS, 1e9) for each in held.values()])
    yield f"bytes of all copies of {tables:,} tables: {seconds:,.2f} s, of the fleet (extrapolated)"
    yield f"  {seconds * ALL_TABLES / tables:,.0f} s"
    seconds = timed(lambda: candidates(whole, ()))
    yield f"copies that are there, {tables:,} tables: {seconds:,.2f} s, of the fleet (extrapolated)"
    yield f"  {seconds * ALL_TABLES / tables:,.0f} s"


def _stocked(number: int) -> tuple[TableRef, TableStock]:
    """A table with its partitions."""
    info = describe(read_table(number))
    copies = frozenset(CLUSTERS[2:3]) if number % 10 == 0 else frozenset()
    replicas = Replicas(CLUSTERS[1], copies)
    rows = (name.partition("=")[2:] for name in names(EACH))
    placed = PlacedPartitions(PartitionSet(DAILY, rows), (replicas,), bytes(EACH))
    return info.ref, TableStock(info, TableFacts(replicas, placed), 1e9 * EACH)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.fleet.limits", description=__doc__)
    parser.add_argument("--tables", type=int, default=20_000, help="in memory (%(default)s)")
    parser.add_argument("--partitions", type=int, default=1_000_000, help="of one (%(default)s)")
    parser.add_argument("--questions", type=int, default=1_200, help="of tools (%(default)s)")
    args = parser.parse_args()
    sections = (
        (memory, args.tables),
        (decisions, args.partitions),
        (stock, args.tables // 4),
        (listing, args.questions),
    )
    for work, size in sections:
        # a process each, so that none uses the memory that another one freed
        process = multiprocessing.get_context("spawn").Process(target=_print, args=(work, size))
        process.start()
        process.join()


def _print(work: Callable[[int], Iterator[str]], size: int) -> None:
    for line in work(size):
        print(line, flush=True)


if __name__ == "__main__":
    main()
