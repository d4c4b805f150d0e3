"""The state that all endpoints of a process share: locks, cache, changes, record of orphans."""

import asyncio
from collections.abc import Iterable
from contextlib import suppress
from uuid import uuid4

from conf.names import TableRef
from metastore.client.types import Changes
from metastore.view.locks.distributed_locks import DistributedLocks, PeerProcess
from metastore.view.server.change_feed import ChangeFeed
from metastore.view.server.orphans_store import OrphanLog
from metastore.view.server.reply_cache import TableCache
from metastore.view.spark_writes.copy_folders import CopyFolders
from metastore.view.spark_writes.reported_writes import ReportedWrites


class Shared:
    """One for each process. `peers` are the other processes of the view."""

    def __init__(
        self, orphans: OrphanLog, cache: TableCache, peers: Iterable[PeerProcess] = ()
    ) -> None:
        self.ready = asyncio.Event()  # set when clients may be answered
        self.orphans = orphans
        self.cache = cache
        self.newer: bool | None = None  # whether the metastore is Hive 4; None: not known yet
        self._feed = ChangeFeed()  # the changes through this process
        self._touched = ChangeFeed()  # these, and tables whose facts other writers changed
        self.folders = CopyFolders(self._touched.since)
        self.writes = ReportedWrites()
        self._more = asyncio.Event()
        self.locks = DistributedLocks(self.changed, peers)
        """A writer holds a table's lock from reading its facts to writing them back."""

    async def settled(self, table: TableRef, owner: str = "") -> None:
        """Returns when this process's pending changes of the table have ended.

        The caller has written facts of the table to the metastore without a view. It may be the
        `owner` of the table's lock.
        """
        owner = owner or uuid4().hex
        await self.locks.take_local(owner, (table,))
        self.cache.forget((table,))
        self._touched.add((table,))
        self.locks.release_local(owner, (table,))

    def touched(self, since: int) -> Changes:
        """The changes since a position, both through this process and reported to it."""
        return self._touched.since(since)

    def changed(self, tables: tuple[TableRef, ...]) -> None:
        """Removes the tables from the cache and adds them to the feeds."""
        self.cache.forget(tables)
        self._feed.add(tables)
        self._touched.add(tables)
        self._more.set()
        self._more = asyncio.Event()

    async def changes_after(self, since: int, wait: float) -> Changes:
        """The changes through this process since a position; waits up to `wait` seconds for one."""
        changes = self._feed.since(since)
        if not changes.tables and not changes.everything and wait:
            with suppress(TimeoutError):
                await asyncio.wait_for(self._more.wait(), wait)
            changes = self._feed.since(since)
        return changes
