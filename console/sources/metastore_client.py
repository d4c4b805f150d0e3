"""Reads tables, their partitions and their copies from the metastore.

The number of tables and partitions that are read for a list is limited. A table with more
partitions is listed without its states; its own page reads them.
"""

import time
from collections.abc import Awaitable, Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Generic, TypeVar

from conf.copies import CopySum, TableCopies, sums
from conf.names import ClusterName, TableRef
from conf.placement import Placement
from conf.settings.settings import Settings
from console.drawing.matrix import PartitionStates
from console.errors import SourceDown
from console.sources.cached import Cached, within
from console.sources.partition_states import clusters_in_order, partition_states
from metastore.catalog.hudi_tables import is_hudi
from metastore.client.async_client import ClientPool
from metastore.client.metastore_client import HmsClient
from metastore.client.types import Table
from metastore.errors import MetastoreDown, MetastoreError, NoSuchObject
from metastore.placement.placement_store import PlacementStore
from metastore.placement.table_copies import table_copies

K = TypeVar("K", bound=Hashable)
T = TypeVar("T")

SOURCE = "the metastore"
MAX_TABLES = 2_000  # tables read for one list
MAX_PARTITIONS = 5_000  # partitions of one table in a list
MAX_LISTED = 30_000  # partitions of all tables in a list
MAX_SHOWN = 300_000  # partitions of one table on its page
_PATIENCE, _LONG_PATIENCE = 30.0, 120.0  # seconds for a list, and for the partitions of a table
_FRESH = 5.0  # seconds for which a result serves other requests, too
_KEPT = 8  # results
_VIEWS = ("VIRTUAL_VIEW", "MATERIALIZED_VIEW")


class NoSuchTable(LookupError):
    """The table does not exist."""


@dataclass(frozen=True, slots=True)
class TableList:
    """The tables that match a search, by name. `many` are tables with too many partitions for a
    list; `broken` are tables whose facts cannot be read, with the reasons. `total` counts all
    matching tables, of which only the first MAX_TABLES are read."""

    tables: tuple[TableCopies, ...]
    many: tuple[TableRef, ...]
    broken: tuple[tuple[TableRef, str], ...]
    total: int
    clusters: tuple[ClusterName, ...]
    read: float
    hudi: tuple[TableRef, ...] = ()

    @property
    def complete(self) -> bool:
        return self.total == len(self.tables) + len(self.many) + len(self.broken)


@dataclass(frozen=True, slots=True)
class TableDetails:
    """One table. `sums` has one sum for each cluster. `states` is None for a table without
    partitions or one that is copied as a whole. `read` is in epoch seconds."""

    table: TableRef
    location: str
    is_hudi: bool
    placement: Placement
    sums: tuple[CopySum, ...]
    states: PartitionStates | None
    read: float


