"""Running writes: what a statement may touch, and how its marks are put and taken away."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from conf.names import PartitionRef, TableRef, partition_name
from conf.placement import Placement
from metastore.placement.placement_store import PlacementStore


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


def write_targets(written: Iterable[TableRef | PartitionRef]) -> tuple[WriteTarget, ...]:
    """One target a table; a table named as such is written in any of its partitions."""
    names: dict[TableRef, frozenset[str] | None] = {}
    for each in written:
        if isinstance(each, TableRef):
            names[each] = None
            continue
        known = names.get(each.table, frozenset())
        if known is not None:
            names[each.table] = known | {partition_name(each.spec)}
    return tuple(WriteTarget(table, some) for table, some in sorted(names.items()))


def ending(token: WriteToken, target: WriteTarget) -> Callable[[PlacementStore], Placement | None]:
    """How the write ends for one of its tables.

    A table that appeared during the write has nothing to end, unless it brought the mark with
    it: then it is a marked one under its new name.
    """

    def end(facts: PlacementStore) -> Placement:
        if target.table not in token.marked:
            _, placement = facts.table(target.table)
            if all(mark.id != token.id for mark in placement.open):
                return placement
        return facts.close_write(target.table, token.id, target.partitions)

    return end
