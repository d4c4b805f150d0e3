"""Knows which tables have not changed, where all writers use the views.

`snapshot.writers = views` promises that every change of the metastore is made through a view of the
settings, or is reported to the views afterwards, as Causeway's own writers do. Then the views know
each change before its writer gets the reply. One call to each view, answered from memory, replaces
a call to the metastore for each table of a statement.
"""

import asyncio
from collections.abc import Callable

from conf.names import TableRef
from conf.settings.settings import Settings, Writers
from conf.topology import Endpoint
from metastore.client.async_client import ClientPool
from metastore.client.notifying_client import EVERYTHING
from metastore.client.types import Changes
from metastore.errors import MetastoreDown, MetastoreRefused
from metastore.snapshot.single_flight import SingleFlight

LIMIT = 100_000  # tables
OnChange = Callable[[tuple[TableRef, ...] | None], None]
"""Called with the tables that changed; None: any may have changed."""


class ChangeTracker:
    """The tables that have not changed since they were read. Belongs to one event loop."""

    def __init__(self, settings: Settings) -> None:
        views = dict.fromkeys(settings.views.values()) if settings.writers is Writers.VIEWS else ()
        self._pools = {each: ClientPool((each,), settings.metastore_timeout) for each in views}
        self._positions = dict.fromkeys(self._pools, 0)
        self._updates: SingleFlight[str, bool] = SingleFlight(
            lambda _: asyncio.ensure_future(self._update())
        )
        self._unchanged: set[TableRef] = set()
        self._epoch = 0  # grows with every change
        self._followers: list[OnChange] = []

    def follow(self, on_change: OnChange) -> None:
        """`on_change` is called with the changes of each update before the update ends."""
        self._followers.append(on_change)

    async def update(self) -> bool:
        """Reads the changes from all views. False if a view did not reply: nothing is certain."""
        return bool(self._pools) and await self._updates.ask("")

    def close(self) -> None:
        for pool in self._pools.values():
            pool.close()

    async def unchanged(self, table: TableRef) -> bool:
        """Whether the table has certainly not changed since it was last read."""
        if not self._pools or table not in self._unchanged:
            return False
        await self._updates.ask("")
        return table in self._unchanged

    def reading(self) -> int:
        """Call this before a table is read, and pass the result to `was_read`."""
        return self._epoch

    def was_read(self, table: TableRef, epoch: int) -> None:
        """The table is unchanged from now on, unless a change came while it was read."""
        if self._pools and epoch == self._epoch:
            if len(self._unchanged) >= LIMIT:
                self._unchanged.clear()
            self._unchanged.add(table)

    async def _update(self) -> bool:
        calls = (self._changes_of(view, pool) for view, pool in self._pools.items())
        replies = await asyncio.gather(*calls)
        changed = [None if each is None or each.everything else each.tables for each in replies]
        if any(each is None or each for each in changed):
            self._epoch += 1
        for each in changed:
            self._forget(None if each is None else tuple(map(TableRef.parse, each)))
        return None not in replies

    async def _changes_of(self, view: Endpoint, pool: ClientPool) -> Changes | None:
        """The changes since the last call; None if the view does not reply."""
        position = self._positions[view]
        try:
            changes: Changes = await pool.run(lambda client: client.touched(position))
        except (MetastoreDown, MetastoreRefused):
            return None
        self._positions[view] = changes.position
        return changes

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
