"""Random lives of tables over three clusters: no read sees stale or missing data, no write happens
outside the primary (DC-M4, DC-R2, DC-R4, D10, D15).

The facts are changed by the real code over a metastore in memory, routed by the real router from
real partition sheets; the bytes are numbers in a dictionary, which is the model. Some writers come
past the proxy, by table, by path, through a second table, as streams or file by file without a
plan: the view gets the guard's calls before and after each of them, as long as the writer lives.
Proxies and writers die and leave their marks, and the view starts again.
"""

import asyncio
import os
from collections.abc import Awaitable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from conf.names import ClusterName, TableRef
from conf.partitions import PartitionKey, PartitionSet, TableFacts
from conf.placement import Copy, Placement, read_partition_placement, read_placement
from conf.topology import Cluster, Topology
from conf.write_ids import new_id
from dialect.statement import ALL, Action, Known, Read, Write
from metastore.client.types import Partition, Table
from metastore.errors import ChangedMeanwhile
from metastore.placement.assign import end_writes
from metastore.placement.placement_store import PlacementStore
from metastore.snapshot.partitions import PartitionSheet
from metastore.view.inbound.removed_folders import Removed
from metastore.view.inbound.version_updates import Context
from metastore.view.locations import ClusterView
from metastore.view.lookups import Asking, T
from metastore.view.server.direct_writes import DirectWriter
from metastore.view.server.orphans_store import OrphanLog
from metastore.view.server.removals import Removals
from metastore.view.server.reply_cache import TableCache
from metastore.view.server.shared import Shared
from metastore.view.spark_writes.spark_writes import SparkWrite
from router.decision import RunIn
from router.request import Request
from router.route import route
from tests.metastore.in_memory import Memory

CLUSTERS = [ClusterName(name) for name in ("C1", "C2", "C3")]
TOPOLOGY = Topology({name: Cluster(name, f"hdfs://{name}", ()) for name in CLUSTERS}, CLUSTERS[0])
PLAIN = [TableRef("db", "a")]
PARTED = TableRef("db", "p")
DAYS = ["1", "2"]
LIVES = int(os.environ.get("CAUSEWAY_HISTORIES", "60"))

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
        async def answered(questions: Asking[T]) -> T:
            return self.memory.answered(questions)

        def ask(questions: Asking[T]) -> Awaitable[T]:
            return answered(questions)

        return DirectWriter(ask, self.shared, Context(ClusterView(cluster, TOPOLOGY), new_id))


