"""The present tables of all databases, in memory, for metadata calls.

This needs all writers to use the views (`snapshot.writers = views`): then one call to each view
returns the changed tables, and only these are read again. Without that the present state is not
certain, and no method returns an answer.
"""

import asyncio
from collections import ChainMap
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial

from conf.catalog.listing import ListedTable
from conf.catalog.spark_table import SparkTable
from conf.names import TableRef
from metastore.catalog.listing import listed
from metastore.catalog.spark_table import spark_table
from metastore.client.async_client import ClientPool
from metastore.client.changes.change_tracker import ChangeTracker
from metastore.client.metastore_client import HmsClient
from metastore.errors import MetastoreDown, MetastoreRefused

LIMIT = 1_000_000  # columns and tables in memory, some 100 bytes each
REST = 600.0  # seconds in which requests are not answered that are as large as one over the limit
MOST_DESCRIBED = 5_000  # tables in one answer
FEW_DESCRIBED = 100  # tables that are read by one call; more are read by two


@dataclass(slots=True)
class _Database:
    """The tables of a database by name. `changed` are those to read again; None: all of them,
    because nothing was read yet. `weight` is the number of columns and tables."""

    tables: dict[str, ListedTable] = field(default_factory=dict)
    changed: set[str] | None = None
    weight: int = 0
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)


