"""Reads the copies of a table and of its partitions, to show them to people."""

from collections.abc import Collection

from conf.copies import TableCopies
from conf.names import parse_partition_name
from conf.placement import BadPlacement, read_partition_placement
from metastore.client.types import Table
from metastore.errors import UnreadableFacts
from metastore.placement.placement_store import PlacementStore


def table_copies(
    store: PlacementStore, table: Table, names: Collection[str] | None = None
) -> TableCopies:
    """The copies of a table and of the named partitions; `names` None: of all partitions.

    Only partitions that may have facts of their own are read. Raises MetastoreDown,
    UnreadableFacts.
    """
    placed = store.placement(table)
    if not table.partition_keys or (placed.uniform and placed.copies):
        return TableCopies(table.ref, placed, location=table.location)
    if names is None:
        names = store.client.get_partition_names(table.ref)
    partitions = {name: read_partition_placement({}, placed, name) for name in names}
    own: Collection[str] = partitions
    if placed.exceptions is not None:
        own = [name for name in partitions if name in placed.exceptions]
    by_values = {tuple(value for _, value in parse_partition_name(name)): name for name in own}
    for each in store.client.get_partition_facts(table.ref, list(own)):
        name = by_values.get(each.values)
        if name is None:
            continue
        try:
            partitions[name] = read_partition_placement(each.parameters, placed, name)
        except BadPlacement as error:
            raise UnreadableFacts(f"{table.ref}@{name}: {error}") from error
    return TableCopies(table.ref, placed, partitions, table.location)
