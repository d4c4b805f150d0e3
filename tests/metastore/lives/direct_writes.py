"""Writes past the proxy, which the guard reports to the view before and after them."""

import asyncio
from dataclasses import replace

from hypothesis import strategies as st
from hypothesis.stateful import precondition, rule

from conf.names import ClusterName, TableRef
from conf.write_ids import new_id
from metastore.view.inbound.removed_folders import Removed
from metastore.view.spark_writes.spark_writes import SparkWrite
from tests.metastore.lives.copies import Copies
from tests.metastore.lives.model import DAYS, PARTED, Direct, View, clusters, copied, seldom, ways


class DirectWrites(Copies):
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
