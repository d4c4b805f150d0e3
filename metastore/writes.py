"""Running writes: what a statement may touch, and how its marks are put and taken away."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Protocol

from conf.names import PartitionRef, TableRef, partition_name
from conf.placement import NAMES_LIMIT, Placement
from conf.tables import NotLoaded
from metastore.facts import Facts
from metastore.snapshot import Snapshot, TableRecord
from metastore.snapshot_partitions import Selector

Spec = tuple[tuple[str, str], ...]


class Written(Protocol):
    """A write as `dialect.statement.Write` describes it."""

    @property
    def table(self) -> TableRef: ...
    @property
    def partitions(self) -> Selector: ...
    @property
    def named(self) -> tuple[Spec, ...]: ...
    @property
    def dynamic(self) -> bool: ...


@dataclass(frozen=True, slots=True)
class WriteTarget:
    """A table written; `partitions` has the names of the only ones touched, None is any."""

    table: TableRef
    partitions: frozenset[str] | None = None


@dataclass(frozen=True, slots=True)
class WriteToken:
    """A running write. `marked` are the tables that carry its mark."""

    id: str
    targets: tuple[WriteTarget, ...]
    marked: frozenset[TableRef] = frozenset()


def write_targets(
    written: Iterable[TableRef | PartitionRef | Written], snapshot: Snapshot
) -> tuple[WriteTarget, ...]:
    """One target a table, as narrow as what is known of it allows."""
    names: dict[TableRef, frozenset[str] | None] = {}
    for each in written:
        table = each if isinstance(each, TableRef) else each.table
        touched = _touched(each, snapshot)
        known = names.get(table, frozenset())
        names[table] = None if touched is None or known is None else known | touched
    return tuple(WriteTarget(table, some) for table, some in sorted(names.items()))


def ending(token: WriteToken, target: WriteTarget) -> Callable[[Facts], Placement | None]:
    """How the write ends for one of its tables.

    A table that appeared during the write has nothing to end, unless it brought the mark with
    it: then it is a marked one under its new name.
    """

    def end(facts: Facts) -> Placement:
        if target.table not in token.marked:
            _, placement = facts.table(target.table)
            if all(mark.id != token.id for mark in placement.open):
                return placement
        return facts.close_write(target.table, token.id, target.partitions)

    return end


def _touched(each: TableRef | PartitionRef | Written, snapshot: Snapshot) -> frozenset[str] | None:
    if isinstance(each, TableRef):
        return None
    if isinstance(each, PartitionRef):
        return frozenset([partition_name(each.spec)])
    try:
        record = snapshot.record(each.table)
    except NotLoaded:
        return None
    return None if record is None or each.dynamic else _names(each, record)


def _names(written: Written, record: TableRecord) -> frozenset[str] | None:
    """The partitions, when they can be told and are few; else None."""
    keys = [key.name for key in record.info.partition_keys]
    names: set[str] = set()
    for spec in written.named:
        values = {key.lower(): value for key, value in spec}
        if values.keys() != set(keys):
            return None
        names.add(partition_name((key, values[key]) for key in keys))
    sheet = record.partitions
    if not keys or sheet is None:
        return None
    rows = written.partitions.select(sheet.partitions)
    if len(rows) * 4 > NAMES_LIMIT:
        return None
    selected = {sheet.name(row) for row in rows}
    if len(rows) == len(sheet) and not selected <= names:
        return None  # the table as such
    return frozenset(names | selected)
