"""The folders that the metastore itself deletes or moves for a call.

It deletes and moves the folders of managed tables, and of external ones with
`external.table.purge`; for truncate and exchange also those of other external tables. Everything in
a folder is deleted or moved, also files of other tables and partitions.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from conf.names import TableRef
from metastore.client.object_spans import entries
from metastore.view.call import Call
from metastore.view.inbound.ownership import OrphanFolder, orphans_of, own_partitions
from metastore.view.locations import ClusterView
from metastore.view.lookups import (
    BATCH,
    Lookup,
    PartitionNow,
    TableNow,
    database_location,
    partition_names,
)
from thriftcodec.skip import text_at

_KEY_LENGTH = 4  # bytes before a string
_DELETE_DATA = {"drop": (3,), "drop_p": (4,), "drop_d": (2,)}
_DELETE_DATA_OF_REQUEST = (1, 4)


@dataclass(frozen=True, slots=True)
class Removed:
    """Folders, and the objects that they are deleted or moved for: pairs of a table and the name of
    a partition, or None for the table as a whole."""

    folders: frozenset[str] = frozenset()
    objects: frozenset[tuple[TableRef, str | None]] = frozenset()

    def __or__(self, other: "Removed") -> "Removed":
        return Removed(self.folders | other.folders, self.objects | other.objects)


NONE = Removed()


def deletes_data(call: Call) -> bool:
    """Whether a drop asks the metastore to delete files."""
    if call.spec.name == "drop_partitions_req":
        return call.is_true(_DELETE_DATA_OF_REQUEST)
    return call.is_true(_DELETE_DATA[call.spec.act.value])


def drop_of_table(
    table: TableNow, database: str, view: ClusterView, *, deletes: bool
) -> Lookup[tuple[list[OrphanFolder], Removed]]:
    """The copies that a drop of a table leaves as orphans, and the folders that it deletes.

    Raises OutsidePrimary for a partition of another cluster.
    """
    if table.is_view:
        return [], NONE
    return (yield from _whole_table(table, database, view, deletes and not is_kept(table)))


def emptied_table(table: TableNow, database: str, view: ClusterView) -> Lookup[Removed]:
    """The folders that truncate_table empties, also those of an external table. Raises
    OutsidePrimary."""
    _, removed = yield from _whole_table(table, database, view, deletes=True)
    return removed


def _whole_table(
    table: TableNow, database: str, view: ClusterView, deletes: bool
) -> Lookup[tuple[list[OrphanFolder], Removed]]:
    """The table's copies and folders, with those of its partitions. Partitions are read only if
    they may have facts of their own, or folders outside the table's."""
    left = orphans_of(str(table.ref), table.placement)
    folders, inside = {table.location}, table.location.rstrip("/") + "/"
    if table.keys and (deletes or not table.placement.uniform):
        names = yield from partition_names(table, database)
        for start in range(0, len(names), BATCH):
            batch = names[start : start + BATCH]
            for partition in (yield from own_partitions(table, database, batch, view)):
                left += orphans_of(f"{table.ref}@{partition.name}", partition.placement)
                if ".." in partition.location or not partition.location.startswith(inside):
                    folders.add(partition.location)
    removed = Removed(_known(folders), frozenset({(table.ref, None)})) if deletes else NONE
    return left, removed


def dropped_partitions(table: TableNow, partitions: Iterable[PartitionNow]) -> Removed:
    """The folders that a drop of partitions with their files deletes."""
    return NONE if is_kept(table) else removed_partitions(table, partitions)


def removed_partitions(
    table: TableNow, partitions: Iterable[PartitionNow], target: TableNow | None = None
) -> Removed:
    """The folders that a truncation of partitions empties, or that a move to the table `target`
    changes; also those of external tables."""
    folders, objects = set(), set()
    for one in partitions:
        folders.add(one.location)
        objects.add((table.ref, one.name))
        if target is not None:
            folders.add(f"{target.location.rstrip('/')}/{one.name}")
            objects.add((target.ref, one.name))
    return Removed(_known(folders), frozenset(objects))


def renamed_partitions(
    table: TableNow, partitions: Iterable[PartitionNow], new_names: Iterable[str]
) -> Removed:
    """The folders that rename_partition moves: into the table's folder, under the new name."""
    moved = dropped_partitions(table, partitions)
    if not moved.folders:
        return NONE
    new = list(new_names)
    places = frozenset(f"{table.location.rstrip('/')}/{name}" for name in new)
    return moved | Removed(places, frozenset((table.ref, name) for name in new))


def renamed_table(table: TableNow, database: str, new: TableRef) -> Lookup[Removed]:
    """The folders that a rename of a table moves."""
    if new == table.ref or table.is_view or is_kept(table):
        return NONE
    home = yield from database_location(database)
    folders = {table.location, f"{home.rstrip('/')}/{new.name}" if home else ""}
    return Removed(_known(folders), frozenset({(table.ref, None), (new, None)}))


def is_kept(table: TableNow) -> bool:
    """Whether the metastore keeps the files of a dropped table: it is external and not purged."""
    parameters = _parameters(table)
    external = parameters.get("EXTERNAL", "").upper() == "TRUE"
    purged = parameters.get("external.table.purge", "").upper() == "TRUE"
    return table.kind == "EXTERNAL_TABLE" and external and not purged


def _parameters(table: TableNow) -> dict[str, str]:
    span = table.spans.parameters
    if span is None:
        return {}
    parameters = {}
    for key, (start, _) in entries(table.data, span):
        value = start + _KEY_LENGTH + len(key)
        parameters[key.decode("utf-8", "replace")] = text_at(table.data, value)
    return parameters


def _known(folders: Iterable[str]) -> frozenset[str]:
    return frozenset(filter(None, folders))
