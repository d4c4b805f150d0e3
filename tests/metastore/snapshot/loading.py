"""Tables in a metastore in memory, and a loader that reads them."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from conf.names import ClusterName, TableRef
from conf.partitions import PartitionKey, PartitionSet
from conf.placement import Copy, Placement, read_placement, write_placement
from conf.settings.settings import Settings
from conf.topology import Endpoint, Topology
from metastore.client.types import Partition, Table
from metastore.snapshot.loader_client import SnapshotLoader
from metastore.snapshot.snapshot import Snapshot
from tests.metastore.fake import FakeMetastore

C1, C2 = ClusterName("C1"), ClusterName("C2")
REF = TableRef("default", "t")
PARTED = TableRef("default", "p")
Scenario = Callable[[SnapshotLoader, Snapshot], Awaitable[None]]


@dataclass(frozen=True)
class Day:
    day: str

    def select(self, partitions: PartitionSet) -> range | list[int]:
        return list(partitions.rows_with(0, self.day))

    def required(self, keys: Sequence[PartitionKey]) -> list[frozenset[str] | None]:
        return [frozenset({self.day}), *(None for _ in keys[1:])]


class Late(Day):
    """The same, for a condition that names no texts."""

    def required(self, keys: Sequence[PartitionKey]) -> list[frozenset[str] | None]:
        return [None for _ in keys]


def run(settings: Settings, scenario: Scenario) -> None:
    async def main() -> None:
        snapshot = Snapshot()
        loader = SnapshotLoader(settings, snapshot)
        try:
            await scenario(loader, snapshot)
        finally:
            loader.close()

    asyncio.run(main())


def run_scenario(
    metastore: FakeMetastore | Endpoint, scenario: Scenario, timeout: float = 60
) -> None:
    endpoint = metastore if isinstance(metastore, Endpoint) else metastore.endpoint
    run(Settings(Topology({}, C1), (endpoint,), metastore_timeout=timeout), scenario)


def make_table(placement: Placement | None = None, ref: TableRef = REF) -> Table:
    keys = [("ds", "string")] if ref == PARTED else []
    parameters = {} if placement is None else write_placement(placement)
    location = f"file:/w/{ref.name}"
    return Table.make(
        ref, [("id", "int")], location=location, partition_keys=keys, parameters=parameters
    )


def copied() -> Placement:
    return Placement(C1).with_copy(Copy(C2, "file:/c2/t", "0"))


def stored(metastore: FakeMetastore, ref: TableRef = REF) -> Placement:
    return read_placement(Table(metastore.tables[ref]).parameters, C1)


def stored_partition(metastore: FakeMetastore, name: str) -> Placement:
    return read_placement(Partition(metastore.partitions[PARTED][name]).parameters, C1)
