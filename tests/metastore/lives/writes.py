"""Tables come and go, and proxies write them."""

from dataclasses import replace

from hypothesis import strategies as st
from hypothesis.stateful import initialize, precondition, rule

from conf.names import ClusterName, TableRef
from conf.write_ids import new_id
from dialect.statement import ALL, Known, Write, WriteAction
from metastore.client.types import Partition, Table
from metastore.placement.assign import end_writes
from metastore.view.spark_writes.spark_writes import SparkWrite
from router.decision import RunIn
from tests.metastore.lives.model import (
    CLUSTERS,
    DAYS,
    PARTED,
    PLAIN,
    Days,
    Model,
    Running,
    pins,
    seldom,
    tables,
)


class Writes(Model):
    def begin(
        self,
        table: TableRef,
        days: frozenset[str] | None,
        action: WriteAction,
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
            self.begin(table, days, WriteAction.INSERT, pinned)

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
            write_id = self.begin(table, days, WriteAction.INSERT, None)
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
        statement = Known("create", writes=(Write(table, WriteAction.CREATE, False),))
        decision = self.decide(statement, pinned)
        assert isinstance(decision, RunIn)
        assert decision.cluster == (pinned or CLUSTERS[0])
        self.make(table, decision.cluster, uniform=uniform)

    @rule(table=tables, pinned=pins, now=seldom)
    def drop(self, table: TableRef, pinned: ClusterName | None, now: bool) -> None:
        if table not in self.memory.tables or not now:
            return
        write_id = self.begin(table, None, WriteAction.DROP, pinned)
        if write_id is not None:
            del self.memory.tables[table]
            del self.memory.partitions[table]
            self.end(write_id)

    @rule(day=st.sampled_from(DAYS), now=seldom)
    def drop_partition(self, day: str, now: bool) -> None:
        if not self.exists(PARTED, day) or not now:
            return
        write_id = self.begin(PARTED, frozenset([day]), WriteAction.ALTER, None)
        if write_id is not None:
            del self.memory.partitions[PARTED][f"ds={day}"]
            self.end(write_id)