class MetastoreClient:
    """The metastore. Methods raise SourceDown if it does not answer in time."""

    def __init__(self, settings: Settings) -> None:
        self._clusters = tuple(settings.topology.clusters)
        self._default = settings.topology.default or ClusterName("")
        self._pool = ClientPool(
            settings.metastores, settings.metastore_timeout, settings.metastore_login
        )
        self._lists: _Recent[tuple[str, str], TableList] = _Recent(self._read_list, _FRESH)
        self._details: _Recent[TableRef, TableDetails] = _Recent(self._read_details, _FRESH)

    async def close(self) -> None:
        """Ends the threads once their calls have ended."""
        self._pool.close()

    @property
    def clusters(self) -> Sequence[ClusterName]:
        """The clusters of the settings."""
        return self._clusters

    async def databases(self) -> list[str]:
        """The names of all databases."""
        return await self._run(lambda client: sorted(client.get_all_databases()), _PATIENCE)

    async def tables(self, database: str = "", search: str = "") -> TableList:
        """The tables whose `db.table` contains `search`, of one database or, if it is empty, of
        all."""
        return await self._lists.get((database.lower(), search.lower()))

    async def table(self, ref: TableRef) -> TableDetails:
        """The table with all its partitions. Raises NoSuchTable."""
        return await self._details.get(ref)

    async def _read_list(self, key: tuple[str, str]) -> TableList:
        return await self._run(partial(self._list, *key), _PATIENCE)

    async def _read_details(self, ref: TableRef) -> TableDetails:
        return await self._run(partial(self._describe, ref), _LONG_PATIENCE)

    async def _run(self, work: Callable[[HmsClient], T], seconds: float) -> T:
        try:
            return await within(seconds, SOURCE, self._pool.run(work))
        except NoSuchObject as error:
            raise NoSuchTable(str(error)) from error
        except MetastoreError as error:
            raise SourceDown(SOURCE, str(error)) from error

    def _list(self, database: str, search: str, client: HmsClient) -> TableList:
        databases = [database] if database else client.get_all_databases()
        found = sorted(
            ref
            for db in databases
            for name in client.get_all_tables(db)
            if search in str(ref := TableRef(db, name))
        )
        reader = _ListReader(client, self._default)
        for db, names in _by_database(found[:MAX_TABLES]):
            reader.read(db, names)
        views = reader.views
        return TableList(
            tuple(sorted(reader.tables, key=lambda each: each.table)),
            tuple(sorted(reader.many)),
            tuple(sorted(reader.broken)),
            len(found) - views,
            clusters_in_order((p for t in reader.tables for p in t.objects), self._clusters),
            time.time(),
            tuple(sorted(reader.hudi)),
        )

    def _describe(self, ref: TableRef, client: HmsClient) -> TableDetails:
        store = PlacementStore(client, self._default)
        table, placement = store.table(ref)
        names = None
        if table.partition_keys:
            names = client.get_partition_names(ref)
            if len(names) > MAX_SHOWN:
                why = f"{ref} has {len(names):,} partitions, of which {MAX_SHOWN:,} can be shown"
                raise MetastoreDown(why)
        found = table_copies(store, table, names)
        states = None
        if found.partitions is not None:
            states = partition_states(found.partitions, self._clusters)
        clusters = clusters_in_order(found.objects, self._clusters)
        return TableDetails(
            ref, table.location, is_hudi(table), placement,
            tuple(sums(found.objects, clusters)), states, time.time(),
        )  # fmt: skip


class _ListReader:
    """Reads the tables of a list, within the limits above."""

    def __init__(self, client: HmsClient, default: ClusterName) -> None:
        self._client = client
        self._store = PlacementStore(client, default)
        self._left = MAX_LISTED
        self.tables: list[TableCopies] = []
        self.many: list[TableRef] = []
        self.broken: list[tuple[TableRef, str]] = []
        self.hudi: list[TableRef] = []
        self.views = 0

    def read(self, database: str, names: Sequence[str]) -> None:
        missing = set(names)
        for table in self._client.get_tables(database, names):
            missing.discard(table.ref.name)
            if table.kind in _VIEWS:
                self.views += 1
                continue
            if is_hudi(table):
                self.hudi.append(table.ref)
            try:
                self._read_table(table)
            except MetastoreDown:
                raise
            except MetastoreError as error:
                self.broken.append((table.ref, str(error)))
        self.views += len(missing)  # counts as views the tables that were dropped meanwhile

    def _read_table(self, table: Table) -> None:
        placed = self._store.placement(table)
        if not table.partition_keys or placed.uniform:
            self.tables.append(TableCopies(table.ref, placed))
            return
        most = min(MAX_PARTITIONS, self._left)
        names = self._client.get_partition_names(table.ref, most + 1)
        if len(names) > most:
            self.many.append(table.ref)
            return
        self._left -= len(names)
        self.tables.append(table_copies(self._store, table, names))


class _Recent(Generic[K, T]):
    """A cache of the results for the last few keys, each for `age` seconds."""

    def __init__(self, read: Callable[[K], Awaitable[T]], age: float) -> None:
        self._read = read
        self._age = age
        self._kept: dict[K, Cached[T]] = {}

    async def get(self, key: K) -> T:
        kept = self._kept.pop(key, None) or Cached(partial(self._read, key), self._age)
        self._kept[key] = kept  # the newest is last
        while len(self._kept) > _KEPT:
            del self._kept[next(iter(self._kept))]
        return await kept.get()


def _by_database(found: Iterable[TableRef]) -> Iterable[tuple[str, list[str]]]:
    names: dict[str, list[str]] = {}
    for ref in found:
        names.setdefault(ref.db, []).append(ref.name)
    return names.items()
