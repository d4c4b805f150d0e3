"""Tables with copies, and whether these are fresh."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from conf.names import TableRef
from conf.placement import Copy, Placement, read_partition_placement, read_placement
from conf.topology import Endpoint
from metastore.client.changes.view_sync import ViewSync
from metastore.client.metastore_client import HmsClient
from metastore.client.types import Partition, Table
from metastore.placement.placement_store import PlacementStore
from tests.metastore.view.server.view_calls import AWAY, KEYS, REF, placed, table
from tests.metastore.writable import C1, C2, WritableMetastore

OTHER = TableRef("default", "other")
Views = Mapping[str, Endpoint]


def fresh(hms: WritableMetastore, day: str | None = None, ref: TableRef = REF) -> bool:
    """Whether the copy in C2 of the table, or of a day's partition, is fresh."""
    own = read_placement(Table(hms.tables[ref]).parameters, C1)
    if day is not None:
        parameters = Partition(hms.partitions[ref][f"ds={day}"]).parameters
        own = read_partition_placement(parameters, own, f"ds={day}")
    return C2 in own.replicas().fresh


def days(hms: WritableMetastore, *numbers: int, exceptions: bool = True) -> None:
    """A table with a copied partition a day, and one day more without a copy."""
    names = frozenset(f"ds={number}" for number in numbers) if exceptions else None
    copied = [(f"ds={n}", placed(Copy(C2, f"{AWAY}/{n}", "0/0"))) for n in numbers]
    hms.add(table(placed(facts="f", exceptions=names), KEYS), *copied, ("ds=9", {}))


@contextmanager
def other_process(hms: WritableMetastore, view: Views) -> Iterator[PlacementStore]:
    """A copier or a proxy: it writes facts at the metastore itself and settles at the view."""
    with HmsClient((hms.endpoint,), 60.0) as client, ViewSync([view[C1]], 60.0) as sync:
        yield PlacementStore(client, C1, sync)


def now(hms: WritableMetastore) -> Placement:
    return read_placement(Table(hms.tables[REF]).parameters, C1)


def published(old: Placement) -> Placement:
    return old.with_copy(Copy(C2, AWAY, old.version))
