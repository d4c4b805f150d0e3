"""Which tables are as they were: asked of the views, where all writers use them.

`snapshot.writers = views` promises that whatever changes the metastore does so through a view of
the settings, or settles there afterwards as our own writers do. Then the views know of each change
before the one who made it hears that it is made. One question to each, answered from memory, takes
the place of one to the metastore for each table of a statement.
"""

import asyncio
from collections.abc import Iterable

from conf.names import TableRef
from conf.settings import Settings, Writers
from conf.topology import Endpoint
from metastore.errors import MetastoreDown, MetastoreRefused
from metastore.hms.client import Changes
from metastore.net.client import ClientPool
from metastore.net.flights import Flights

LIMIT = 100_000  # tables


class Watch:
    """Knows the tables that nothing changed since they were read. Belongs to one event loop."""

    def __init__(self, settings: Settings) -> None:
        views = dict.fromkeys(settings.views.values()) if settings.writers is Writers.VIEWS else ()
        self._pools = {each: ClientPool((each,), settings.metastore_timeout) for each in views}
        self._positions = dict.fromkeys(self._pools, 0)
        self._looks: Flights[str, bool] = Flights(lambda _: asyncio.ensure_future(self._look()))
        self._sure: set[TableRef] = set()
        self._news = 0

    def close(self) -> None:
        for pool in self._pools.values():
            pool.close()

    async def unchanged(self, table: TableRef) -> bool:
        """Whether it is certainly as it was when it was last read."""
        if not self._pools or table not in self._sure:
            return False
        await self._looks.ask("")
        return table in self._sure

    def reading(self) -> int:
        """A reading of a table begins: the answer is for `was_read`."""
        return self._news

    def was_read(self, table: TableRef, began: int) -> None:
        """What was read is remembered. News that came meanwhile may be of it."""
        if self._pools and began == self._news:
            if len(self._sure) >= LIMIT:
                self._sure.clear()
            self._sure.add(table)

    async def _look(self) -> bool:
        looks = (self._look_at(view, pool) for view, pool in self._pools.items())
        news = await asyncio.gather(*looks)
        if any(each is None or each for each in news):
            self._news += 1
        for each in news:
            self._doubt(each)
        return True

    async def _look_at(self, view: Endpoint, pool: ClientPool) -> tuple[str, ...] | None:
        """The tables that changed, None when any may have."""
        position = self._positions[view]
        try:
            changes: Changes = await pool.run(lambda client: client.touched(position))
        except (MetastoreDown, MetastoreRefused):
            return None
        self._positions[view] = changes.position
        return None if changes.everything else changes.tables

    def _doubt(self, tables: Iterable[str] | None) -> None:
        if tables is None:
            self._sure.clear()
            return
        for table in map(TableRef.parse, tables):
            if table.name == "*":
                self._sure = {each for each in self._sure if each.db != table.db}
            self._sure.discard(table)
