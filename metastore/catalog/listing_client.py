"""The tables of all databases, for those who ask for lists: kept, and as they are now.

Only where all writers use the views (`snapshot.writers = views`): then one question to each view
tells what changed since the last one, and that alone is read again. Nothing is certain otherwise,
and no answer is given.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field

from conf.listing import ListedTable
from conf.names import TableRef
from metastore.catalog.listing import listed
from metastore.client.async_client import ClientPool
from metastore.client.metastore_client import HmsClient
from metastore.errors import MetastoreDown, MetastoreRefused
from metastore.snapshot.change_tracker import ChangeTracker

LIMIT = 1_000_000  # columns and tables, some 100 bytes each
REST = 600.0  # seconds in which nothing is kept after there was too much


@dataclass(slots=True)
class _Database:
    """`doubted` are to be read again, whatever is known of them; None: nothing was read yet."""

    tables: dict[str, ListedTable] = field(default_factory=dict)
    doubted: set[str] | None = None
    weight: int = 0
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)


class Listing:
    """Belongs to the event loop in which it is made.

    Every answer is as the metastore was at some time after the question; None says that this
    cannot be known, or that there is too much to keep.
    """

    def __init__(self, pool: ClientPool, watch: ChangeTracker, limit: int = LIMIT) -> None:
        self._pool = pool
        self._watch = watch
        self._limit = limit
        self._names: tuple[str, ...] | None = None
        self._epoch = 0  # grows when names of databases come into doubt
        self._known: dict[str, _Database] = {}
        self._rest_until = 0.0
        watch.follow(self._heard)

    async def tables_of(
        self, wanted: Callable[[str], bool]
    ) -> list[tuple[str, tuple[ListedTable, ...]]] | None:
        """The databases of which `wanted` is true, in the metastore's order, with their tables."""
        if asyncio.get_running_loop().time() < self._rest_until:
            return None
        names = await self.databases_of(wanted)
        if names is None:
            return None
        try:
            found = []
            for name in names:
                tables = await self._tables(name)
                if tables is None:
                    return None
                found.append((name, tables))
            return found
        except (MetastoreDown, MetastoreRefused):
            return None

    async def databases_of(self, wanted: Callable[[str], bool]) -> list[str] | None:
        """Their names alone."""
        try:
            if await self._watch.look():
                return list(filter(wanted, await self._databases()))
        except (MetastoreDown, MetastoreRefused):
            pass
        return None

    async def _databases(self) -> tuple[str, ...]:
        names, epoch = self._names, self._epoch
        if names is None:
            names = tuple(await self._pool.run(lambda client: client.get_databases()))
            if epoch == self._epoch:
                self._names = names
        return names

    async def _tables(self, database: str) -> tuple[ListedTable, ...] | None:
        known = self._known.setdefault(database, _Database())
        async with known.lock:
            if known.doubted != set() and not await self._read(database, known):
                return None
            return tuple(known.tables.values())

    async def _read(self, database: str, known: _Database) -> bool:
        """Reads what is in doubt. News that come meanwhile stay to be read."""
        doubted, known.doubted = known.doubted, set()
        kept = {} if doubted is None else known.tables
        sure = kept.keys() - (doubted or set())

        def read(client: HmsClient) -> list[ListedTable] | None:
            names = client.get_all_tables(database)
            if len(names) > self._limit:
                return None
            again = client.get_tables(database, [name for name in names if name not in sure])
            tables = [listed(table) for table in again]
            if client.newer:
                return None  # its patterns mean something else
            return tables + [kept[name] for name in names if name in sure]

        try:
            tables = await self._pool.run(read)
        except BaseException:
            known.doubted = None
            raise
        if tables is None:
            return self._too_much()
        tables.sort(key=lambda table: (table.age, table.name))
        known.tables = {table.name: table for table in tables}
        known.weight = sum(table.weight for table in tables)
        if sum(each.weight for each in self._known.values()) > self._limit:
            return self._too_much()
        return True

    def _too_much(self) -> bool:
        """Forgets everything, and asks nobody for a while."""
        self._heard(None)
        self._rest_until = asyncio.get_running_loop().time() + REST
        return False

    def _heard(self, tables: tuple[TableRef, ...] | None) -> None:
        if tables is None:
            self._known, self._names = {}, None
            self._epoch += 1
            return
        for table in tables:
            if table.name == "*":
                self._known.pop(table.db, None)
                self._names = None
                self._epoch += 1
            elif (known := self._known.get(table.db)) is not None and known.doubted is not None:
                known.doubted.add(table.name)
