"""Finds the tables and partitions with copies whose folder is at, below or above a path (D15).

Spark writes by path: to directories, through a second table on the same folder, by streams. Such a
write makes the copies of each object stale whose folder it touches. The index has the folders of
the few objects with copies, and those of the copies. An object that is not in the index has no copy
that could become stale.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from conf.locations import HOST, Location, readings
from conf.names import ClusterName, TableRef
from conf.placement import NEVER_WRITTEN
from metastore.view.locations import ClusterView
from metastore.view.lookups import (
    Lookup,
    PartitionNow,
    TableNow,
    partitions_named,
    readable_tables,
    table_names,
)

Parts = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Folder:
    """The folder of a table, or of its partition of that name.

    `cluster` is the primary of the object or, if `is_copy`, the cluster of the copy. It is None for
    a table with more partitions with copies than it can name: any cluster may have these.
    `by_commits`: files in the folder are data only after a commit that names them. So it is for an
    Iceberg table, whose copies are fresh for one metadata file alone.
    """

    table: TableRef
    partition: str | None
    location: str
    cluster: ClusterName | None
    is_copy: bool = False
    by_commits: bool = False

    def is_touched(self, path: str, writer: ClusterName) -> bool:
        """Whether a write of `path` in the cluster `writer` may change files in the folder.

        For an object that `writer` may write, only the paths are compared, because a file system
        has many names. Other folders are touched only if both may be in one file system.
        """
        own = not self.is_copy and self.cluster in (None, writer)
        return any(
            _overlap(here, there) and (here.may_share(there) or (own and _hosted(here, there)))
            for here in readings(self.location)
            for there in readings(path)
        )


class FolderIndex:
    """Folders of objects with copies, by table and by path."""

    def __init__(self) -> None:
        self._of: dict[TableRef, tuple[Folder, ...]] = {}
        self._at: dict[Parts, set[Folder]] = {}
        self._below: dict[Parts, set[Folder]] = {}

    def __len__(self) -> int:
        return sum(map(len, self._of.values()))

    def put(self, table: TableRef, folders: Iterable[Folder]) -> None:
        """Sets the folders of a table."""
        self.forget(table)
        known = tuple(folders)
        if known:
            self._of[table] = known
        for folder in known:
            for parts in _parts(folder):
                self._at.setdefault(parts, set()).add(folder)
                for depth in range(len(parts)):
                    self._below.setdefault(parts[:depth], set()).add(folder)

    def forget(self, table: TableRef) -> None:
        """Removes the folders of a table."""
        for folder in self._of.pop(table, ()):
            for parts in _parts(folder):
                _discard(self._at, parts, folder)
                for depth in range(len(parts)):
                    _discard(self._below, parts[:depth], folder)

    def tables_of(self, database: str) -> list[TableRef]:
        """The tables of a database that have folders in the index."""
        return [table for table in self._of if table.db == database]

    def touched(self, path: str, writer: ClusterName) -> set[Folder]:
        """The folders that a write of `path` in the cluster `writer` may change."""
        near: set[Folder] = set()
        for location in readings(path):
            near |= self._below.get(location.parts, set())
            for depth in range(len(location.parts) + 1):
                near |= self._at.get(location.parts[:depth], set())
        return {each for each in near if each.is_touched(path, writer)}


def folders_of_tables(
    view: ClusterView, database: str, names: Iterable[str] | None = None
) -> Lookup[dict[TableRef, list[Folder]]]:
    """The folders of a database's tables with copies, by table; with `names`, of those tables."""
    every = (yield from table_names(database)) if names is None else list(names)
    folders = {}
    for table in (yield from readable_tables(view, database, every)):
        folders[table.ref] = yield from _folders(table, database)
    return folders


def _folders(table: TableNow, database: str) -> Lookup[list[Folder]]:
    placed = table.placement
    if table.is_view:
        return []
    if not table.keys or placed.uniform:
        return list(_of_object(table, None)) if placed.copies else []
    if placed.exceptions is None:
        # Only if facts of its partitions changed can partitions have copies.
        changed = placed.facts != NEVER_WRITTEN
        return [Folder(table.ref, None, table.location, None)] if changed else []
    partitions = yield from partitions_named(table, database, sorted(placed.exceptions))
    return [
        folder
        for partition in partitions
        if partition.placement.copies
        for folder in _of_object(table, partition)
    ]


def _of_object(table: TableNow, partition: PartitionNow | None) -> Iterator[Folder]:
    name = None if partition is None else partition.name
    location = table.location if partition is None else partition.location
    placed = table.placement if partition is None else partition.placement
    by_commits = bool(placed.copies) and all(copy.metadata for copy in placed.copies)
    yield Folder(table.ref, name, location, placed.primary, by_commits=by_commits)
    for copy in placed.copies:
        yield Folder(table.ref, name, copy.location, copy.cluster, is_copy=True)


def _parts(folder: Folder) -> set[Parts]:
    return {each.parts for each in readings(folder.location)}


def _discard(index: dict[Parts, set[Folder]], parts: Parts, folder: Folder) -> None:
    folders = index.get(parts)
    if folders is not None:
        folders.discard(folder)
        if not folders:
            del index[parts]


def _overlap(one: Location, other: Location) -> bool:
    depth = min(len(one.parts), len(other.parts))
    return one.parts[:depth] == other.parts[:depth]


def _hosted(one: Location, other: Location) -> bool:
    return one.kind == other.kind == HOST
