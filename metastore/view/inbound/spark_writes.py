"""Copies end before Spark writes: decisions about `causeway_write` (D10, D15).

The guard in a cluster's Spark makes the call before each write, and once more when the write has
ended, so that a copy that began in between is stale too. It names the table, if there is one, with
the static part of the partition specification, and all paths that the write may touch. `marks` are
the ids of the running writes that the statement itself belongs to: the proxy put their marks
before, and what they cover ends with them. Marks of others, or of dead proxies, change nothing.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field

from conf.names import TableRef, parse_partition_name, partition_name
from conf.placement import FACTS, NEVER_WRITTEN, WRITE, OpenWrite
from metastore.client.binary import Struct
from metastore.view.call import ref_of
from metastore.view.errors import OutsidePrimary
from metastore.view.inbound.copy_folders import Folder, FolderIndex
from metastore.view.inbound.lookups import Asking, TableNow, partitions_named, table_now
from metastore.view.inbound.version_updates import Context, set_table, write_partitions
from metastore.view.locations import ClusterView

_DATABASE, _TABLE, _SPEC, _PATHS, _MARKS = 1, 2, 3, 4, 5


@dataclass(frozen=True, slots=True)
class SparkWrite:
    """A write of one command. `spec` has the keys with a static value; `table` is None where the
    command writes paths alone.
    """

    table: TableRef | None = None
    spec: Mapping[str, str] = field(default_factory=dict)
    paths: tuple[str, ...] = ()
    marks: frozenset[str] = frozenset()


def read_write(arguments: Struct) -> SparkWrite:
    """The arguments of `causeway_write`."""
    name = str(arguments.get(_TABLE) or "")
    spec = arguments.get(_SPEC) or {}
    return SparkWrite(
        ref_of(str(arguments.get(_DATABASE) or ""), name) if name else None,
        {str(key).lower(): str(value) for key, value in spec.items()},
        tuple(map(str, arguments.get(_PATHS) or ())),
        frozenset(map(str, arguments.get(_MARKS) or ())),
    )


def touched_tables(
    write: SparkWrite, index: FolderIndex, view: ClusterView
) -> dict[TableRef, list[Folder]]:
    """The tables that the write may change, each with those of its folders that its paths touch.

    Raises OutsidePrimary for a path in a folder that the view's cluster may not write.
    """
    tables: dict[TableRef, list[Folder]] = {}
    for folder in {each for path in write.paths for each in index.touched(path, view.cluster)}:
        if folder.table != write.table:
            _refuse_foreign(folder, view)
        tables.setdefault(folder.table, []).append(folder)
    if write.table is not None:
        tables.setdefault(write.table, [])
    return dict(sorted(tables.items()))


def _refuse_foreign(folder: Folder, view: ClusterView) -> None:
    if folder.is_copy or folder.cluster not in (None, view.cluster):
        what = f"table {folder.table}"
        if folder.partition is not None:
            what = f"partition {folder.partition} of {what}"
        holds = f"the copy of {what}" if folder.is_copy else what
        raise OutsidePrimary(
            f"Folder {folder.location} holds {holds}: cluster {view.cluster} may not write it."
        )


def end_copies(
    write: SparkWrite, ref: TableRef, folders: Collection[Folder], context: Context
) -> Asking[bool]:
    """Makes stale the copies of what the write may change in the table. Whether any was there.

    `folders` are those of the table that its paths touch.
    """
    table = yield from table_now(context.view, ref.db, ref.name)
    if table is None or table.is_view:
        return False
    if ref == write.table:
        names = _chosen(table, write.spec)
        one = bool(table.keys) and set(table.keys) <= write.spec.keys()
        if names is None and one and _covered(table.placement.open, write, whole=False):
            return False  # one partition, which the proxy named with its key's type in mind
    else:
        own = [each.partition for each in folders if not each.is_copy]
        names = None if None in own else [name for name in own if name is not None]
    if names is None or not table.keys or table.placement.uniform:
        return (yield from _end_all(table, write, context))
    return (yield from _end_some(table, names, write, context))


def _end_all(table: TableNow, write: SparkWrite, context: Context) -> Asking[bool]:
    placed = table.placement
    copied = bool(placed.copies)
    if table.keys and not placed.uniform:
        copied = bool(placed.exceptions) or placed.facts != NEVER_WRITTEN
    if not copied or _covered(placed.open, write, whole=bool(table.keys)):
        return False
    yield from set_table(table, table.ref.db, {**table.found.ours, WRITE: context.new_id()})
    return True


def _end_some(
    table: TableNow, names: Iterable[str], write: SparkWrite, context: Context
) -> Asking[bool]:
    found = yield from partitions_named(table, table.ref.db, names)
    copied = [
        one
        for one in found
        if one.placement.copies and not _covered(one.placement.open, write, whole=False)
    ]
    if not copied:
        return False
    facts = {one.name: {**one.found.ours, WRITE: context.new_id()} for one in copied}
    yield from write_partitions(table, table.ref.db, copied, facts)
    now = (yield from table_now(context.view, table.ref.db, table.ref.name)) or table
    yield from set_table(now, table.ref.db, {**now.found.ours, FACTS: context.new_id()})
    return True


def _covered(marks: Iterable[OpenWrite], write: SparkWrite, *, whole: bool) -> bool:
    """Whether a mark of the statement's own is there that covers what is meant."""
    return any(mark.id in write.marks and not (whole and mark.partitions) for mark in marks)


def _chosen(table: TableNow, spec: Mapping[str, str]) -> list[str] | None:
    """The partitions that a write with these static values may change; None for any.

    Only keys of type string are compared as text: `01` may be the number 1, and no text is a NULL.
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
