"""Copies are made, at once or while other things happen, and withdrawn."""

from contextlib import suppress

from hypothesis import strategies as st
from hypothesis.stateful import precondition, rule

from conf.names import ClusterName, TableRef
from conf.placement import Copy
from conf.write_ids import new_id
from dialect.statement import WriteAction
from metastore.errors import ChangedMeanwhile
from tests.metastore.lives.model import DAYS, PARTED, Copying, clusters, copied, objects, seldom
from tests.metastore.lives.writes import Writes


class Copies(Writes):
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
            write_id = self.begin(PARTED, frozenset([day]), WriteAction.INSERT, None)
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
