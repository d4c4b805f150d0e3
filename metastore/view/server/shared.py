"""What all endpoints of one process share: locks, cache, feed of changes, record of leftovers."""

import asyncio
from collections.abc import Iterable
from contextlib import suppress
from weakref import WeakValueDictionary

from conf.names import TableRef
from metastore.view.server.change_feed import ChangeFeed, News
from metastore.view.server.copy_folders import CopyFolders
from metastore.view.server.orphans_store import LeftoverLog
from metastore.view.server.reply_cache import TableCache
from metastore.view.server.running_writes import RunningWrites


class Shared:
    """One a process."""

    def __init__(self, leftovers: LeftoverLog, cache: TableCache) -> None:
        self.leftovers = leftovers
        self.cache = cache
        self.newer: bool | None = None  # whether the metastore is Hive 4's; None: nobody asked
        self._feed = ChangeFeed()
        self._touched = ChangeFeed()  # that, and the tables whose facts others have written
        self.folders = CopyFolders(self._touched.since)
        self.writes = RunningWrites()
        self._more = asyncio.Event()
        self._locks: WeakValueDictionary[TableRef, asyncio.Lock] = WeakValueDictionary()

    def locks(self, tables: Iterable[TableRef]) -> list[asyncio.Lock]:
        """One a table, in an order that cannot deadlock: facts are read, then written back."""
        return [self._lock(table) for table in sorted(set(tables))]

    async def settled(self, table: TableRef) -> None:
        """Returns when the changes of the table that have begun here are over.

        Whoever asks has written facts of it to the metastore himself.
        """
        async with self._lock(table):
            self.cache.forget((table,))
            self._touched.add((table,))

    def touched(self, since: int) -> News:
        """What changed since then, here or by those who settled."""
        return self._touched.since(since)

    def changed(self, tables: tuple[TableRef, ...]) -> None:
        """Forgets them, and tells whoever follows the feed."""
        self.cache.forget(tables)
        self._feed.add(tables)
        self._touched.add(tables)
        self._more.set()
        self._more = asyncio.Event()

    async def news(self, since: int, wait: float) -> News:
        """What changed since then; waits up to `wait` seconds for something."""
        news = self._feed.since(since)
        if not news.tables and not news.all and wait:
            with suppress(TimeoutError):
                await asyncio.wait_for(self._more.wait(), wait)
            news = self._feed.since(since)
        return news

    def _lock(self, table: TableRef) -> asyncio.Lock:
        lock = self._locks.get(table)
        if lock is None:
            lock = self._locks[table] = asyncio.Lock()
        return lock
