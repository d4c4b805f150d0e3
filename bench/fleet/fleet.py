"""The fleet: tables, partitions, copies and running writes, in a compact model.

A table is an index into arrays of numbers. Versions of a partition are kept once it is written. The
model has the true versions as plain counters. The metastore's facts of a table are computed from
them when they are read (`conf.placement`).
"""

from array import array
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import date, timedelta
from functools import cache
from random import Random

from conf.catalog.tables import Column, TableInfo, TableKind
from conf.names import ClusterName, TableRef
from conf.partitions import PartitionKey

CLUSTERS = tuple(ClusterName(f"c{number}") for number in range(10))
AREA = 1_000  # tables of a database
DIMENSIONS = 20  # the first tables of a database: small, without partitions, joined with the others
UNPARTITIONED = 0.30  # of the other tables
DAYS = ((0.46, 30), (0.79, 90), (0.94, 365), (0.9995, 730))  # partitions, up to a share of tables
HOURS = 24  # partitions a day of the few others, which have a year of them
AWAY = 0.06  # of the tables are not in their database's cluster
PARTITION_BYTES = 1e9  # on average
DIMENSION_BYTES = 3e7
TODAY = date(2026, 3, 2)
WHOLE = 0  # instead of a day: a table without partitions
FACT_COLUMNS = tuple(
    Column(name, kind)
    for name, kind in (
        ("k", "bigint"), *((f"k{n}", "bigint") for n in range(1, 13)), ("v", "double"),
        ("note", "string"),
    )
)  # fmt: skip
DIMENSION_COLUMNS = (Column("k", "bigint"), Column("name", "string"), Column("kind", "string"))
DAILY = (PartitionKey("ds", "string"),)
HOURLY = (*DAILY, PartitionKey("hr", "string"))

Object = tuple[int, int]
"""A table, and the age in days of its partition plus one; WHOLE: a table without partitions."""


@cache
def day_of(age: int) -> str:
    return str(TODAY - timedelta(days=age))


@dataclass(slots=True)
class Copy:
    """A copy of a table in a cluster: of its newest `days` partitions (0: no partitions).

    `have` are the versions that it holds, by day; what is not there is version 0 if `since_start`,
    else absent, as today's partition is, which no copy had when the day began.
    """

    days: int
    since_start: bool = True
    have: dict[int, int] = field(default_factory=dict)

    def version(self, day: int) -> int | None:
        if day and day - 1 > self.days:
            return None
        return self.have.get(day, 0 if self.since_start and day != 1 else None)


class Fleet:
    """The fleet: a million tables for `scale` 1. Equal scales and seeds give equal fleets."""

    def __init__(self, scale: float, seed: int) -> None:
        random = Random(seed)
        self.areas = max(1, round(1_000 * scale))
        self.tables = self.areas * AREA
        self.homes = array("B", (random.randrange(len(CLUSTERS)) for _ in range(self.areas)))
        self.primaries = array("B")
        self.days = array("H")  # partitions by day; 0: none
        self.hours = array("B")  # partitions of a day
        self.sizes = array("d")  # bytes of a partition, or of a table without partitions
        for area in range(self.areas):
            for local in range(AREA):
                self._add(area, local, random)
        self.partitions = sum(d * h for d, h in zip(self.days, self.hours, strict=True))
        self.versions: dict[Object, int] = {}
        self.writing: dict[Object, int] = {}  # running writes
        self.copies: dict[int, dict[int, Copy]] = {}  # by table and cluster
        self.fact_ids: dict[int, int] = {}  # changes of a table's facts
        self.table_writes: dict[int, int] = {}  # of tables with partitions without facts
        self._copied_by_hand(random)

    def _add(self, area: int, local: int, random: Random) -> None:
        home = self.homes[area]
        away = random.random() < AWAY
        self.primaries.append(random.randrange(len(CLUSTERS)) if away else home)
        days, hours, mean, share = 0, 1, DIMENSION_BYTES, random.random()
        if local >= DIMENSIONS:
            mean = PARTITION_BYTES
            if random.random() >= UNPARTITIONED:
                days = next((days for until, days in DAYS if share < until), 365)
                hours = 1 if share < DAYS[-1][0] else HOURS
        self.days.append(days)
        self.hours.append(hours)
        self.sizes.append(mean / hours * random.lognormvariate(-0.5, 1))

    def _copied_by_hand(self, random: Random) -> None:
        """Adds the copies that exist at the beginning: half of the dimensions, in two clusters
        each."""
        for area in range(self.areas):
            for local in range(0, DIMENSIONS, 2):
                table = area * AREA + local
                others = [n for n in range(len(CLUSTERS)) if n != self.primaries[table]]
                self.copies[table] = {n: Copy(0) for n in random.sample(others, 2)}

    # names

    @staticmethod
    @cache
    def database(area: int) -> str:
        return f"area{area:04}"

    def ref(self, table: int) -> TableRef:
        area, local = divmod(table, AREA)
        return TableRef(self.database(area), f"{'d' if local < DIMENSIONS else 'f'}{local:03}")

    def number(self, ref: TableRef) -> int:
        return int(ref.db[4:]) * AREA + int(ref.name[1:])

    def info(self, table: int) -> TableInfo:
        dimension = table % AREA < DIMENSIONS
        keys = () if not self.days[table] else DAILY if self.hours[table] == 1 else HOURLY
        columns = DIMENSION_COLUMNS if dimension else FACT_COLUMNS
        return TableInfo(self.ref(table), TableKind.TABLE, columns, keys)

    def table(self, ref: TableRef) -> TableInfo | None:
        """As `conf.catalog.tables.Catalog`."""
        return self.info(self.number(ref))

    def ages(self, table: int) -> range:
        """The ages in days of the partitions; today's exists once it was written."""
        return range(0 if (table, 1) in self.versions else 1, self.days[table] + 1)

    # the truth

    def is_readable(self, table: int, days: Iterable[int], cluster: int) -> bool:
        """Whether the cluster has the newest versions of these partitions, by the counters."""
        if self.primaries[table] == cluster:
            return True
        copy = self.copies.get(table, {}).get(cluster)
        return copy is not None and all(
            (table, day) not in self.writing
            and copy.version(day) == self.versions.get((table, day), 0)
            for day in days
        )

    def begin_write(self, table: int, day: int) -> None:
        key = table, day
        self.writing[key] = self.writing.get(key, 0) + 1

    def end_write(self, table: int, day: int) -> None:
        key = table, day
        self.writing[key] -= 1
        if not self.writing[key]:
            del self.writing[key]
        self.versions[key] = self.versions.get(key, 0) + 1
        if day and not self.copies.get(table):
            self.table_writes[table] = self.table_writes.get(table, 0) + 1
        self.facts_changed(table)

    def facts_changed(self, table: int) -> None:
        self.fact_ids[table] = self.fact_ids.get(table, 0) + 1

    def bytes_of(self, table: int, days: int = 1) -> float:
        """The bytes of so many days' partitions, or of a table without partitions."""
        return self.sizes[table] * self.hours[table] * days

    def copies_of(self, table: int) -> Mapping[int, Copy]:
        return self.copies.get(table, {})
