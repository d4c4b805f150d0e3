"""The tables of a metastore as a stock: looked up when a statement needs them."""

import asyncio
from collections.abc import Iterable, Sequence

from advice.stock import Stock, TableStock
from cli.errors import NoClusters
from conf.names import TableRef, partition_name
from conf.settings.settings import Settings
from metastore.catalog.sizes import known_size
from metastore.client.metastore_client import HmsClient, batches
from metastore.snapshot.loader_client import SnapshotLoader
from metastore.snapshot.snapshot import Snapshot

_MANY = 20_000  # partitions, above which their sizes are not read
_FOREVER = 1e9  # seconds that facts of a replay are kept
_TABLES = 10_000_000
_AT_ONCE = 500  # tables; more calls than may wait for the metastore would be refused


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

    def load_all(self) -> None:
        """Looks all tables of the metastore up. Raises MetastoreDown, UnreadableFacts."""
        with self._client() as client:
            for database in client.get_all_databases():
                self.load(TableRef(database, name) for name in client.get_all_tables(database))

    def load(self, tables: Iterable[TableRef]) -> None:
        """Looks tables up. Raises MetastoreDown, UnreadableFacts."""
        wanted = [ref for ref in tables if ref not in self._tables]
        for some in batches(wanted, _AT_ONCE):
            self._load_some(some)

    def _load_some(self, wanted: Sequence[TableRef]) -> None:
        snapshot = Snapshot(_FOREVER, _TABLES)
        asyncio.run(self._load_facts(snapshot, wanted))
        with self._client() as client:
            for ref in wanted:
                self._tables[ref] = _stock(client, snapshot, ref)

    def _client(self) -> HmsClient:
        return HmsClient.of(self._settings)

    async def _load_facts(self, snapshot: Snapshot, wanted: Sequence[TableRef]) -> None:
        loader = SnapshotLoader(self._settings, snapshot)
        try:
            await loader.load_facts(wanted)
        finally:
            loader.close()


def _stock(client: HmsClient, snapshot: Snapshot, ref: TableRef) -> TableStock | None:
    info = snapshot.table(ref)
    facts = None if info is None else snapshot.facts(ref)
    if info is None or facts is None:
        return None
    sizes: list[float | None] = []
    placed = facts.partitions
    if placed is not None and info.partition_keys and len(placed.partitions) <= _MANY:
        rows = range(len(placed.partitions))
        names = [partition_name(placed.partitions.spec(row)) for row in rows]
        found = client.get_partitions(ref, names)
        known = {each.values: known_size(each.parameters) for each in found}
        sizes = [known.get(placed.partitions.row(row)) for row in rows]
    return TableStock(info, facts, facts.size, None, sizes)
