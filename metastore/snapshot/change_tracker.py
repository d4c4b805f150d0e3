"""Which tables are as they were: asked of the views, where all writers use them.

`snapshot.writers = views` promises that whatever changes the metastore does so through a view of
the settings, or settles there afterwards as our own writers do. Then the views know of each change
before the one who made it hears that it is made. One question to each, answered from memory, takes
the place of one to the metastore for each table of a statement.
"""

import asyncio
from collections.abc import Callable

from conf.names import TableRef
from conf.settings.settings import Settings, Writers
from conf.topology import Endpoint
from metastore.client.async_client import ClientPool
from metastore.client.metastore_client import Changes
from metastore.client.notifying_client import EVERYTHING
from metastore.errors import MetastoreDown, MetastoreRefused
from metastore.snapshot.single_flight import SingleFlight

LIMIT = 100_000  # tables
OnChange = Callable[[tuple[TableRef, ...] | None], None]  # these have changed; None: any may have


class ChangeTracker:
    """Knows the tables that nothing changed since they were read. Belongs to one event loop."""

    def __init__(self, settings: Settings) -> None:
        views = dict.fromkeys(settings.views.values()) if settings.writers is Writers.VIEWS else ()
        self._pools = {each: ClientPool((each,), settings.metastore_timeout) for each in views}
        self._positions = dict.fromkeys(self._pools, 0)
        self._looks: SingleFlight[str, bool] = SingleFlight(lambda _: asyncio.ensure_future(self._look()))
        self._sure: set[TableRef] = set()
        self._news = 0
        self._followers: list[OnChange] = []

    def follow(self, heard: OnChange) -> None:
        """Each look's news are told to `heard` before the look ends."""
        self._followers.append(heard)

    async def look(self) -> bool:
        """Asks all views what changed. Whether each told: else nothing is certain."""
        return bool(self._pools) and await self._looks.ask("")

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
        changed = [None if each is None or each.everything else each.tables for each in news]
        if any(each is None or each for each in changed):
            self._news += 1
        for each in changed:
            self._doubt(None if each is None else tuple(map(TableRef.parse, each)))
        return None not in news

    async def _look_at(self, view: Endpoint, pool: ClientPool) -> Changes | None:
        """What changed; None when the view does not tell."""
        position = self._positions[view]
        try:
            changes: Changes = await pool.run(lambda client: client.touched(position))
        except (MetastoreDown, MetastoreRefused):
            return None
        self._positions[view] = changes.position
        return changes

    def _doubt(self, tables: tuple[TableRef, ...] | None) -> None:
        if tables is not None and EVERYTHING in tables:
            tables = None
        if tables is None:
            self._sure.clear()
        for table in tables or ():
            if table.name == "*":
                self._sure = {each for each in self._sure if each.db != table.db}
            self._sure.discard(table)
        if tables is None or tables:
            for heard in self._followers:
                heard(tables)
