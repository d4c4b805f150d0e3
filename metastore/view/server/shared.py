"""The shared state of all endpoints of a process: locks, cache, changes, record of orphans."""

import asyncio
from collections.abc import Iterable
from contextlib import suppress
from uuid import uuid4

from conf.names import TableRef
from metastore.client.types import Changes
from metastore.view.locks.peers import Place
from metastore.view.locks.view_locks import ViewLocks
from metastore.view.server.change_feed import ChangeFeed
from metastore.view.server.orphans_store import OrphanLog
from metastore.view.server.reply_cache import TableCache
from metastore.view.spark_writes.copy_folders import CopyFolders
from metastore.view.spark_writes.running_writes import RunningWrites


class Shared:
    """One for each process. `places` are the other processes of the view."""

    def __init__(self, orphans: OrphanLog, cache: TableCache, places: Iterable[Place] = ()) -> None:
        self.ready = asyncio.Event()  # whether clients are answered
        self.orphans = orphans
        self.cache = cache
        self.newer: bool | None = None  # whether the metastore is Hive 4; None: not known yet
        self._feed = ChangeFeed()
        self._touched = ChangeFeed()  # the same, and tables whose facts other writers changed
        self.folders = CopyFolders(self._touched.since)
        self.writes = RunningWrites()
        self._more = asyncio.Event()
        self.locks = ViewLocks(self.changed, places)
        """Held from reading facts of a table to writing them back."""

    async def settled(self, table: TableRef, owner: str = "") -> None:
        """Returns when the pending changes of the table in this process have ended.

        The caller has written facts of the table to the metastore itself. It may be the `owner` of
        the table's lock.
        """
        owner = owner or uuid4().hex
        await self.locks.take_local(owner, (table,))
        self.cache.forget((table,))
        self._touched.add((table,))
        self.locks.release_local(owner, (table,))

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
