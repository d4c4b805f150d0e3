"""Reads the objects of a table, and changes the records of copies in their parameters.

The metastore has no compare-and-set: an alter replaces all parameters. So a change reads an object,
checks it, alters it at once and reads it again, in small batches to keep the time between short.
docs/internals/copy.md describes the race that remains and why it is harmless or rare.
"""

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass

from conf.names import ClusterName, TableRef, parse_partition_name, partition_name
from conf.partitions import PartitionKey
from conf.placement import (
    RESERVED_PREFIX,
    BadPlacement,
    Copy,
    Placement,
    read_partition_placement,
    replace_placement,
)
from conf.write_ids import new_id
from metastore.client.catalog_client import CatalogClient
from metastore.client.metastore_client import batches
from metastore.client.types import Partition, Table
from metastore.errors import UnreadableFacts
from metastore.placement.open_formats import DELTA, open_format, why_not_copied
from metastore.placement.placement_store import PlacementStore
from pipeline.errors import NotCopyable

TABLE_ITSELF = ""  # the name of an unpartitioned table among its objects
PUBLISH_BATCH = 50
_CREATED, _PLACEHOLDER = 4, "-__PLACEHOLDER__"
_VIEWS = ("VIRTUAL_VIEW", "MATERIALIZED_VIEW", "INDEX_TABLE")


@dataclass(frozen=True, slots=True)
class DataObject:
    """An unpartitioned table (`name` is empty) or one partition (`ds=1/hr=2`)."""

    name: str
    location: str
    placement: Placement


@dataclass(frozen=True, slots=True)
class CatalogTable:
    """A table as it was read. `created` is in epoch seconds and survives a rename; `placed`: its
    parameters have cluster facts. `not_copied` is the reason why the table can have no copies; None
    if it can. `delta`: it is a table of Delta.
    """

    ref: TableRef
    keys: tuple[PartitionKey, ...]
    created: int
    location: str
    placement: Placement
    placed: bool
    not_copied: str | None = None
    delta: bool = False

    @property
    def partitioned(self) -> bool:
        return bool(self.keys)


@dataclass(frozen=True, slots=True)
class Publication:
    """A copy to record: object `name` has a copy at `location` of the version `of` of its data at
    `source`. `files` and `bytes` are the copy's size; None: unknown. `keep` is its time to live in
    seconds; None: no end. `continues`: record it only if the object's copy is at `location`
    already. `metadata` is the copy's own metadata file, of a table of Iceberg.
    """

    name: str
    source: str
    of: str
    location: str
    files: int | None = None
    bytes: int | None = None
    keep: float | None = None
    continues: bool = False
    metadata: str = ""

    def copy(self, cluster: ClusterName) -> Copy:
        """The copy as the metastore records it, published now."""
        now = time.time()
        notes: dict[str, object] = {"at": round(now, 3)}
        if self.files is not None and self.bytes is not None:
            notes |= {"files": self.files, "bytes": self.bytes}
        if self.keep is not None:
            notes["until"] = round(now + self.keep, 3)
        return Copy(cluster, self.location, self.of, notes, self.metadata)


