"""Reading the objects of a table, and changing what their parameters say of copies.

The metastore has no compare-and-set: an alter replaces all parameters. A change here therefore
reads, checks what it relies on, alters at once and reads again, in small batches so that little
time lies between; docs/internals/copy.md says which race is left and why it is harmless or rare.
"""

from collections.abc import Iterator, Mapping, Sequence
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
from metastore.client.metastore_client import HmsClient, batches
from metastore.client.types import Partition, Table
from metastore.errors import UnreadableFacts
from metastore.placement.placement_store import Facts, new_id
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
class TableState:
    """A table as a copy needs it. `created` is in epoch seconds and survives a rename; `placed`
    says that its parameters have facts of Causeway's.
    """

    ref: TableRef
    keys: tuple[PartitionKey, ...]
    created: int
    location: str
    placement: Placement
    placed: bool

    @property
    def partitioned(self) -> bool:
        return bool(self.keys)


@dataclass(frozen=True, slots=True)
class Publication:
    """The copy of object `name` lies at `location`, taken at version `of` from `source`."""

    name: str
    source: str
    of: str
    location: str


class ObjectCatalog:
    """The objects of tables in one metastore; `default` is hive.default.cluster.name.

    Where there are views, `metastore` is a `ToldClient`: facts are certain when they have heard.
    """

    def __init__(self, metastore: HmsClient, default: ClusterName) -> None:
        self._metastore = metastore
        self._facts = Facts(metastore, default)

    def table(self, ref: TableRef) -> TableState:
        """Raises NoSuchObject, NotCopyable for a view, UnreadableFacts."""
        table = self._metastore.get_table(ref)
        if table.kind in _VIEWS:
            raise NotCopyable(f"{ref} is a view: it has no data of its own.")
        return self._state(table)

    def tables_created(self, ref: TableRef, created: int) -> list[TableState]:
        """The table once named `ref` and created then (epoch seconds), under whatever name it
        has now: those of its database that were, else those of any other.
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
        """The name and location of each."""
        for name in self._metastore.get_all_databases():
            yield name, self._metastore.get_database(name).location

    def tables(self, database: str) -> Iterator[TableState]:
        """All that has data: materialized views and indexes too. Raises UnreadableFacts."""
        return (self._state(table) for table in self._tables(database) if data_location(table))

    def _tables(self, database: str) -> Iterator[Table]:
        return self._metastore.get_tables(database, self._metastore.get_all_tables(database))

    def copy_locations(self, state: TableState, cluster: ClusterName) -> frozenset[str]:
        """Every location that a copy of the table in that cluster refers to."""
        placements = [state.placement]
        placements += [each.placement for each in self.objects(state, self.names(state))]
        copies = (placement.copy_in(cluster) for placement in placements)
        return frozenset(copy.location for copy in copies if copy is not None)

    def _state(self, table: Table) -> TableState:
        return TableState(
            ref=table.ref,
            keys=tuple(PartitionKey(name.lower(), kind) for name, kind in table.partition_keys),
            created=int(table.struct.get(_CREATED) or 0),
            location=data_location(table),
            placement=self._facts.placement(table),
            placed=any(key.startswith(RESERVED_PREFIX) for key in table.parameters),
        )

    def names(self, state: TableState) -> list[str]:
        """The names of all objects, in order."""
        if not state.partitioned:
            return [TABLE_ITSELF]
        return sorted(self._metastore.get_partition_names(state.ref))

    def objects(self, state: TableState, names: Sequence[str]) -> list[DataObject]:
        """Those of the objects that exist, in the order of `names`."""
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
        """Records each copy whose source is as it was; the names of those recorded."""
        published: set[str] = set()
        for batch in batches(publications, PUBLISH_BATCH):
            if batch[0].name == TABLE_ITSELF:
                published |= self._publish_table(ref, cluster, batch[0])
            else:
                published |= self._publish_partitions(ref, cluster, batch)
        return frozenset(published)

    def withdraw(self, ref: TableRef, cluster: ClusterName, names: Sequence[str]) -> None:
        """Forgets the copies of these objects in a cluster; their files stay."""
        if TABLE_ITSELF in names:
            self._facts.change_table(ref, lambda old: old.without_copy(cluster))
            return
        self._facts.change_partitions(ref, names, lambda _, old: old.without_copy(cluster))

    def announce(self, state: TableState) -> None:
        """Partitions were dropped: whoever remembers the table's looks again. A table without
        facts is not given any.
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
        copy, in_parts = Copy(cluster, new.location, new.of), bool(table.partition_keys)

        def change(old: Placement) -> Placement:
            counts = old.uniform or not in_parts  # else its id does not tell of every write
            return old.with_copy(copy) if counts and _at(old, new.of) else old

        after = self._facts.change_table(ref, change)
        return frozenset({new.name} if after.copy_in(cluster) == copy else ())

    def _publish_partitions(
        self, ref: TableRef, cluster: ClusterName, batch: Sequence[Publication]
    ) -> frozenset[str]:
        """The table gets a new `facts` id before and after. Between them any write that ran has
        left a mark there or another id: then what was published across it is withdrawn.
        """
        wanted = {new.name: new for new in batch}
        announced = self._facts.announce(ref, wanted.keys())
        ready = self._recorded(ref, cluster, wanted)
        if not ready:
            return frozenset()
        self._metastore.alter_partitions(ref, ready.values())
        after = self.table(ref)
        now = after.placement
        crossed = (now.write, now.facts) != (announced.write, announced.facts)
        lost = {name for name in ready if crossed or any(mark.covers(name) for mark in now.open)}
        if lost:
            self._disown(ref, cluster, sorted(lost))
        self._facts.announce(ref, wanted.keys())
        landed = set()
        for each in self.objects(after, sorted(ready.keys() - lost)):
            copy = each.placement.copy_in(cluster)
            if copy is not None and copy.location == wanted[each.name].location:
                landed.add(each.name)
        return frozenset(landed)

    def _disown(self, ref: TableRef, cluster: ClusterName, names: Sequence[str]) -> None:
        """Our alter may have taken back the new id that a write gave to these partitions: they
        get another, so that no copy anywhere passes for fresh.
        """
        fresh_id = new_id()
        self._facts.change_partitions(
            ref, names, lambda _, old: old.without_copy(cluster).rewritten(fresh_id)
        )

    def _recorded(
        self, ref: TableRef, cluster: ClusterName, wanted: Mapping[str, Publication]
    ) -> dict[str, Partition]:
        """The partitions whose source is as it was, with their copies among their facts."""
        state = self.table(ref)
        ready = {}
        for partition in self._metastore.get_partitions(ref, list(wanted)):
            name = self._name(state, partition.values)
            new = wanted[name]
            now = self._partition_placement(state, name, partition.parameters)
            if _at(now, new.of) and partition.location == new.source:
                placed = now.with_copy(Copy(cluster, new.location, new.of))
                partition.parameters = replace_placement(partition.parameters, placed)
                ready[name] = partition
        return ready

    def _partition_placement(
        self, state: TableState, name: str, parameters: Mapping[str, str]
    ) -> Placement:
        try:
            return read_partition_placement(parameters, state.placement, name)
        except BadPlacement as error:
            raise UnreadableFacts(f"{state.ref} {name}: {error}.") from error

    @staticmethod
    def _name(state: TableState, values: Sequence[str]) -> str:
        keys = (key.name for key in state.keys)
        return partition_name(zip(keys, values, strict=True))


def spec_of(name: str) -> tuple[tuple[str, str], ...]:
    """The (key, value) pairs of an object's name; none for a table itself."""
    return parse_partition_name(name) if name else ()


def data_location(table: Table) -> str:
    """Where the data is: Spark keeps a placeholder in the location of some of its tables."""
    path = table.storage.serde.parameters.get("path", "")
    if path and (not table.location or table.location.endswith(_PLACEHOLDER)):
        return path
    return table.location


def _at(now: Placement, version: str) -> bool:
    return not now.writing and now.version == version
