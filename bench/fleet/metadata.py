"""A metastore of the fleet's tables, and the proxy's own cache of it.

The snapshot, its partitions and their loader are the proxy's. Their calls to the metastore end in
the model, which counts them.
"""

import asyncio
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

from bench.fleet.fleet import CLUSTERS, WHOLE, Fleet, day_of
from conf.catalog.tables import NotLoaded
from conf.names import ClusterName, TableRef
from conf.partitions import TableFacts
from conf.placement import (
    COPY_PREFIX,
    NEVER_WRITTEN,
    WRITE,
    Copy,
    OpenWrite,
    Placement,
    bounded_names,
)
from metastore.snapshot.partitions_client import PartitionLoader
from metastore.snapshot.slices import Selector, Slice
from metastore.snapshot.snapshot import Snapshot, TableRecord

ATTEMPTS = 5


class Listed(NamedTuple):
    """The facts of one partition, as the metastore's client has them."""

    values: tuple[str, ...]
    parameters: dict[str, str]


class Metastore:
    """The fleet as the loader's client."""

    def __init__(self, fleet: Fleet) -> None:
        self.fleet = fleet
        self.calls: Counter[str] = Counter()

    def record(self, table: int) -> TableRecord:
        self.calls["get_table"] += 1
        fleet = self.fleet
        size = int(fleet.bytes_of(table, max(fleet.days[table], 1)))
        return TableRecord(fleet.info(table), self.placement(table), size=size)

    def placement(self, table: int) -> Placement:
        fleet = self.fleet
        primary = CLUSTERS[fleet.primaries[table]]
        if not fleet.days[table]:
            return self._of_table(table, primary)
        mark = OpenWrite("w", partitions=frozenset(self.names(table, [0])))
        return Placement(
            primary,
            str(fleet.table_writes.get(table, NEVER_WRITTEN)),
            (),
            (mark,) if (table, 1) in fleet.writing else (),
            facts=str(fleet.fact_ids.get(table, NEVER_WRITTEN)),
            exceptions=self._exceptions(table),
        )

    def _of_table(self, table: int, primary: ClusterName) -> Placement:
        """The placement of a table without partitions."""
        fleet, copies = self.fleet, []
        for cluster, copy in sorted(fleet.copies_of(table).items()):
            if (held := copy.version(WHOLE)) is not None:
                name = CLUSTERS[cluster]
                copies.append(Copy(name, f"hdfs://{name}/{table}", str(held)))
        version = fleet.versions.get((table, WHOLE), NEVER_WRITTEN)
        marks = (OpenWrite("w"),) if (table, WHOLE) in fleet.writing else ()
        return Placement(primary, str(version), tuple(copies), marks, exceptions=frozenset())

    def _exceptions(self, table: int) -> frozenset[str] | None:
        copies = self.fleet.copies_of(table).values()
        most = max((copy.days for copy in copies), default=-1)
        return bounded_names(self.names(table, (a for a in self.fleet.ages(table) if a <= most)))

    def names(self, table: int, ages: Iterable[int]) -> list[str]:
        hours = self.fleet.hours[table]
        if hours == 1:
            return [f"ds={day_of(age)}" for age in ages]
        return [f"ds={day_of(age)}/hr={hour:02}" for age in ages for hour in range(hours)]

    # as `metastore.client.metastore_client.HmsClient`

    def get_partition_names(self, ref: TableRef) -> list[str]:
        table = self.fleet.number(ref)
        names = self.names(table, self.fleet.ages(table))
        self.calls["get_partition_names"] += 1
        self.calls["names of partitions"] += len(names)
        return names

    def get_partition_names_ps(self, ref: TableRef, values: Slice) -> list[str]:
        table = self.fleet.number(ref)
        self.calls["get_partition_names_ps"] += 1
        names = self.names(table, (a for a in self.fleet.ages(table) if day_of(a) == values[0]))
        self.calls["names of partitions"] += len(names)
        return names

    def get_partition_facts(self, ref: TableRef, names: Sequence[str]) -> list[Listed]:
        table = self.fleet.number(ref)
        self.calls["get_partitions_by_names"] += 1
        self.calls["facts of partitions"] += len(names)
        by_day = {day_of(age): age for age in self.fleet.ages(table)}
        return [self._facts(table, by_day, name) for name in names]

    def _facts(self, table: int, by_day: dict[str, int], name: str) -> Listed:
        values = tuple(part.partition("=")[2] for part in name.split("/"))
        day = by_day[values[0]] + 1
        fleet, found = self.fleet, {}
        if version := fleet.versions.get((table, day)):
            found[WRITE] = str(version)
        under = fleet.table_writes.get(table, NEVER_WRITTEN)
        for number, copy in fleet.copies_of(table).items():
            if (held := copy.version(day)) is not None:
                of = f"{under}/{held}"
                found[COPY_PREFIX + CLUSTERS[number]] = (
                    f'{{"location":"hdfs://x/{table}","of":"{of}"}}'
                )
        return Listed(values, found)


class Pool:
    """As `metastore.client.async_client.ClientPool`, without threads and connections."""

    def __init__(self, client: Metastore) -> None:
        self._client: Any = client

    async def run(self, read: Callable[[Any], Any]) -> Any:
        return read(self._client)

    def submit(self, read: Callable[[Any], Any]) -> "asyncio.Future[Any]":
        done: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        done.set_result(read(self._client))
        return done


class Cache:
    """The cache of one worker of a proxy whose metastore changes only through the views. A table is
    read again when it has changed, or when its facts are older than the snapshot's ttl."""

    def __init__(
        self, metastore: Metastore, limit: int, ttl: float, clock: Callable[[], float]
    ) -> None:
        self.snapshot = Snapshot(ttl, limit, clock)
        self._metastore = metastore
        pool: Any = Pool(metastore)
        self._loader = PartitionLoader(self.snapshot, pool)
        self._changed: set[int] = set()
        self.hits = 0

    def changed(self, table: int) -> None:
        self._changed.add(table)

    async def facts(
        self, table: int, ref: TableRef, selectors: Sequence[Selector] | None
    ) -> TableFacts | None:
        """The facts of a table, read from the metastore if the snapshot lacks them."""
        if table not in self._changed:
            try:
                found = self.snapshot.facts(ref, selectors)
            except NotLoaded:
                pass
            else:
                if self._loader.is_ready(ref, selectors):
                    self.hits += 1
                    return found
        if table in self._changed or not self._is_known(ref):
            self._read(table, ref)
        for _ in range(ATTEMPTS):
            if await self._loader.ensure(ref, selectors):
                return self.snapshot.facts(ref, selectors)
            self._read(table, ref)
        raise AssertionError(f"{ref} kept changing")

    def _is_known(self, ref: TableRef) -> bool:
        try:
            self.snapshot.record(ref)
        except NotLoaded:
            return False
        return True

    def _read(self, table: int, ref: TableRef) -> None:
        self._changed.discard(table)
        token = self.snapshot.begin(ref)
        self.snapshot.put_table(ref, self._metastore.record(table), token)
        self.snapshot.end(ref, token)