class Lives(RuleBasedStateMachine):
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

    # placements and locations

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

    # tables come and go

    @initialize(outside=st.booleans())
    def start(self, outside: bool) -> None:
        """`outside`: one partition does not lie in its table's folder."""
        for number, table in enumerate([*PLAIN, PARTED]):
            self.make(table, CLUSTERS[number], uniform=True)
        for day in DAYS:
            placed, root = self.placement(PARTED, None)
            root = f"{placed.primary}/elsewhere" if outside and day == DAYS[1] else root
            location = f"{root}/ds={day}"
            made = Partition.make(self.memory.tables[PARTED], [day], location, {})
            self.memory.partitions[PARTED][f"ds={day}"] = made
            self.put(location)

    def make(self, table: TableRef, cluster: ClusterName, *, uniform: bool) -> None:
        location = f"{cluster}/{table.name}/{new_id()}"
        keys = [("ds", "string")] if table == PARTED else []
        parameters = {"causeway.partitions": "uniform"} if uniform and keys else {}
        made = Table.make(table, [], location=location, partition_keys=keys, parameters=parameters)
        self.memory.tables[table] = made
        self.memory.partitions[table] = {}
        self.facts.claim(table, cluster)
        if table != PARTED:
            self.put(location)

    @rule(table=tables, pinned=pins, uniform=st.booleans())
    def create(self, table: TableRef, pinned: ClusterName | None, uniform: bool) -> None:
        if table in self.memory.tables:
            return
        statement = Known("create", writes=(Write(table, Action.CREATE, False),))
        decision = self.decide(statement, pinned)
        assert isinstance(decision, RunIn)
        assert decision.cluster == (pinned or CLUSTERS[0])
        self.make(table, decision.cluster, uniform=uniform)

    @rule(table=tables, pinned=pins, now=seldom)
    def drop(self, table: TableRef, pinned: ClusterName | None, now: bool) -> None:
        if table not in self.memory.tables or not now:
            return
        write_id = self.begin(table, None, Action.DROP, pinned)
        if write_id is not None:
            del self.memory.tables[table]
            del self.memory.partitions[table]
            self.end(write_id)

    @rule(day=st.sampled_from(DAYS), now=seldom)
    def drop_partition(self, day: str, now: bool) -> None:
        if not self.exists(PARTED, day) or not now:
            return
        write_id = self.begin(PARTED, frozenset([day]), Action.ALTER, None)
        if write_id is not None:
            del self.memory.partitions[PARTED][f"ds={day}"]
            self.end(write_id)

    # writes

    def begin(
        self,
        table: TableRef,
        days: frozenset[str] | None,
        action: Action,
        pinned: ClusterName | None,
    ) -> str | None:
        """Routes a write and marks it; None when it is refused."""
        chosen = ALL if days is None else Days(days)
        named = tuple((("ds", day),) for day in sorted(days or ()))
        write = Write(table, action, True, chosen, named, dynamic=days is None)
        decision = self.decide(Known("insert", writes=(write,)), pinned)
        primary, _ = self.placement(table, None)
        touched = {primary.primary}
        for day in days or ():
            if self.exists(table, day):
                touched = {self.placement(table, day)[0].primary}
        if not isinstance(decision, RunIn):
            assert pinned is not None
            assert pinned not in touched
            return None
        assert decision.cluster in touched
        names = None if days is None else frozenset(f"ds={day}" for day in days)
        write_id = new_id()
        self.facts.open_write(table, write_id, names, 0, "test")
        self.writes[write_id] = Running(table, names, decision.cluster)
        return write_id

    @rule(table=tables, day=st.none() | st.sampled_from(DAYS), pinned=pins)
    def begin_write(self, table: TableRef, day: str | None, pinned: ClusterName | None) -> None:
        if table in self.memory.tables:
            days = frozenset([day]) if table == PARTED and day is not None else None
            self.begin(table, days, Action.INSERT, pinned)

    @precondition(lambda self: self.writes)
    @rule(data=st.data())
    def write_bytes(self, data: st.DataObject) -> None:
        self.write_into(self.writes[data.draw(st.sampled_from(list(self.writes)))], data)

    def write_into(self, running: Running, data: st.DataObject) -> None:
        if running.table not in self.memory.tables:
            return
        paths = (self.memory.tables[running.table].location,)
        write_id = next((key for key, each in self.writes.items() if each is running), "lost")
        named = [name[3:] for name in running.names or ()]
        spec = {"ds": named[0]} if len(named) == 1 else {}
        write = SparkWrite(running.table, spec, paths, frozenset([write_id]), new_id())
        self.view.report(write, running.cluster)
        self.write_one(running, data)
        self.view.report(replace(write, ended=True), running.cluster)

    def write_one(self, running: Running, data: st.DataObject) -> None:
        if running.table != PARTED:
            self.put(self.memory.tables[running.table].location)
            return
        names = running.names or [f"ds={day}" for day in DAYS]
        name = data.draw(st.sampled_from(sorted(names)))
        found = self.memory.partitions[PARTED]
        if name not in found:
            found[name] = self.new_partition(name, data)
        self.put(found[name].location)

    def new_partition(self, name: str, data: st.DataObject) -> Partition:
        """In its table's folder or elsewhere."""
        table = self.memory.tables[PARTED]
        placed, root = self.placement(PARTED, None)
        if placed.exceptions is not None and data.draw(st.booleans()):
            root = f"{placed.primary}/elsewhere"
        return Partition.make(table, [name[3:]], f"{root}/{name}/{new_id()}", {})

    @rule(table=tables, day=st.none() | st.sampled_from(DAYS), data=st.data())
    def write_at_once(self, table: TableRef, day: str | None, data: st.DataObject) -> None:
        if table in self.memory.tables:
            days = frozenset([day]) if table == PARTED and day is not None else None
            write_id = self.begin(table, days, Action.INSERT, None)
            assert write_id is not None
            self.write_into(self.writes[write_id], data)
            self.end(write_id)

    @precondition(lambda self: self.writes)
    @rule(data=st.data(), crash=seldom)
    def end_write(self, data: st.DataObject, crash: bool) -> None:
        write_id = data.draw(st.sampled_from(list(self.writes)))
        if crash:  # the proxy dies; the cluster may go on writing unseen
            running = self.writes.pop(write_id)
            if self.exists(running.table, None) and running.table != PARTED:
                self.put(self.memory.tables[running.table].location)
            return
        self.end(write_id)

    def end(self, write_id: str) -> None:
        running = self.writes.pop(write_id)
        if running.table in self.memory.tables:
            self.facts.close_write(running.table, write_id, running.names)

    @rule(table=tables)
    def end_marks(self, table: TableRef) -> None:
        """An operator says that the writers are dead."""
        running = any(each.table == table for each in [*self.writes.values(), *self.direct])
        if table in self.memory.tables and not running:
            end_writes(self.facts, table)

    # writes past the proxy

    @rule(which=copied, how=ways)
    def begin_direct(self, which: tuple[TableRef, str | None], how: str) -> None:
        table, day = which
        if not self.exists(table, day):
            return
        placement, location = self.placement(table, day)
        by_folder = how != "table" and table == PARTED and day is None
        if by_folder and not self.all_below(location):
            return  # partitions of other clusters and outside of the folder are not written
        if how == "file" and table == PARTED and day is None:
            return  # a file lies in one partition
        write = {
            "table": SparkWrite(table, {} if day is None else {"ds": day}, (location,)),
            "path": SparkWrite(paths=(location,)),
            "above": SparkWrite(paths=(location.rpartition("/")[0],)),
            "alias": SparkWrite(TableRef("db", "alias"), {}, (location,)),
            "file": SparkWrite(paths=(f"{location}/new/part-0",)),
        }[how]
        others = {self.placement(table, each)[0].primary for each in self.days_of(table, day)}
        if others - {placement.primary}:
            return  # the guard refuses it
        write = replace(write, id=new_id(), by="a server")
        self.view.report(write, placement.primary)
        direct = Direct(table, day, placement.primary, write, named=how == "table")
        self.direct.append(direct)
        for copying in self.copies:
            copying.amid |= not direct.named and direct.touches(copying.table, copying.day)

    def all_below(self, location: str) -> bool:
        """Whether all partitions lie below this location."""
        found = self.memory.partitions[PARTED]
        return all(each.location.startswith(location) for each in found.values())

    def days_of(self, table: TableRef, day: str | None) -> list[str | None]:
        if table != PARTED or day is not None:
            return [day]
        return [each for each in DAYS if self.exists(table, each)]

    @precondition(lambda self: self.direct)
    @rule(data=st.data())
    def direct_bytes(self, data: st.DataObject) -> None:
        self.write_directly(data.draw(st.sampled_from(self.direct)), data)

    def write_directly(self, direct: Direct, data: st.DataObject) -> None:
        if not self.exists(direct.table, direct.day):
            return
        day = data.draw(st.sampled_from(self.days_of(direct.table, direct.day) or [None]))
        if direct.table == PARTED and day is None:
            return
        placement, location = self.placement(direct.table, day)
        if placement.primary == direct.cluster and location in self.files:
            self.put(location)

    @precondition(lambda self: self.direct)
    @rule(data=st.data())
    def end_direct(self, data: st.DataObject) -> None:
        direct = data.draw(st.sampled_from(self.direct))
        self.direct.remove(direct)
        self.view.report(replace(direct.write, ended=True), direct.cluster)

    @precondition(lambda self: self.direct)
    @rule(data=st.data())
    def kill_direct(self, data: st.DataObject) -> None:
        """The server dies in the middle; the view does not hear from it again."""
        direct = data.draw(st.sampled_from(self.direct))
        self.write_directly(direct, data)
        self.direct.remove(direct)
        for running in self.view.shared.writes.all():
            if running.write.id == direct.write.id:
                running.last_report = -1e9

    @rule(now=seldom)
    def restart_view(self, now: bool) -> None:
        """The guards soon repeat which writes run."""
        if now:
            self.view = View(self.memory)
            for direct in self.direct:
                self.view.report(direct.write, direct.cluster)

    @rule(which=copied, how=ways, copier=st.none() | clusters, data=st.data())
    def write_directly_at_once(
        self,
        which: tuple[TableRef, str | None],
        how: str,
        copier: ClusterName | None,
        data: st.DataObject,
    ) -> None:
        """Sometimes a copy is taken and published in the middle of it."""
        before = len(self.direct)
        self.begin_direct(which, how)
        if len(self.direct) > before:
            direct = self.direct[-1]
            if copier is not None:
                self.begin_copy(which, copier, 3)
            self.write_directly(direct, data)
            self.direct.remove(direct)
            self.view.report(replace(direct.write, ended=True), direct.cluster)

    @rule(which=copied, copier=st.none() | clusters, data=st.data())
    def drop_alias(
        self,
        which: tuple[TableRef, str | None],
        copier: ClusterName | None,
        data: st.DataObject,
    ) -> None:
        """Drops a second table on the folder: the metastore deletes the first one's files."""
        table, day = which
        if not self.exists(table, day):
            return
        placement, location = self.placement(table, day)
        if table == PARTED and day is None and not self.all_below(location):
            return
        if {self.placement(table, each)[0].primary for each in self.days_of(table, day)} - {
            placement.primary
        }:
            return  # the view refuses it
        removals = self.view.removals(placement.primary)
        alias = TableRef("db", "alias")
        removed = Removed(frozenset({location}), frozenset({(alias, None)}))
        if not asyncio.run(removals.may_be_sent(removed)):
            asyncio.run(removals.mark())
        drop = Direct(table, day, placement.primary, SparkWrite(), named=False)
        self.direct.append(drop)
        for copying in self.copies:
            copying.amid |= drop.touches(copying.table, copying.day)
        if copier is not None:
            self.begin_copy(which, copier, 3)
        self.write_directly(drop, data)
        self.direct.remove(drop)
        asyncio.run(removals.__aexit__(None, None, None))

    # copies

    @rule(which=copied, cluster=clusters, steps=st.integers(1, 3))
    def begin_copy(
        self, which: tuple[TableRef, str | None], cluster: ClusterName, steps: int
    ) -> None:
        """Some copies are done at once, others while the world goes on."""
        if not self.exists(*which):
            return
        placement, location = self.placement(*which)
        if cluster == placement.primary or placement.writing:
            return
        if which == (PARTED, None) and not self.all_below(location):
            return  # only Hudi tables are copied as a whole; their partitions lie in the folder
        amid = any(each.touches(*which) and not each.named for each in self.direct)
        copying = Copying(*which, cluster, placement.version, amid=amid)
        self.copies.append(copying)
        if steps > 1:
            self.take_bytes(copying)
        if steps > 2:
            self.publish(copying)

    @rule(cluster=clusters)
    def copy_all(self, cluster: ClusterName) -> None:
        """What a nightly job leaves: a fresh copy of each object that is not being written.

        Writes of whole tables are over then; marks of single partitions may be left.
        """
        for write_id in [key for key, each in self.writes.items() if each.names is None]:
            self.end(write_id)
        for table in self.memory.tables:
            placed, _ = self.placement(table, None)
            if any(mark.partitions is None for mark in placed.open):
                self.end_marks(table)
            for day in self.days_of(table, None):
                if table != PARTED or day is not None:
                    self.begin_copy((table, day), cluster, 3)

    @rule(day=st.sampled_from(DAYS))
    def die_while_writing(self, day: str) -> None:
        """A proxy leaves its mark of one partition."""
        if PARTED in self.memory.tables:
            write_id = self.begin(PARTED, frozenset([day]), Action.INSERT, None)
            self.writes.pop(write_id or "", None)

    @precondition(lambda self: self.copies)
    @rule(data=st.data())
    def copy_on(self, data: st.DataObject) -> None:
        copying = data.draw(st.sampled_from(self.copies))
        if copying.bytes is None:
            self.take_bytes(copying)
        else:
            self.publish(copying)

    def take_bytes(self, copying: Copying) -> None:
        if self.exists(copying.table, copying.day):
            copying.bytes = self.source_bytes(copying)

    def source_bytes(self, copying: Copying) -> dict[str, int]:
        if (copying.table, copying.day) == (PARTED, None):
            found = self.memory.partitions[PARTED]
            return {f"/{name}": self.files[each.location] for name, each in found.items()}
        return {"": self.files[self.placement(copying.table, copying.day)[1]]}

    def publish(self, copying: Copying) -> None:
        self.copies.remove(copying)
        if copying.bytes is None or not self.exists(copying.table, copying.day):
            return
        placement, _ = self.placement(copying.table, copying.day)
        if copying.cluster == placement.primary:
            return
        location = f"{copying.cluster}/copy/{new_id()}"
        self.files |= {location + name: body for name, body in copying.bytes.items()}
        copy = Copy(copying.cluster, location, copying.of)
        if copying.day is None:
            if copying.table != PARTED or placement.uniform:
                self.facts.change_table(copying.table, lambda old: old.with_copy(copy))
        else:
            name = f"ds={copying.day}"
            with suppress(ChangedMeanwhile):  # its mark was extended: the copy is stale
                self.facts.change_partitions(PARTED, [name], lambda _, old: old.with_copy(copy))
        if copying.amid and self.source_bytes(copying) != copying.bytes:
            # The copy engine lists the source once more after it has published.
            self.withdraw(copying.table, copying.day, copying.cluster)

    @rule(which=objects, cluster=clusters, now=seldom)
    def remove_copy(
        self, which: tuple[TableRef, str | None], cluster: ClusterName, now: bool
    ) -> None:
        table, day = which
        if self.exists(table, day) and now:
            self.withdraw(table, day, cluster)

    def withdraw(self, table: TableRef, day: str | None, cluster: ClusterName) -> None:
        if day is None:
            self.facts.change_table(table, lambda old: old.without_copy(cluster))
        else:
            self.facts.change_partitions(
                PARTED, [f"ds={day}"], lambda _, old: old.without_copy(cluster)
            )

    # reads

    @rule(
        wanted=st.lists(objects, min_size=1, max_size=3, unique=True),
        pinned=pins,
        whole=st.booleans(),
    )
    def read(
        self,
        wanted: list[tuple[TableRef, str | None]],
        pinned: ClusterName | None,
        whole: bool,
    ) -> None:
        days = frozenset(DAYS if whole else [day for _, day in wanted if day is not None])
        refs = {table for table, _ in wanted if table in self.memory.tables}
        reads = tuple(Read(table, Days(days) if table == PARTED else ALL) for table in sorted(refs))
        decision = self.decide(Known("select", reads=reads), pinned)
        seen = [
            (table, day)
            for table in refs
            for day in (days if table == PARTED else [None])
            if self.exists(table, day)
        ]
        if isinstance(decision, RunIn):
            for table, day in seen:
                self.check_read(table, day, decision.cluster)
        else:
            assert (
                pinned is not None or len({self.placement(*each)[0].primary for each in seen}) > 1
            )

    def check_read(self, table: TableRef, day: str | None, cluster: ClusterName) -> None:
        placement, own = self.placement(table, day)
        truth = self.files[own]
        if cluster == placement.primary:
            return
        copy, name = placement.copy_in(cluster), ""
        if copy is None and table == PARTED:
            copy, name = self.placement(table, None)[0].copy_in(cluster), f"/ds={day}"
        assert copy is not None, f"{table} {day} is not in {cluster}"
        assert self.files[copy.location + name] == truth, f"{table} {day} in {cluster} is stale"

    @invariant()
    def a_whole_copy_is_fresh_for_every_partition(self) -> None:
        if PARTED in self.memory.tables:
            placed, _ = self.placement(PARTED, None)
            for day in DAYS if placed.uniform else ():
                for cluster in placed.replicas().fresh if self.exists(PARTED, day) else ():
                    self.check_read(PARTED, day, cluster)

    @invariant()
    def nothing_is_fresh_that_differs(self) -> None:
        for ref in self.memory.tables:
            for day in DAYS if ref == PARTED else [None]:
                if self.exists(ref, day):
                    for cluster in self.placement(ref, day)[0].replicas().fresh:
                        self.check_read(ref, day, cluster)


TestLives = pytest.mark.slow(Lives.TestCase)
TestLives.settings = settings(max_examples=LIVES, stateful_step_count=60, deadline=None)
