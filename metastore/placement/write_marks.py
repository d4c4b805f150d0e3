"""Marks of running writes: the tables and partitions that a statement may change."""

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
    """A table that is written; `partitions` are the only partitions written, None: any."""

    table: TableRef
    partitions: frozenset[str] | None = None


@dataclass(frozen=True, slots=True)
class WriteToken:
    """A running write. `marked` are the tables that have its mark."""

    id: str
    targets: tuple[WriteTarget, ...]
    marked: frozenset[TableRef] = frozenset()

    def fields(self) -> dict[str, Any]:
        """As JSON. A token that is read has no `marked` tables: those that have its mark count."""
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
    """One target for each table; a table without a partition is written in any partition."""
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
    """The marks of running writes of all tables, also of writers that died. Tables of which the
    facts cannot be read are left out: `causeway metastore verify` names them."""
    for database in sorted(store.client.get_all_databases()):
        names = sorted(store.client.get_all_tables(database))
        for some in batches(names, BATCH):
            for table in store.client.get_tables(database, some):
                with suppress(UnreadableFacts):
                    for mark in store.placement(table).open:
                        yield table.ref, mark


def ending(token: WriteToken, target: WriteTarget) -> Callable[[PlacementStore], Placement | None]:
    """The function that ends the write for one of its tables.

    A table that was created during the write has no mark, unless it is a marked table that was
    renamed.
    """

    def end(store: PlacementStore) -> Placement:
        if target.table not in token.marked:
            _, placement = store.table(target.table)
            if all(mark.id != token.id for mark in placement.open):
                return placement
        return store.close_write(target.table, token.id, target.partitions)

    return end
