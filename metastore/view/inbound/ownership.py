"""Reads the primary of objects and refuses changes in other clusters (DC-M4)."""

from collections.abc import Iterable
from dataclasses import dataclass

from conf.names import ClusterName
from conf.placement import Placement
from metastore.view.call import Call
from metastore.view.errors import OutsidePrimary
from metastore.view.locations import ClusterView, moved
from metastore.view.lookups import Lookup, PartitionNow, TableNow, partitions_named, table_now


@dataclass(frozen=True, slots=True)
class OrphanFolder:
    """A folder to which no object refers after a call. `what` names the object that had it."""

    what: str
    cluster: ClusterName
    location: str


def own_tables(call: Call, view: ClusterView) -> Lookup[list[TableNow | None]]:
    """The tables that the call names; None for one that does not exist. Raises OutsidePrimary."""
    tables: list[TableNow | None] = []
    for database, name in call.name_pairs():
        table = yield from table_now(view, database, name)
        if table is not None:
            refuse_foreign_table(table, view)
        tables.append(table)
    return tables


def own_table(call: Call, view: ClusterView) -> Lookup[TableNow | None]:
    """The one table that the call names; None if it does not exist. Raises OutsidePrimary."""
    tables = yield from own_tables(call, view)
    return tables[0] if tables else None


def table_of_partitions(call: Call, view: ClusterView) -> Lookup[TableNow | None]:
    """The table of the partitions that the call changes; None if it does not exist.

    It does not check the primary: partitions may have their own, which `own_partitions` checks.
    """
    for database, name in call.name_pairs()[:1]:
        return (yield from table_now(view, database, name))
    return None


def own_partitions(
    table: TableNow, database: str, names: Iterable[str], view: ClusterView
) -> Lookup[list[PartitionNow]]:
    """The named partitions that exist. Raises OutsidePrimary.

    For partitions that do not exist (DC-R10), and for a call that names none, the table's primary
    is checked.
    """
    wanted = list(dict.fromkeys(names))
    partitions = yield from partitions_named(table, database, wanted)
    for partition in partitions:
        refuse_foreign_partition(table, partition, view)
    if not wanted or len(partitions) < len(wanted):
        refuse_foreign_table(table, view)
    return partitions


def named_partitions(call: Call, table: TableNow) -> list[str]:
    """The names of the partitions that a call names, by values or by name."""
    by_values = [table.partitions.name(values) for values in call.partition_values() if values]
    return by_values + [name for name in call.partition_names() if name]


def refuse_foreign_table(table: TableNow, view: ClusterView) -> None:
    """Raises OutsidePrimary if the table's primary is another cluster. A view has no cluster."""
    if not table.is_view:
        _refuse(f"table {table.ref}", table.placement.primary, view)


def refuse_foreign_partition(table: TableNow, partition: PartitionNow, view: ClusterView) -> None:
    """Raises OutsidePrimary if the partition's primary is another cluster."""
    what = f"partition {partition.name} of table {table.ref}"
    _refuse(what, partition.placement.primary, view)


def orphans_of(what: str, placement: Placement) -> list[OrphanFolder]:
    """The folders of the copies of an object that is dropped."""
    return [OrphanFolder(what, copy.cluster, copy.location) for copy in placement.copies]


def orphans_of_database(database: str, location: str, view: ClusterView) -> list[OrphanFolder]:
    """The folders of a dropped database in the clusters in which the metastore deletes nothing."""
    folders = {name: moved(location, view.topology, name) for name in view.topology.clusters}
    kept = moved(location, view.topology, view.owner)
    return [
        OrphanFolder(f"{database}.*", name, folder)
        for name, folder in folders.items()
        if folder != kept
    ]


def _refuse(what: str, primary: ClusterName, view: ClusterView) -> None:
    if primary != view.cluster:
        raise OutsidePrimary(
            f"The primary cluster of {what} is {primary}, which is different from the processing "
            f"cluster {view.cluster}: it can be changed only in {primary}."
        )
