"""Keeps the index of the folders of all objects with copies up to date, for `causeway_write`.

All tables are read at the first write after the view's start. Later only tables in the feed of
changes are read again. The feed has the changes through this process, and those reported to it.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from typing import Protocol

from conf.names import TableRef
from metastore.client.changes.notifying_client import EVERYTHING
from metastore.client.types import Changes
from metastore.view.locations import ClusterView
from metastore.view.lookups import Lookup, T, database_names
from metastore.view.spark_writes.folder_index import FolderIndex, folders_of_tables


class RunLookup(Protocol):
    """Sends the requests of a lookup to the metastore, and returns its result."""

    def __call__(self, lookup: Lookup[T]) -> Awaitable[T]: ...


class CopyFolders:
    """One for each process. `touched` returns the feed's changes since a position."""

    def __init__(self, touched: Callable[[int], Changes]) -> None:
        self._touched = touched
        self._index = FolderIndex()
        self._position = 0
        self._lock = asyncio.Lock()

    async def current(self, run: RunLookup, view: ClusterView) -> FolderIndex:
        """The index, with every change of the metastore until now. Raises FactsUnavailable,
        MetastoreDown."""
        async with self._lock:
            changes = self._touched(self._position)
            if changes.everything or str(EVERYTHING) in changes.tables:
                self._index = await self._read_all(run, view)
            else:
                await self._read(self._index, map(TableRef.parse, changes.tables), run, view)
            self._position = changes.position
            return self._index

    async def _read_all(self, run: RunLookup, view: ClusterView) -> FolderIndex:
        index = FolderIndex()
        names = await run(database_names())
        await self._read(index, (TableRef(name, "*") for name in names), run, view)
        return index

    @staticmethod
    async def _read(
        index: FolderIndex, changed: Iterable[TableRef], run: RunLookup, view: ClusterView
    ) -> None:
        """Reads these tables again; `db.*` are all tables of a database."""
        by_database: dict[str, set[str]] = {}
        for table in changed:
            by_database.setdefault(table.db, set()).add(table.name)
        for database, names in by_database.items():
            whole = "*" in names
            known = None if whole else sorted(names)
            folders_by_table = await run(folders_of_tables(view, database, known))
            gone = index.tables_of(database) if whole else [TableRef(database, n) for n in names]
            for table in gone:
                index.forget(table)
            for table, folders in folders_by_table.items():
                index.put(table, folders)
