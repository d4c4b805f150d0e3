"""The tables of a metastore as a stock: looked up when a statement needs them."""

import asyncio
from collections.abc import Iterable

from advice.stock import Stock, TableStock
from cli.errors import NoClusters
from conf.names import TableRef
from conf.settings.settings import Settings
from metastore.catalog.sizes import known_size
from metastore.client.metastore_client import HmsClient
from metastore.snapshot.loader_client import SnapshotLoader
from metastore.snapshot.snapshot import Snapshot

_MANY = 20_000  # partitions, above which their sizes are not read
_FOREVER = 1e9  # seconds that facts of a replay are kept
_TABLES = 10_000_000


class MetastoreStock:
    """`stock` has the tables that were loaded. Belongs to one thread."""

    def __init__(self, settings: Settings) -> None:
        topology = settings.topology
        if topology.default is None:
            raise NoClusters("the settings name no cluster, so nothing is routed.")
        self._settings = settings
        self._tables: dict[TableRef, TableStock | None] = {}
        self.stock = Stock(
            tuple(topology.clusters),
            topology.default,
            self._tables,
            topology.use_default,
            settings.coverage,
            topology.filesystems(),
            complete=False,
        )

    def load(self, tables: Iterable[TableRef]) -> None:
        """Looks tables up. Raises MetastoreDown, UnreadableFacts."""
        wanted = [ref for ref in tables if ref not in self._tables]
        snapshot = Snapshot(_FOREVER, _TABLES)
        asyncio.run(self._load(snapshot, wanted))
        with HmsClient(self._settings.metastores, self._settings.metastore_timeout) as client:
            for ref in wanted:
                self._tables[ref] = self._stock(client, snapshot, ref)

    async def _load(self, snapshot: Snapshot, wanted: list[TableRef]) -> None:
        loader = SnapshotLoader(self._settings, snapshot)
        try:
            await loader.load(wanted)
            found = [ref for ref in wanted if snapshot.table(ref) is not None]
            await loader.load_facts(found)
        finally:
            loader.close()

    def _stock(self, client: HmsClient, snapshot: Snapshot, ref: TableRef) -> TableStock | None:
        info = snapshot.table(ref)
        facts = None if info is None else snapshot.facts(ref)
        if info is None or facts is None:
            return None
        size = known_size(client.get_table(ref).parameters)
        sizes: list[float | None] = []
        placed = facts.partitions
        if placed is not None and info.partition_keys and len(placed.partitions) <= _MANY:
            names = client.get_partition_names(ref)
            partitions = client.get_partitions(ref, names)
            known = {each.values: known_size(each.parameters) for each in partitions}
            rows = range(len(placed.partitions))
            sizes = [known.get(placed.partitions.row(row)) for row in rows]
        return TableStock(info, facts, size, None, sizes)
