"""Keeps the tables that have certainly not changed since they were read.

This needs `snapshot.writers = views`: every change of the metastore is made through a view of the
settings, or reported to the views afterwards, as Causeway's own writers do. Then the views have
each change in their feed before its writer gets the reply. One call to each view, answered from
memory, replaces a call to the metastore for each table of a statement. The views of one process
have one feed, so only one of them is called. Each process also has the changes that were made
through the others (`metastore.view.locks`), so a process that has ended need not be called while
another one answers.
"""

import asyncio
from collections.abc import Callable, Iterable

from conf.names import TableRef
from conf.settings.settings import Settings, Writers
from metastore.client.changes.feed_client import FeedClient
from metastore.client.changes.notifying_client import EVERYTHING
from metastore.client.single_flight import SingleFlight

LIMIT = 100_000  # tables
OnChange = Callable[[tuple[TableRef, ...] | None], None]
"""Called with the tables that changed; None: any may have changed."""


class ChangeTracker:
    """The tables that have not changed since they were read. Belongs to one event loop."""

    def __init__(self, settings: Settings) -> None:
        views = settings.view_addresses if settings.writers is Writers.VIEWS else ()
        self._feeds = [
            FeedClient(each, settings.metastore_timeout, settings.view_login) for each in views
        ]
        self._updates: SingleFlight[str, bool] = SingleFlight(
            lambda _: asyncio.ensure_future(self._update())
        )
        self._unchanged: set[TableRef] = set()
        self._epoch = 0  # grows with every change
        self._followers: list[OnChange] = []
        self._absent: set[FeedClient] = set()  # no process listens there, but others answer

    def follow(self, on_change: OnChange) -> None:
        """Calls `on_change` with the changes of each update, before the update ends."""
        self._followers.append(on_change)

    async def update(self) -> bool:
        """Reads the changes from all views; False if one did not answer, so that it is not certain
        which tables have changed."""
        return bool(self._feeds) and await self._updates.ask("")

    def close(self) -> None:
        for feed in self._feeds:
            feed.close()

    async def unchanged(self, tables: Iterable[TableRef]) -> frozenset[TableRef]:
        """The tables among these that have certainly not changed since they were last read."""
        if self._unchanged.isdisjoint(tables):
            return frozenset()
        await self._updates.ask("")
        return frozenset(tables) & self._unchanged

    def reading(self) -> int:
        """The present epoch. Call this before reading a table; pass the result to `was_read`."""
        return self._epoch

    def was_read(self, table: TableRef, epoch: int) -> None:
        """Records that the table was read, unless something changed while it was read."""
        if self._feeds and epoch == self._epoch:
            if len(self._unchanged) >= LIMIT:
                self._unchanged.clear()
            self._unchanged.add(table)

    async def _update(self) -> bool:
        feeds = self._distinct()
        replies = await asyncio.gather(*(each.changes() for each in feeds))
        absent = {each for each in feeds if each.is_absent}
        if len(absent) == len(feeds):
            absent = set()
        changed = [
            None if reply is None or reply.everything else reply.tables
            for feed, reply in zip(feeds, replies, strict=True)
            if feed not in absent or feed not in self._absent
        ]
        self._absent = absent
        if any(each is None or each for each in changed):
            self._epoch += 1
        for each in changed:
            self._forget(None if each is None else tuple(map(TableRef.parse, each)))
        return all(
            reply is not None or feed in absent for feed, reply in zip(feeds, replies, strict=True)
        )

    def _distinct(self) -> list[FeedClient]:
        """One client of each feed, and the clients whose feed is not known."""
        known = {each.feed: each for each in reversed(self._feeds)}
        return [each for each in self._feeds if not each.feed or known[each.feed] is each]

    def _forget(self, tables: tuple[TableRef, ...] | None) -> None:
        if tables is not None and EVERYTHING in tables:
            tables = None
        if tables is None:
            self._unchanged.clear()
        for table in tables or ():
            if table.name == "*":
                self._unchanged = {each for each in self._unchanged if each.db != table.db}
            self._unchanged.discard(table)
        if tables is None or tables:
            for on_change in self._followers:
                on_change(tables)
