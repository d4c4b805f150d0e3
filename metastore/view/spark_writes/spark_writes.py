"""Makes copies stale that a write of Spark changes: the decisions about `causeway_write` (D10,
D15).

The guard in a cluster's Spark makes this call before each write and after its end. The call names
the table, if there is one, the static values of its partition specification, and all paths that the
write may touch. `marks` are the ids of the proxy's writes to which the statement belongs: the proxy
has set their marks and removes them. Marks of other writes do not count here.

From the first call to the second, a write with an id has its own mark in each table that it may
change and that no mark of the proxy covers. A guard of an older version sends no id: then each of
the two calls makes the present copies stale.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from enum import Enum, auto

from conf.names import TableRef, parse_partition_name, partition_name
from conf.placement import (
    FACTS,
    NEVER_WRITTEN,
    OPEN_PREFIX,
    OpenWrite,
    bounded_names,
    rewritten_parameters,
    write_mark,
)
from conf.write_ids import with_time
from metastore.view.call import ref_of
from metastore.view.errors import OutsidePrimary
from metastore.view.inbound.version_updates import Context, set_table, write_partitions
from metastore.view.locations import ClusterView
from metastore.view.lookups import Lookup, TableNow, partitions_named, table_now
from metastore.view.spark_writes.folder_index import Folder, FolderIndex
from thriftcodec.values import Struct

_DATABASE, _TABLE, _SPEC, _PATHS, _MARKS, _ID, _ENDED, _BY, _APPLICATION = range(1, 10)


@dataclass(frozen=True, slots=True)
class SparkWrite:
    """A write as it was reported. `table` is None for a command that writes only paths; `spec` has
    the partition keys with static values. `ended` is true in the second call. `by` names the
    writing process, `application` is the id of its Spark application. Older guards send neither
    `id` nor `application`.

    `removes` are the objects whose folders the metastore deletes or moves. They are given for a
    call such as DROP TABLE, which counts as a write of these folders.
    """

    table: TableRef | None = None
    spec: Mapping[str, str] = field(default_factory=dict)
    paths: tuple[str, ...] = ()
    marks: frozenset[str] = frozenset()
    id: str = ""
    ended: bool = False
    by: str = ""
    application: str = ""
    removes: frozenset[tuple[TableRef, str | None]] = frozenset()

    def is_of_removed(self, folder: Folder) -> bool:
        """Whether the folder belongs to a removed object, or to the table of removed partitions.

        For these the call itself makes the copies stale.
        """
        if (folder.table, None) in self.removes or (folder.table, folder.partition) in self.removes:
            return True
        return folder.partition is None and any(ref == folder.table for ref, _ in self.removes)


class Marking(Enum):
    """The result of setting a write's mark in a table."""

    PUT = auto()  # the mark was set
    THERE = auto()  # the table had the mark before
    COVERED = auto()  # a mark of the proxy covers the write
    NO_TABLE = auto()


def read_write(arguments: Struct) -> SparkWrite:
    """Reads the arguments of `causeway_write`."""
    name = str(arguments.get(_TABLE) or "")
    spec = arguments.get(_SPEC) or {}
    return SparkWrite(
        ref_of(str(arguments.get(_DATABASE) or ""), name) if name else None,
        {str(key).lower(): str(value) for key, value in spec.items()},
        tuple(map(str, arguments.get(_PATHS) or ())),
        frozenset(map(str, arguments.get(_MARKS) or ())),
        str(arguments.get(_ID) or ""),
        bool(arguments.get(_ENDED)),
        str(arguments.get(_BY) or ""),
        str(arguments.get(_APPLICATION) or ""),
    )


def check_folders(write: SparkWrite, index: FolderIndex, view: ClusterView) -> None:
    """Raises OutsidePrimary if a path of the write touches a folder that the view's cluster may not
    write: that of another cluster's object, or of a copy."""
    for path in write.paths:
        for folder in index.touched(path, view.cluster):
            if folder.table != write.table and not write.is_of_removed(folder):
                _refuse_foreign(folder, view)


def touched_tables(
    write: SparkWrite, index: FolderIndex, view: ClusterView
) -> dict[TableRef, list[Folder]]:
    """The tables that the write may change, each with its folders that the paths touch."""
    tables: dict[TableRef, list[Folder]] = {}
    for folder in {each for path in write.paths for each in index.touched(path, view.cluster)}:
        if not (write.is_of_removed(folder) or folder.by_commits):
            tables.setdefault(folder.table, []).append(folder)
    if write.table is not None:
        tables.setdefault(write.table, [])
    return dict(sorted(tables.items()))


def _refuse_foreign(folder: Folder, view: ClusterView) -> None:
    if folder.is_copy or folder.cluster not in (None, view.cluster):
        what = f"table {folder.table}"
        if folder.partition is not None:
            what = f"partition {folder.partition} of {what}"
        content = f"the copy of {what}" if folder.is_copy else what
        raise OutsidePrimary(
            f"Folder {folder.location} holds {content}: cluster {view.cluster} may not write it."
        )


def end_copies(
    write: SparkWrite, ref: TableRef, folders: Collection[Folder], context: Context
) -> Lookup[bool]:
    """Makes the copies of what the write may change stale; returns whether there were any.

    `folders` are the table's folders that the write's paths touch.
    """
    table = yield from table_now(context.view, ref.db, ref.name)
    if table is None or table.is_view:
        return False
    names = _touched_partitions(table, write, folders)
    if _is_covered(table, write, names):
        return False
    if names is None:
        return (yield from _end_all(table, context))
    return (yield from _end_some(table, names, write, context))


