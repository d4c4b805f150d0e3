"""News of other writers: the views' own feeds and the metastore's notification log.

`Loader.load_facts` sees a changed table by itself. What it cannot see is a partition that someone
added without Causeway's proxy; news of that arrives here, and by the snapshot's age without it.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

from conf.names import TableRef
from conf.settings.settings import Settings
from metastore.client.async_client import ClientPool
from metastore.client.metastore_client import HmsClient
from metastore.errors import MetastoreDown, MetastoreRefused
from metastore.snapshot.snapshot import Snapshot

PAUSE = 1.0  # seconds between looks at the notification log, and after a failure
LONG_POLL = 10.0  # seconds that a view may keep a question


@dataclass(frozen=True, slots=True)
class News:
    """`tables` as `db.table` or `db.*`; None: any may have changed. Ask again after `position`."""

    position: int
    tables: tuple[str, ...] | None


Look = Callable[[HmsClient, int | None], News]


async def follow(settings: Settings, snapshot: Snapshot) -> None:
    """Makes the snapshot forget what others change, until cancelled."""
    sources = [(_log, settings.metastores, PAUSE)] if settings.metastores else []
    sources += [(_feed, (view,), 0.0) for view in dict.fromkeys(settings.views.values())]
    pools = [ClientPool(where, settings.metastore_timeout) for _, where, _ in sources]
    try:
        async with asyncio.TaskGroup() as group:
            for (look, _, pause), pool in zip(sources, pools, strict=True):
                group.create_task(_follow(look, pool, pause, snapshot))
    finally:
        for pool in pools:
            pool.close()


async def _follow(look: Look, pool: ClientPool, pause: float, snapshot: Snapshot) -> None:
    """Ends where there are no news to be had; while the source is down it is asked again."""
    position: int | None = None
    while True:
        try:
            news = await pool.run(_after(look, position))
        except MetastoreRefused:
            return
        except MetastoreDown:
            await asyncio.sleep(PAUSE)
            continue
        position = news.position
        _forget(snapshot, news.tables)
        await asyncio.sleep(pause)


def _after(look: Look, position: int | None) -> Callable[[HmsClient], News]:
    return lambda client: look(client, position)


def _forget(snapshot: Snapshot, tables: tuple[str, ...] | None) -> None:
    if tables is None:
        snapshot.invalidate(None)
        return
    for text in tables:
        ref = TableRef.parse(text)
        if ref.name == "*":
            snapshot.invalidate_database(ref.db)
        else:
            snapshot.invalidate([ref])


def _log(client: HmsClient, after: int | None) -> News:
    """The notification log, which forgets old events: a gap may hide anything."""
    if after is None:
        return News(client.current_event(), None)
    events = client.events(after)
    if not events:
        return News(after, ())
    if events[0].id != after + 1:
        return News(events[-1].id, None)
    return News(events[-1].id, tuple(str(event.table) for event in events if event.table))


def _feed(client: HmsClient, after: int | None) -> News:
    changes = client.changes(after or 0, LONG_POLL)
    return News(changes.position, None if changes.everything else changes.tables)
