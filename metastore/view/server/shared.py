"""The shared state of all endpoints of a process: locks, cache, changes, record of orphans."""

import asyncio
from collections.abc import Iterable
from contextlib import suppress
from weakref import WeakValueDictionary

from conf.names import TableRef
from metastore.client.types import Changes
from metastore.view.server.change_feed import ChangeFeed
from metastore.view.server.orphans_store import OrphanLog
from metastore.view.server.reply_cache import TableCache
from metastore.view.spark_writes.copy_folders import CopyFolders
from metastore.view.spark_writes.running_writes import RunningWrites


class Shared:
    """One for each process."""

    def __init__(self, orphans: OrphanLog, cache: TableCache) -> None:
        self.orphans = orphans
        self.cache = cache
        self.newer: bool | None = None  # whether the metastore is Hive 4; None: not known yet
        self._feed = ChangeFeed()
        self._touched = ChangeFeed()  # the same, and tables whose facts other writers changed
        self.folders = CopyFolders(self._touched.since)
        self.writes = RunningWrites()
        self._more = asyncio.Event()
        self._locks: WeakValueDictionary[TableRef, asyncio.Lock] = WeakValueDictionary()

    def locks(self, tables: Iterable[TableRef]) -> list[asyncio.Lock]:
        """A lock for each table, held from reading facts to writing them back; in a fixed order, so
        that there is no deadlock."""
        return [self._lock(table) for table in sorted(set(tables))]

    async def settled(self, table: TableRef) -> None:
        """Returns when the pending changes of the table have ended.

        The caller has written facts of the table to the metastore itself.
        """
        async with self._lock(table):
            self.cache.forget((table,))
            self._touched.add((table,))

    def touched(self, since: int) -> Changes:
        """The changes since a position, through this process or reported to it."""
        return self._touched.since(since)

    def changed(self, tables: tuple[TableRef, ...]) -> None:
        """Removes the tables from the cache and adds them to the feeds."""
        self.cache.forget(tables)
        self._feed.add(tables)
        self._touched.add(tables)
        self._more.set()
        self._more = asyncio.Event()

    async def changes_after(self, since: int, wait: float) -> Changes:
        """The changes since a position; waits up to `wait` seconds for some."""
        changes = self._feed.since(since)
        if not changes.tables and not changes.everything and wait:
            with suppress(TimeoutError):
                await asyncio.wait_for(self._more.wait(), wait)
            changes = self._feed.since(since)
        return changes

    def _lock(self, table: TableRef) -> asyncio.Lock:
        lock = self._locks.get(table)
        if lock is None:
            lock = self._locks[table] = asyncio.Lock()
        return lock
