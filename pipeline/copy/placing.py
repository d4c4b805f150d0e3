"""Reading the objects of a table, and changing what their parameters say of copies.

The metastore has no compare-and-set: an alter replaces all parameters. A change here therefore
reads, checks what it relies on, alters at once and reads again, in small batches so that little
time lies between; docs/design/copy.md says which race is left and why it is harmless or rare.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from conf.names import ClusterName, TableRef, parse_partition_name, partition_name
from conf.partitions import PartitionKey
from conf.placement import (
    COPY_PREFIX,
    PARTITIONS,
    BadPlacement,
    Copy,
    Placement,
    read_partition_placement,
    read_placement,
    write_placement,
)
from metastore.errors import UnreadableFacts
from metastore.hms.bulk import PartitionFacts
from metastore.hms.client import batches
from metastore.hms.nouns import Partition, Table
from pipeline.errors import NotCopyable

TABLE_ITSELF = ""  # the name of an unpartitioned table among its objects
PUBLISH_BATCH = 50
_CREATED, _PLACEHOLDER = 4, "-__PLACEHOLDER__"
_VIEWS = ("VIRTUAL_VIEW", "MATERIALIZED_VIEW", "INDEX_TABLE")


class Metastore(Protocol):
    """What is asked of `metastore.hms.client.HmsClient` here."""

    def get_all_databases(self) -> list[str]: ...
    def get_all_tables(self, database: str) -> list[str]: ...
    def get_tables(self, database: str, names: Iterable[str]) -> Iterator[Table]: ...
    def get_table(self, ref: TableRef) -> Table: ...
    def get_partition_names(self, ref: TableRef) -> list[str]: ...
    def get_partitions(self, ref: TableRef, names: Iterable[str]) -> Iterator[Partition]: ...
    def get_partition_facts(
        self, ref: TableRef, names: Iterable[str]
    ) -> Iterator[PartitionFacts]: ...
    def alter_table(self, ref: TableRef, table: Table) -> None: ...
    def alter_partitions(self, ref: TableRef, partitions: Iterable[Partition]) -> None: ...


@dataclass(frozen=True, slots=True)
class Object:
    """An unpartitioned table (`name` is empty) or one partition (`ds=1/hr=2`)."""

    name: str
    location: str
    placement: Placement


@dataclass(frozen=True, slots=True)
class TableState:
    """A table as a copy needs it. `created` is in epoch seconds and survives a rename."""

    ref: TableRef
    keys: tuple[PartitionKey, ...]
    created: int
    location: str
    placement: Placement
    managed: bool

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


class Objects:
    """The objects of tables in one metastore; `default` is hive.default.cluster.name."""

    def __init__(self, metastore: Metastore, default: ClusterName) -> None:
        self._metastore = metastore
        self._default = default

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
                for table in self._metastore.get_tables(
                    database, self._metastore.get_all_tables(database)
                )
                if int(table.struct.get(_CREATED) or 0) == created and table.kind not in _VIEWS
            ]
            if found:
                return found
        return []

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
            placement=self._placement(table),
            managed=table.kind == "MANAGED_TABLE",
        )

    def names(self, state: TableState) -> list[str]:
        """The names of all objects, in order."""
        if not state.partitioned:
            return [TABLE_ITSELF]
        return sorted(self._metastore.get_partition_names(state.ref))

    def objects(self, state: TableState, names: Sequence[str]) -> list[Object]:
        """Those of the objects that exist, in the order of `names`."""
        if not state.partitioned:
            return [Object(TABLE_ITSELF, state.location, state.placement)]
        found = {}
        for facts in self._metastore.get_partition_facts(state.ref, names):
            name = self._name(state, facts.values)
            try:
                placement = read_partition_placement(facts.parameters, state.placement, name)
            except BadPlacement as error:
                raise UnreadableFacts(f"{state.ref} {name}: {error}.") from error
            found[name] = Object(name, facts.location, placement)
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
        if list(names) == [TABLE_ITSELF]:
            table = self._metastore.get_table(ref)
            if _forget(table, cluster):
                self._metastore.alter_table(ref, table)
            return
        for batch in batches(names, PUBLISH_BATCH):
            found = list(self._metastore.get_partitions(ref, batch))
            changed = [each for each in found if _forget(each, cluster)]
            if changed:
                self._metastore.alter_partitions(ref, changed)

    def _publish_table(
        self, ref: TableRef, cluster: ClusterName, new: Publication
    ) -> frozenset[str]:
        table = self._metastore.get_table(ref)
        if not _unchanged(self._placement(table), data_location(table), new):
            return frozenset()
        _record(table, cluster, new)
        self._metastore.alter_table(ref, table)
        after = self._metastore.get_table(ref)
        copy = self._placement(after).copy_in(cluster)
        return frozenset({new.name} if _is(copy, new) else ())

    def _publish_partitions(
        self, ref: TableRef, cluster: ClusterName, batch: Sequence[Publication]
    ) -> frozenset[str]:
        """The table is read before and after: a write that ran meanwhile left a mark there or
        a new id, and what was published across it is withdrawn.
        """
        before = self._drop_uniform(ref)
        wanted = {new.name: new for new in batch}
        ready = []
        for partition in self._metastore.get_partitions(ref, list(wanted)):
            name = self._name(before, partition.values)
            now = read_partition_placement(partition.parameters, before.placement, name)
            if _unchanged(now, partition.location, wanted[name]):
                _record(partition, cluster, wanted[name])
                ready.append((name, partition))
        if not ready:
            return frozenset()
        self._metastore.alter_partitions(ref, [partition for _, partition in ready])
        names = [name for name, _ in ready]
        after = self.table(ref)
        crossed = after.placement.write != before.placement.write
        lost = [n for n in names if crossed or any(m.covers(n) for m in after.placement.open)]
        if lost:
            self.withdraw(ref, cluster, lost)
        landed = {
            each.name
            for each in self.objects(after, names)
            if _is(each.placement.copy_in(cluster), wanted[each.name])
        }
        return frozenset(landed - set(lost))

    def _drop_uniform(self, ref: TableRef) -> TableState:
        """A table that promises that its partitions have no facts of their own stops to."""
        state = self.table(ref)
        if not state.placement.uniform:
            return state
        table = self._metastore.get_table(ref)
        table.parameters = {k: v for k, v in table.parameters.items() if k != PARTITIONS}
        self._metastore.alter_table(ref, table)
        return self.table(ref)

    def _placement(self, table: Table) -> Placement:
        try:
            return read_placement(table.parameters, self._default)
        except BadPlacement as error:
            raise UnreadableFacts(f"{table.ref}: {error}.") from error

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


def _unchanged(now: Placement, location: str, new: Publication) -> bool:
    return not now.writing and now.version == new.of and location == new.source


def _is(copy: Copy | None, new: Publication) -> bool:
    return copy is not None and copy.location == new.location and copy.of == new.of


def _record(target: Table | Partition, cluster: ClusterName, new: Publication) -> None:
    # Only this one parameter: whatever else is there goes back as it was.
    copy = Copy(cluster, new.location, new.of)
    key = COPY_PREFIX + cluster
    text = write_placement(Placement(cluster, copies=(copy,)))[key]
    target.parameters = {**target.parameters, key: text}


def _forget(target: Table | Partition, cluster: ClusterName) -> bool:
    key = COPY_PREFIX + cluster
    parameters = target.parameters
    if key not in parameters:
        return False
    del parameters[key]
    target.parameters = parameters
    return True
