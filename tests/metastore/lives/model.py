"""Tables in three clusters: their facts in a metastore in memory, and their bytes."""

import asyncio
from collections.abc import Awaitable, Sequence
from dataclasses import dataclass, field

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine

from conf.names import ClusterName, TableRef
from conf.partitions import PartitionKey, PartitionSet, TableFacts
from conf.placement import Placement, read_partition_placement, read_placement
from conf.topology import Cluster, Topology
from conf.write_ids import new_id
from dialect.statement import Known
from metastore.placement.placement_store import PlacementStore
from metastore.snapshot.partitions import PartitionSheet
from metastore.view.inbound.version_updates import Context
from metastore.view.locations import ClusterView
from metastore.view.lookups import Lookup, T
from metastore.view.server.direct_writes import DirectWriter
from metastore.view.server.orphans_store import OrphanLog
from metastore.view.server.removals import Removals
from metastore.view.server.reply_cache import TableCache
from metastore.view.server.shared import Shared
from metastore.view.spark_writes.spark_writes import SparkWrite
from router.request import Request
from router.route import route
from tests.metastore.in_memory import Memory

CLUSTERS = [ClusterName(name) for name in ("C1", "C2", "C3")]
TOPOLOGY = Topology({name: Cluster(name, f"hdfs://{name}", ()) for name in CLUSTERS}, CLUSTERS[0])
PLAIN = [TableRef("db", "a")]
PARTED = TableRef("db", "p")
DAYS = ["1", "2"]

clusters = st.sampled_from(CLUSTERS)
tables = st.sampled_from([*PLAIN, PARTED])
pins = st.one_of(st.none(), st.none(), st.none(), clusters)
seldom = st.sampled_from([False] * 5 + [True])
objects = st.sampled_from([(table, None) for table in PLAIN] + [(PARTED, day) for day in DAYS])
ways = st.sampled_from(["table", "path", "above", "alias", "file"])
copied = objects | st.just((PARTED, None))  # a Hudi table is copied as a whole


@dataclass(frozen=True)
class Days:
    days: frozenset[str]

    def select(self, partitions: PartitionSet) -> range | list[int]:
        return [n for n in range(len(partitions)) if partitions.row(n)[0] in self.days]

    def required(self, keys: Sequence[PartitionKey]) -> list[frozenset[str] | None]:
        return [self.days, *(None for _ in keys[1:])]


@dataclass
class Running:
    table: TableRef
    names: frozenset[str] | None
    cluster: ClusterName


@dataclass
class Direct:
    """A write past the proxy, of one object or of any partition, as the guard reports it.

    `named`: it names the table, which is marked then whether it has copies or not.
    """

    table: TableRef
    day: str | None
    cluster: ClusterName
    write: SparkWrite
    named: bool

    def touches(self, table: TableRef, day: str | None) -> bool:
        return self.table == table and (None in (self.day, day) or self.day == day)


@dataclass
class Copying:
    """`amid`: a write by path alone ran at some time since the copy began."""

    table: TableRef
    day: str | None
    cluster: ClusterName
    of: str
    bytes: dict[str, int] | None = None
    amid: bool = False


@dataclass
class View:
    """The metastore view: the real code over the metastore in memory."""

    memory: Memory
    shared: Shared = field(default_factory=lambda: Shared(OrphanLog(None), TableCache(0, False)))

    def report(self, write: SparkWrite, cluster: ClusterName) -> None:
        """The guard's call."""
        asyncio.run(self._writer(cluster).report(write))

    def settle(self, table: TableRef) -> None:
        """The call of those who have written facts."""

        async def run() -> None:
            await self.shared.settled(table)
            await self._writer(CLUSTERS[0]).settle(table)

        asyncio.run(run())

    def removals(self, cluster: ClusterName) -> Removals:
        """For a call by which the metastore deletes folders."""
        return Removals(self._writer(cluster))

    def _writer(self, cluster: ClusterName) -> DirectWriter:
        async def answered(lookup: Lookup[T]) -> T:
            return self.memory.answered(lookup)

        def run(lookup: Lookup[T]) -> Awaitable[T]:
            return answered(lookup)

        return DirectWriter(run, self.shared, Context(ClusterView(cluster, TOPOLOGY), new_id))


class Model(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.memory = Memory()
        self.view = View(self.memory)
        self.facts = PlacementStore(
            self.memory,  # type: ignore[arg-type]
            CLUSTERS[0],
            lambda ref: self.view.settle(ref),
        )
        self.files: dict[str, int] = {}  # what lies at a location
        self.version = 0
        self.writes: dict[str, Running] = {}
        self.copies: list[Copying] = []
        self.direct: list[Direct] = []

    def placement(self, table: TableRef, day: str | None) -> tuple[Placement, str]:
        """Of one object, and its primary's location."""
        found = self.memory.tables[table]
        placed = read_placement(found.parameters, CLUSTERS[0])
        if day is None:
            return placed, found.location
        partition = self.memory.partitions[table][f"ds={day}"]
        own = read_partition_placement(partition.parameters, placed, f"ds={day}")
        return own, partition.location

    def exists(self, table: TableRef, day: str | None) -> bool:
        if table not in self.memory.tables:
            return False
        return day is None or f"ds={day}" in self.memory.partitions[table]

    def known(self) -> dict[TableRef, TableFacts]:
        return {ref: self.table_facts(ref) for ref in self.memory.tables}

    def table_facts(self, ref: TableRef) -> TableFacts:
        placed = read_placement(self.memory.tables[ref].parameters, CLUSTERS[0])
        if ref != PARTED:
            return TableFacts(placed.replicas())
        found = self.memory.partitions[ref]
        sheet = PartitionSheet([PartitionKey("ds", "string")], list(found), placed.exceptions)
        rows = sheet.unknown(None)
        sheet.learn(rows, {each.values: each.parameters for each in found.values()})
        return TableFacts(placed.replicas(), sheet.placed(placed))

    def decide(self, statement: Known, pinned: ClusterName | None) -> object:
        return route(Request(statement, CLUSTERS[0], pinned), self.known())

    def put(self, location: str) -> None:
        self.version += 1
        self.files[location] = self.version