class ObjectCatalog:
    """The objects of tables in one metastore. `default` is hive.default.cluster.name. `publishing`
    lets one of this program's publications run at a time: two would take each other for writes.

    Where clusters have metastore views, `metastore` is a client that notifies them: a change of
    facts is effective when they have confirmed it.
    """

    def __init__(
        self,
        metastore: CatalogClient,
        default: ClusterName,
        publishing: AbstractContextManager[object] | None = None,
    ) -> None:
        self._metastore = metastore
        self._publishing = publishing or nullcontext()
        self._facts = PlacementStore(metastore, default)

    def table(self, ref: TableRef) -> CatalogTable:
        """Raises NoSuchObject, NotCopyable for a view, UnreadableFacts."""
        table = self._metastore.get_table(ref)
        if table.kind in _VIEWS:
            raise NotCopyable(f"{ref} is a view: it has no data of its own.")
        return self._state(table)

    def tables_created(self, ref: TableRef, created: int) -> list[CatalogTable]:
        """The candidates for the table that was named `ref` and may have been renamed: the tables
        of its database that were created at `created` (epoch seconds); if there are none, those of
        all databases.
        """
        databases = self._metastore.get_all_databases()
        others = [name for name in databases if name != ref.db]
        for group in ([ref.db] if ref.db in databases else []), others:
            found = [
                self._state(table)
                for database in group
                for table in self._tables(database)
                if int(table.struct.get(_CREATED) or 0) == created and table.kind not in _VIEWS
            ]
            if found:
                return found
        return []

    def databases(self) -> Iterator[tuple[str, str]]:
        """The name and location of each database."""
        for name in self._metastore.get_all_databases():
            yield name, self._metastore.get_database(name).location

    def tables(self, database: str) -> Iterator[CatalogTable]:
        """All tables with data, materialized views and indexes included. Raises UnreadableFacts."""
        return (self._state(table) for table in self._tables(database) if data_location(table))

    def _tables(self, database: str) -> Iterator[Table]:
        return self._metastore.get_tables(database, self._metastore.get_all_tables(database))

    def copy_locations(self, state: CatalogTable, cluster: ClusterName) -> frozenset[str]:
        """The locations of all copies of the table's objects in a cluster."""
        placements = [state.placement]
        placements += [each.placement for each in self.objects(state, self.names(state))]
        copies = (placement.copy_in(cluster) for placement in placements)
        return frozenset(copy.location for copy in copies if copy is not None)

    def _state(self, table: Table) -> CatalogTable:
        return CatalogTable(
            ref=table.ref,
            keys=tuple(PartitionKey(name.lower(), kind) for name, kind in table.partition_keys),
            created=int(table.struct.get(_CREATED) or 0),
            location=data_location(table),
            placement=self._facts.placement(table),
            placed=any(key.startswith(RESERVED_PREFIX) for key in table.parameters),
            not_copied=why_not_copied(table),
            delta=open_format(table) == DELTA,
        )

    def names(self, state: CatalogTable) -> list[str]:
        """The names of all objects, in order."""
        if not state.partitioned:
            return [TABLE_ITSELF]
        return sorted(self._metastore.get_partition_names(state.ref))

    def objects(self, state: CatalogTable, names: Sequence[str]) -> list[DataObject]:
        """The objects that exist, in the order of `names`."""
        if not state.partitioned:
            return [DataObject(TABLE_ITSELF, state.location, state.placement)]
        found = {}
        for facts in self._metastore.get_partition_facts(state.ref, names):
            name = self._name(state, facts.values)
            placement = self._partition_placement(state, name, facts.parameters)
            found[name] = DataObject(name, facts.location, placement)
        return [found[name] for name in names if name in found]

    def publish(
        self, ref: TableRef, cluster: ClusterName, publications: Sequence[Publication]
    ) -> frozenset[str]:
        """Records each copy whose source is unchanged. Returns the names of the recorded ones."""
        published: set[str] = set()
        for batch in batches(publications, PUBLISH_BATCH):
            if batch[0].name == TABLE_ITSELF:
                published |= self._publish_table(ref, cluster, batch[0])
            else:
                with self._publishing:
                    published |= self._publish_partitions(ref, cluster, batch)
        return frozenset(published)

    def withdraw(self, ref: TableRef, cluster: ClusterName, names: Sequence[str]) -> None:
        """Removes the records of these objects' copies in a cluster. Their files stay."""
        if TABLE_ITSELF in names:
            self._facts.change_table(ref, lambda old: old.without_copy(cluster))
            return
        self._facts.change_partitions(ref, names, lambda _, old: old.without_copy(cluster))

    def announce(self, state: CatalogTable) -> None:
        """Gives the table a new facts id, so that caches read it again after partitions were
        dropped. A table without facts gets none.
        """
        if state.placed:
            fresh = new_id()
            self._facts.change_table(state.ref, lambda old: old.with_partition_facts(fresh))

    def _publish_table(
        self, ref: TableRef, cluster: ClusterName, new: Publication
    ) -> frozenset[str]:
        table = self._metastore.get_table(ref)
        if data_location(table) != new.source:
            return frozenset()
        copy, in_parts = new.copy(cluster), bool(table.partition_keys)

        def change(old: Placement) -> Placement:
            # A table whose partitions have facts of their own keeps the id through their writes.
            counts = old.uniform or not in_parts
            if new.continues and not is_copy_at(old, cluster, new.location):
                return old  # The copy was withdrawn, and a sweep may delete it.
            placed = old.with_copy(copy)
            return placed if counts and placed.is_fresh(copy) else old

        after = self._facts.change_table(ref, change)
        return frozenset({new.name} if after.copy_in(cluster) == copy else ())

    def _publish_partitions(
        self, ref: TableRef, cluster: ClusterName, batch: Sequence[Publication]
    ) -> frozenset[str]:
        """The table gets a new `facts` id before and after. A write that runs in between leaves a
        mark or another id in the table: then these copies are withdrawn.
        """
        wanted = {new.name: new for new in batch}
        announced = self._facts.announce(ref, wanted.keys())
        with self._metastore.exclusive(ref):
            ready = self._with_copies(ref, cluster, wanted)
            if not ready:
                return frozenset()
            self._metastore.alter_partitions(ref, ready.values())
        after = self.table(ref)
        now = after.placement
        crossed = (now.write, now.facts) != (announced.write, announced.facts)
        lost = {name for name in ready if crossed or any(mark.covers(name) for mark in now.open)}
        if lost:
            self._rewrite(ref, cluster, sorted(lost))
        self._facts.announce(ref, wanted.keys())
        published = set()
        for each in self.objects(after, sorted(ready.keys() - lost)):
            copy = each.placement.copy_in(cluster)
            if copy is not None and copy.location == wanted[each.name].location:
                published.add(each.name)
        return frozenset(published)

    def _rewrite(self, ref: TableRef, cluster: ClusterName, names: Sequence[str]) -> None:
        """Withdraws the copies and gives the partitions a new version. The alter may have replaced
        the version that a write had given them, so that an old copy would count as fresh.
        """
        fresh_id = new_id()
        self._facts.change_partitions(
            ref, names, lambda _, old: old.without_copy(cluster).rewritten(fresh_id)
        )

    def _with_copies(
        self, ref: TableRef, cluster: ClusterName, wanted: Mapping[str, Publication]
    ) -> dict[str, Partition]:
        """The partitions whose source is unchanged, with the new copies in their parameters."""
        state = self.table(ref)
        ready = {}
        for partition in self._metastore.get_partitions(ref, list(wanted)):
            name = self._name(state, partition.values)
            new = wanted[name]
            now = self._partition_placement(state, name, partition.parameters)
            if _is_at(now, new.of) and partition.location == new.source:
                placed = now.with_copy(new.copy(cluster))
                partition.parameters = replace_placement(partition.parameters, placed)
                ready[name] = partition
        return ready

    def _partition_placement(
        self, state: CatalogTable, name: str, parameters: Mapping[str, str]
    ) -> Placement:
        try:
            return read_partition_placement(parameters, state.placement, name)
        except BadPlacement as error:
            raise UnreadableFacts(f"{state.ref} {name}: {error}.") from error

    @staticmethod
    def _name(state: CatalogTable, values: Sequence[str]) -> str:
        keys = (key.name for key in state.keys)
        return partition_name(zip(keys, values, strict=True))


def spec_of(name: str) -> tuple[tuple[str, str], ...]:
    """The (key, value) pairs of an object's name; empty for a table itself."""
    return parse_partition_name(name) if name else ()


def data_location(table: Table) -> str:
    """The directory of a table's data. Spark has it in `path` for some tables, whose location is a
    placeholder.
    """
    path = table.storage.serde.parameters.get("path", "")
    if path and (not table.location or table.location.endswith(_PLACEHOLDER)):
        return path
    return table.location


def is_copy_at(placement: Placement, cluster: ClusterName, location: str | None) -> bool:
    """Whether the object's copy in the cluster is at this location."""
    copy = placement.copy_in(cluster)
    return copy is not None and copy.location == location


def _is_at(now: Placement, version: str) -> bool:
    return not now.writing and now.version == version
