"""Reads the copies of a table and of its partitions, for people."""

from collections.abc import Collection
from dataclasses import dataclass

from conf.names import TableRef, parse_partition_name
from conf.placement import BadPlacement, Placement, read_partition_placement
from metastore.client.types import Table
from metastore.errors import UnreadableFacts
from metastore.placement.placement_store import PlacementStore


@dataclass(frozen=True, slots=True)
class TableCopies:
    """A table's own placement, and those of its partitions by name; None for a table without
    partitions, or one that is copied as a whole.

    Only the primary and the copies of a partition are certain here, not its version.
    """

    table: TableRef
    placement: Placement
    partitions: dict[str, Placement] | None = None

    @property
    def objects(self) -> Collection[Placement]:
        """The placements that say where the table's data is."""
        return [self.placement] if self.partitions is None else self.partitions.values()

    @property
    def copied(self) -> bool:
        """Whether any of its objects has a copy."""
        return any(each.copies for each in self.objects)


def table_copies(
    store: PlacementStore, table: Table, names: Collection[str] | None = None
) -> TableCopies:
    """The copies of a table, and of these partitions of it (None: of all). Raises MetastoreDown,
    UnreadableFacts.

    Only partitions that may have facts of their own are read.
    """
    placed = store.placement(table)
    if not table.partition_keys or (placed.uniform and placed.copies):
        return TableCopies(table.ref, placed)
    if names is None:
        names = store.client.get_partition_names(table.ref)
    found = {name: read_partition_placement({}, placed, name) for name in names}
    own: Collection[str] = found
    if placed.exceptions is not None:
        own = [name for name in found if name in placed.exceptions]
    by_values = {tuple(value for _, value in parse_partition_name(name)): name for name in own}
    for each in store.client.get_partition_facts(table.ref, list(own)):
        name = by_values[each.values]
        try:
            found[name] = read_partition_placement(each.parameters, placed, name)
        except BadPlacement as error:
            raise UnreadableFacts(f"{table.ref}@{name}: {error}") from error
    return TableCopies(table.ref, placed, found)
