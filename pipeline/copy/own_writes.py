"""Writes that the pipeline itself makes to tables, so that copies of what it changes become stale.

A table without cluster facts has no copies, and gets no facts. One with facts names its primary.
"""

import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress

from conf.names import ClusterName, TableRef
from conf.placement import OPEN_PREFIX, read_placement, rewritten_parameters, users_parameters
from conf.write_ids import new_id
from metastore.client.catalog_client import CatalogClient
from metastore.errors import NoSuchObject
from metastore.placement.placement_store import PlacementStore

_NO_CLUSTER = ClusterName("")
_TABLE_WRITE = "replication"  # the id of its mark
_BY = "lifecycle: "  # before the writer's name


@contextmanager
def partition_write(
    client: CatalogClient, ref: TableRef, names: Sequence[str], changes: bool, by: str
) -> Iterator[None]:
    """Marks a write of partitions of a table while the block adds them, or, with `changes`, also
    replaces some (D10). New partitions need a mark only where copies are of the whole table.

    A process that dies leaves the mark, and no copy of the partitions is read until the next run
    for them calls `end_left_writes`.
    """
    parameters = client.get_table(ref).parameters
    placed = read_placement(parameters, _NO_CLUSTER)
    whole = placed.uniform and placed.copies
    if not names or not _has_facts(parameters) or not (changes or whole):
        yield
        return
    facts, write_id = PlacementStore(client, _NO_CLUSTER), new_id()
    facts.open_write(ref, write_id, names, round(time.time(), 3), _BY + by)
    try:
        yield
    finally:
        facts.close_write(ref, write_id, names)


def end_left_writes(client: CatalogClient, ref: TableRef, names: Collection[str]) -> None:
    """Ends the marks of runs that died while they wrote some of these partitions. The caller makes
    sure that no other run writes them now.
    """
    with suppress(NoSuchObject):
        parameters, chosen = client.get_table(ref).parameters, frozenset(names)
        for mark in read_placement(parameters, _NO_CLUSTER).open:
            if mark.by.startswith(_BY) and mark.partitions and mark.partitions <= chosen:
                PlacementStore(client, _NO_CLUSTER).close_write(ref, mark.id, mark.partitions)


def begin_table_write(client: CatalogClient, ref: TableRef, by: str) -> None:
    """Marks a write of a table, if it exists, until `end_table_write`. Only one run at a time may
    do so. The next run ends the mark of a run that died.
    """
    with suppress(NoSuchObject):
        if _has_facts(client.get_table(ref).parameters):
            facts = PlacementStore(client, _NO_CLUSTER)
            facts.open_write(ref, _TABLE_WRITE, None, round(time.time(), 3), by)


def end_table_write(client: CatalogClient, ref: TableRef, changed: bool) -> None:
    """Ends the write that `begin_table_write` marked. With `changed` the table gets a new version
    also if it has no mark.
    """
    parameters = client.get_table(ref).parameters
    if (changed and _has_facts(parameters)) or OPEN_PREFIX + _TABLE_WRITE in parameters:
        PlacementStore(client, _NO_CLUSTER).close_write(ref, _TABLE_WRITE, None)


def after_write(parameters: Mapping[str, str]) -> dict[str, str]:
    """The parameters with a new version, for a table or partition whose location the same alter
    changes. One alter for both makes copies stale even if it takes effect after its caller has
    given up.
    """
    return rewritten_parameters(parameters, new_id()) if _has_facts(parameters) else {**parameters}


def _has_facts(parameters: Mapping[str, str]) -> bool:
    return users_parameters(parameters) != parameters
