"""A stock of the tables of a metastore, loaded when a statement needs them."""

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

_MAX_PARTITIONS = 20_000  # the sizes of a table's partitions are not read if it has more
_FACTS_TTL = 1e9  # seconds: the facts never expire during a replay
_MAX_TABLES = 10_000_000
_BATCH = 500  # tables loaded together; the client refuses more waiting calls


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
        """Loads all tables of the metastore. Raises MetastoreDown, UnreadableFacts."""
        with self._client() as client:
            for database in client.get_all_databases():
                self.load(TableRef(database, name) for name in client.get_all_tables(database))

    def load(self, tables: Iterable[TableRef]) -> None:
        """Loads the tables that are not loaded yet. Raises MetastoreDown, UnreadableFacts."""
        wanted = [ref for ref in tables if ref not in self._tables]
        for batch in batches(wanted, _BATCH):
            self._load_batch(batch)

    def _load_batch(self, wanted: Sequence[TableRef]) -> None:
        snapshot = Snapshot(_FACTS_TTL, _MAX_TABLES)
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
    if placed is not None and info.partition_keys and len(placed.partitions) <= _MAX_PARTITIONS:
        rows = range(len(placed.partitions))
        names = [partition_name(placed.partitions.spec(row)) for row in rows]
        found = client.get_partitions(ref, names)
        known = {each.values: known_size(each.parameters) for each in found}
        sizes = [known.get(placed.partitions.row(row)) for row in rows]
    return TableStock(info, facts, facts.size, None, sizes)