def open_mark(
    write: SparkWrite, ref: TableRef, folders: Collection[Folder], context: Context, since: float
) -> Lookup[Marking]:
    """Sets or extends the write's own mark in the table. `since` is in epoch seconds."""
    table = yield from table_now(context.view, ref.db, ref.name)
    if table is None or table.is_view:
        return Marking.NO_TABLE
    touched = _touched_partitions(table, write, folders)
    if _is_covered(table, write, touched):
        return Marking.COVERED
    names = None if touched is None else bounded_names(touched)
    old = _own_mark(table, write)
    if old is not None:
        if old.partitions is None or (names is not None and names <= old.partitions):
            return Marking.THERE
        names = None if names is None else bounded_names(names | old.partitions)
        since = old.since
    mark = write_mark(OpenWrite(write.id, since, write.by, names, write.application))
    yield from set_table(table, ref.db, {**table.spans.facts, **mark})
    return Marking.PUT


def close_mark(
    write: SparkWrite, ref: TableRef, folders: Collection[Folder], context: Context
) -> Lookup[bool]:
    """Removes the write's own mark and gives the objects that it covered new ids; returns whether
    the table changed.

    If the mark is missing, the present copies become stale.
    """
    table = yield from table_now(context.view, ref.db, ref.name)
    if table is None or table.is_view:
        return False
    mark = _own_mark(table, write)
    if mark is None:
        return (yield from end_copies(write, ref, folders, context))
    names = _touched_partitions(table, write, folders)
    if names is None or mark.partitions is None:
        next_id = with_time(context.new_id(), mark.since)
        facts = rewritten_parameters(_without_mark(table, write), next_id)
        yield from set_table(table, ref.db, facts)
        return True
    chosen = sorted(mark.partitions.union(names))
    partitions = yield from partitions_named(table, ref.db, chosen)
    next_id = with_time(context.new_id(), mark.since)
    new = {one.name: rewritten_parameters(one.spans.facts, next_id) for one in partitions}
    yield from write_partitions(table, ref.db, partitions, new)
    now = (yield from table_now(context.view, ref.db, ref.name)) or table
    facts = {**_without_mark(now, write), FACTS: context.new_id()}
    yield from set_table(now, ref.db, facts)
    return True


def has_mark(write: SparkWrite, ref: TableRef, context: Context) -> Lookup[bool]:
    """Whether the table has the write's own mark."""
    table = yield from table_now(context.view, ref.db, ref.name)
    return table is not None and _own_mark(table, write) is not None


def _own_mark(table: TableNow, write: SparkWrite) -> OpenWrite | None:
    return next((mark for mark in table.placement.open if mark.id == write.id), None)


def _without_mark(table: TableNow, write: SparkWrite) -> dict[str, str]:
    gone = OPEN_PREFIX + write.id
    return {key: value for key, value in table.spans.facts.items() if key != gone}


def _touched_partitions(
    table: TableNow, write: SparkWrite, folders: Collection[Folder]
) -> list[str] | None:
    """The partitions with facts of their own that the write may change; None: any."""
    if not table.keys or table.placement.uniform:
        return None
    if table.ref == write.table:
        return _chosen(table, write.spec)
    own = [each.partition for each in folders if not each.is_copy]
    return None if None in own else [name for name in own if name is not None]


def _is_covered(table: TableNow, write: SparkWrite, names: Collection[str] | None) -> bool:
    """Whether marks that the proxy set for the statement cover everything that it writes."""
    marks = [mark for mark in table.placement.open if mark.id in write.marks]
    if any(mark.partitions is None or not table.keys for mark in marks):
        return True
    if table.ref == write.table and set(table.keys) <= write.spec.keys():
        return bool(marks)  # one partition, which the proxy has named in its mark
    return bool(names) and all(any(mark.covers(each) for mark in marks) for each in names or ())


def _end_all(table: TableNow, context: Context) -> Lookup[bool]:
    placed = table.placement
    copied = bool(placed.copies)
    if table.keys and not placed.uniform:
        copied = bool(placed.exceptions) or placed.facts != NEVER_WRITTEN
    if not copied:
        return False
    facts = rewritten_parameters(table.spans.facts, context.new_id())
    yield from set_table(table, table.ref.db, facts)
    return True


def _end_some(
    table: TableNow, names: Iterable[str], write: SparkWrite, context: Context
) -> Lookup[bool]:
    partitions = yield from partitions_named(table, table.ref.db, names)
    copied = [
        one
        for one in partitions
        if one.placement.copies and not any(each.id in write.marks for each in one.placement.open)
    ]
    if not copied:
        return False
    facts = {one.name: rewritten_parameters(one.spans.facts, context.new_id()) for one in copied}
    yield from write_partitions(table, table.ref.db, copied, facts)
    now = (yield from table_now(context.view, table.ref.db, table.ref.name)) or table
    yield from set_table(now, table.ref.db, {**now.spans.facts, FACTS: context.new_id()})
    return True


def _chosen(table: TableNow, spec: Mapping[str, str]) -> list[str] | None:
    """The partitions that a write with these static values may change; None: any.

    Only values of string keys are compared, and only if they are not empty: for a number `01` may
    mean 1, and an empty text may mean NULL.
    """
    plain = {
        key: spec[key]
        for key, kind in zip(table.keys, table.key_types, strict=True)
        if kind == "string" and spec.get(key)
    }
    if not plain:
        return None
    if len(plain) == len(table.keys):
        return [partition_name((key, plain[key]) for key in table.keys)]
    if table.placement.exceptions is None:
        return None
    return [
        name
        for name in sorted(table.placement.exceptions)
        if plain.items() <= dict(parse_partition_name(name)).items()
    ]