class TableListing:
    """The tables by database. Belongs to the event loop in which it is created.

    Every answer is the state of the metastore at some time after the call. It is None if that state
    is not certain, or too large to be kept. At the limit the databases are removed that were not
    used for longest.
    """

    def __init__(self, pool: ClientPool, tracker: ChangeTracker, limit: int = LIMIT) -> None:
        self._pool = pool
        self._tracker = tracker
        self._limit = limit
        self._names: tuple[str, ...] | None = None
        self._epoch = 0  # grows when a database may have been created or dropped
        self._known: dict[str, _Database] = {}  # the database that was used last is the last
        self._rest_until = 0.0
        self._too_many = 0  # databases of the request that was too large
        self._tables_in: dict[str, tuple[str, ...]] = {}
        self._views_in: dict[str, tuple[str, ...]] = {}
        self._changes = 0  # grows with every change
        tracker.follow(self._on_change)

    async def tables_of(
        self, wanted: Callable[[str], bool]
    ) -> list[tuple[str, tuple[ListedTable, ...]]] | None:
        """The databases for which `wanted` is true, in the metastore's order, with their tables."""
        names = await self.databases_of(wanted)
        if names is None or self._is_resting(len(names)):
            return None
        try:
            listed_databases, weight = [], 0
            for name in names:
                known = await self._read_now(name)
                weight += 0 if known is None else known.weight
                if known is None or weight > self._limit:
                    self._too_much(len(names))
                    return None
                listed_databases.append((name, tuple(known.tables.values())))
            return listed_databases
        except (MetastoreDown, MetastoreRefused):
            return None

    def _is_resting(self, databases: int) -> bool:
        """Whether a request for that many databases has recently been too large."""
        resting = asyncio.get_running_loop().time() < self._rest_until
        return resting and databases >= self._too_many

    def _too_much(self, databases: int) -> None:
        self._too_many = databases
        self._rest_until = asyncio.get_running_loop().time() + REST

    async def databases_of(self, wanted: Callable[[str], bool]) -> list[str] | None:
        """The names of the databases for which `wanted` is true."""
        try:
            if await self._tracker.update():
                return list(filter(wanted, await self._databases()))
        except (MetastoreDown, MetastoreRefused):
            pass
        return None

    async def names_in(self, database: str) -> Sequence[str] | None:
        """The names of the tables and views, in the metastore's order."""
        return await self._names_in(
            self._tables_in, database, lambda client: client.get_all_tables(database)
        )

    async def views_in(self, database: str) -> Sequence[str] | None:
        """The names of the views, in the metastore's order."""

        def read(client: HmsClient) -> list[str]:
            return client.get_views(database)

        return await self._names_in(self._views_in, database, read)

    async def described(
        self, database: str, names: Sequence[str]
    ) -> Sequence[SparkTable | None] | None:
        """The tables as Spark describes them, in the order of `names`; None if there are too many,
        or their state is not certain."""
        if len(names) > MOST_DESCRIBED or not await self._is_known(database):
            return None

        def read(client: HmsClient, some: Sequence[str]) -> dict[str, SparkTable | None]:
            return {each.ref.name: spark_table(each) for each in client.get_tables(database, some)}

        # Two calls at a time: the metastore reads the next tables while these are decoded.
        halves = [names[::2], names[1::2]] if len(names) > FEW_DESCRIBED else [names]
        reads = (self._pool.run(partial(read, some=half)) for half in halves)
        try:
            tables = dict(ChainMap(*await asyncio.gather(*reads)))
        except (MetastoreDown, MetastoreRefused):
            return None
        return [tables.get(name) for name in names]

    async def _names_in(
        self,
        kept: dict[str, tuple[str, ...]],
        database: str,
        read: Callable[[HmsClient], list[str]],
    ) -> Sequence[str] | None:
        if not await self._is_known(database):
            return None
        names = kept.get(database)
        if names is not None:
            return names
        changes = self._changes
        try:
            names = tuple(await self._pool.run(read))
        except (MetastoreDown, MetastoreRefused):
            return None
        if changes == self._changes and sum(map(len, kept.values())) + len(names) <= self._limit:
            kept[database] = names
        return names

    async def _is_known(self, database: str) -> bool:
        """Whether the database certainly exists."""
        return bool(await self.databases_of(lambda name: name == database))

    async def _databases(self) -> tuple[str, ...]:
        names, epoch = self._names, self._epoch
        if names is None:
            names = tuple(await self._pool.run(lambda client: client.get_databases()))
            if epoch == self._epoch:
                self._names = names
        return names

    async def _read_now(self, database: str) -> _Database | None:
        """The database as it is now; None if it is too large."""
        known = self._known.pop(database, None)
        if known is None:
            known = _Database()
        self._known[database] = known
        async with known.lock:
            if known.changed != set() and not await self._read(database, known):
                return None
            return known

    async def _read(self, database: str, known: _Database) -> bool:
        """Reads the changed tables. Changes during the read stay in `changed`."""
        changed, known.changed = known.changed, set()
        kept = {} if changed is None else known.tables
        unchanged = kept.keys() - (changed or set())

        def read(client: HmsClient) -> list[ListedTable] | None:
            names = client.get_all_tables(database)
            if len(names) > self._limit:
                return None
            again = client.get_tables(database, [name for name in names if name not in unchanged])
            tables = [listed(table) for table in again]
            if client.newer:
                return None  # Hive 4: its patterns mean something else
            return tables + [kept[name] for name in names if name in unchanged]

        try:
            tables = await self._pool.run(read)
        except BaseException:
            known.changed = None
            raise
        if tables is None:
            self._known.pop(database, None)
            return False
        tables.sort(key=lambda table: (table.age, table.name))
        known.tables = {table.name: table for table in tables}
        known.weight = sum(table.weight for table in tables)
        self._make_room(database)
        return known.weight <= self._limit

    def _make_room(self, database: str) -> None:
        """Removes databases until the limit holds, the one that was not used for longest first;
        `database` itself only if it is too large alone."""
        left = sum(each.weight for each in self._known.values()) - self._limit
        for name in [*(each for each in self._known if each != database), database]:
            if left <= 0:
                return
            removed = self._known.pop(name, None)
            left -= 0 if removed is None else removed.weight

    def _on_change(self, tables: tuple[TableRef, ...] | None) -> None:
        self._changes += 1
        if tables is None:
            self._known, self._names = {}, None
            self._tables_in.clear()
            self._views_in.clear()
            self._epoch += 1
            return
        for table in tables:
            self._tables_in.pop(table.db, None)
            self._views_in.pop(table.db, None)
            if table.name == "*":
                self._known.pop(table.db, None)
                self._names = None
                self._epoch += 1
            elif (known := self._known.get(table.db)) is not None and known.changed is not None:
                known.changed.add(table.name)
