"""Writes of statements: the tables and partitions that each may change, and their marks."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Self

from conf.names import PartitionRef, TableRef, partition_name
from conf.placement import OpenWrite, Placement
from metastore.client.metastore_client import BATCH, batches
from metastore.errors import UnreadableFacts
from metastore.placement.placement_store import PlacementStore


@dataclass(frozen=True, slots=True)
class WriteTarget:
    """A table that a write may change; `partitions` are the only ones that it may change, None:
    any."""

    table: TableRef
    partitions: frozenset[str] | None = None


@dataclass(frozen=True, slots=True)
class WriteToken:
    """A running write. `id` is the id of its marks, `marked` are the tables that have one."""

    id: str
    targets: tuple[WriteTarget, ...]
    marked: frozenset[TableRef] = frozenset()

    def fields(self) -> dict[str, Any]:
        """The token as JSON, without `marked`: the tables that have its mark count later."""
        targets = {
            str(each.table): None if each.partitions is None else sorted(each.partitions)
            for each in self.targets
        }
        return {"id": self.id, "targets": targets}

    @classmethod
    def read(cls, fields: Mapping[str, Any]) -> Self:
        targets = (
            WriteTarget(TableRef.parse(table), None if names is None else frozenset(names))
            for table, names in fields["targets"].items()
        )
        return cls(fields["id"], tuple(targets))


def write_targets(written: Iterable[TableRef | PartitionRef]) -> tuple[WriteTarget, ...]:
    """The targets of a write, one for each table. A table that is given without a partition may be
    changed in any partition."""
    names: dict[TableRef, frozenset[str] | None] = {}
    for each in written:
        if isinstance(each, TableRef):
            names[each] = None
            continue
        known = names.get(each.table, frozenset())
        if known is not None:
            names[each.table] = known | {partition_name(each.spec)}
    return tuple(WriteTarget(table, some) for table, some in sorted(names.items()))


def running_writes(store: PlacementStore) -> Iterator[tuple[TableRef, OpenWrite]]:
    """The marks of running writes of all tables, also those of dead writers. Tables with unreadable
    facts are left out; `causeway metastore verify` names them."""
    for database in sorted(store.client.get_all_databases()):
        names = sorted(store.client.get_all_tables(database))
        for some in batches(names, BATCH):
            for table in store.client.get_tables(database, some):
                with suppress(UnreadableFacts):
                    for mark in store.placement(table).open:
                        yield table.ref, mark


def ending(token: WriteToken, target: WriteTarget) -> Callable[[PlacementStore], Placement | None]:
    """The function that ends the write in one of its tables.

    A table that did not exist when the others were marked stays unchanged, unless it has the mark
    now: then it is a marked table that was renamed.
    """

    def end(store: PlacementStore) -> Placement:
        if target.table not in token.marked:
            _, placement = store.table(target.table)
            if all(mark.id != token.id for mark in placement.open):
                return placement
        return store.close_write(target.table, token.id, target.partitions)

    return end
