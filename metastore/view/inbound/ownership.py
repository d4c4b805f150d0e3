"""Whose an object is: looks it up, and refuses what its primary cluster alone may do (DC-M4)."""

from collections.abc import Iterable
from dataclasses import dataclass

from conf.names import ClusterName
from conf.placement import Placement
from metastore.view.call import Call
from metastore.view.errors import OutsidePrimary
from metastore.view.inbound.lookups import (
    BATCH,
    Asking,
    PartitionNow,
    TableNow,
    partition_names,
    partitions_named,
    table_now,
)
from metastore.view.locations import ClusterView, moved


@dataclass(frozen=True, slots=True)
class Leftover:
    """A folder that nothing names any more once the call has succeeded."""

    what: str
    cluster: ClusterName
    location: str


def own_tables(call: Call, view: ClusterView) -> Asking[list[TableNow | None]]:
    """The tables that the call names, None for one that is not there. Raises OutsidePrimary."""
    tables: list[TableNow | None] = []
    for database, name in call.named():
        table = yield from table_now(view, database, name)
        if table is not None:
            refuse_foreign_table(table, view)
        tables.append(table)
    return tables


def own_table(call: Call, view: ClusterView) -> Asking[TableNow | None]:
    """The one table that the call names."""
    tables = yield from own_tables(call, view)
    return tables[0] if tables else None


def table_of_partitions(call: Call, view: ClusterView) -> Asking[TableNow | None]:
    """The table of partitions that the call changes: they may have primaries of their own.

    Whoever asks has `own_partitions` say whose they are.
    """
    for database, name in call.named()[:1]:
        return (yield from table_now(view, database, name))
    return None


def own_partitions(
    table: TableNow, database: str, names: Iterable[str], view: ClusterView
) -> Asking[list[PartitionNow]]:
    """Those of the named partitions that exist. Raises OutsidePrimary.

    One that does not exist is its table's (DC-R10), and so is a call that names none.
    """
    wanted = list(dict.fromkeys(names))
    partitions = yield from partitions_named(table, database, wanted)
    for partition in partitions:
        refuse_foreign_partition(table, partition, view)
    if not wanted or len(partitions) < len(wanted):
        refuse_foreign_table(table, view)
    return partitions


def named_partitions(call: Call, table: TableNow) -> list[str]:
    """The names of the partitions that a call names in either way."""
    by_values = [table.partitions.name(values) for values in call.partition_values() if values]
    return by_values + [name for name in call.partition_names() if name]


def refuse_foreign_table(table: TableNow, view: ClusterView) -> None:
    if not table.is_view:
        _refuse(f"table {table.ref}", table.placement.primary, view)


def refuse_foreign_partition(table: TableNow, partition: PartitionNow, view: ClusterView) -> None:
    what = f"partition {partition.name} of table {table.ref}"
    _refuse(what, partition.placement.primary, view)


def left_by_drop(table: TableNow, database: str, view: ClusterView) -> Asking[list[Leftover]]:
    """What dropping a table leaves at other clusters. Raises OutsidePrimary for a partition."""
    if table.is_view:
        return []
    left = left_by(str(table.ref), table.placement)
    if table.keys and not table.placement.uniform:
        names = yield from partition_names(table, database)
        for start in range(0, len(names), BATCH):
            batch = names[start : start + BATCH]
            for partition in (yield from own_partitions(table, database, batch, view)):
                left += left_by(f"{table.ref}@{partition.name}", partition.placement)
    return left


def left_by(what: str, placement: Placement) -> list[Leftover]:
    return [Leftover(what, copy.cluster, copy.location) for copy in placement.copies]


def left_by_database(database: str, location: str, view: ClusterView) -> list[Leftover]:
    """The database's folders in clusters where the metastore does not delete it."""
    places = {name: moved(location, view.topology, name) for name in view.topology.clusters}
    kept = moved(location, view.topology, view.owner)
    return [
        Leftover(f"{database}.*", name, place) for name, place in places.items() if place != kept
    ]


def _refuse(what: str, primary: ClusterName, view: ClusterView) -> None:
    if primary != view.cluster:
        raise OutsidePrimary(
            f"The primary cluster of {what} is {primary}, which is different from the processing "
            f"cluster {view.cluster}: it can be changed only in {primary}."
        )
