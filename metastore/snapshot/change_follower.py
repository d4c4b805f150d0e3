"""Follows the changes of other writers, in the views' feeds and the metastore's notification log.

`SnapshotLoader.load_facts` finds a changed table itself. It does not find a partition that was
added without Causeway's proxy. This module removes such a table from the snapshot; without it the
table would stay until the limit of the snapshot's age.
"""

import asyncio
from collections.abc import Callable

from conf.names import TableRef
from conf.settings.settings import Settings
from metastore.client.async_client import ClientPool
from metastore.client.metastore_client import HmsClient
from metastore.client.types import Changes
from metastore.errors import MetastoreDown, MetastoreRefused
from metastore.snapshot.snapshot import Snapshot

PAUSE = 1.0  # seconds between two calls for the notification log, and after a failure
LONG_POLL = 10.0  # seconds that a view may wait before it replies

Read = Callable[[HmsClient, int | None], Changes]
"""Reads the changes since a position; None for the first call."""


async def follow(settings: Settings, snapshot: Snapshot) -> None:
    """Removes the tables from the snapshot that other writers change, until it is cancelled."""
    login, timeout = settings.metastore_login, settings.metastore_timeout
    sources = [(_log, settings.metastores, PAUSE, login)] if settings.metastores else []
    sources += [(_feed, (view,), 0.0, settings.view_login) for view in settings.view_addresses]
    pools = [ClientPool(where, timeout, how) for _, where, _, how in sources]
    try:
        async with asyncio.TaskGroup() as group:
            for (read, _, pause, _), pool in zip(sources, pools, strict=True):
                group.create_task(_follow(read, pool, pause, snapshot))
    finally:
        for pool in pools:
            pool.close()


async def _follow(read: Read, pool: ClientPool, pause: float, snapshot: Snapshot) -> None:
    """Follows one source of changes. Ends if the source does not have the call; tries again while
    it is down."""
    position: int | None = None
    while True:
        try:
            changes = await pool.run(_after(read, position))
        except MetastoreRefused:
            return
        except MetastoreDown:
            await asyncio.sleep(PAUSE)
            continue
        position = changes.position
        _forget(snapshot, changes)
        await asyncio.sleep(pause)


def _after(read: Read, position: int | None) -> Callable[[HmsClient], Changes]:
    return lambda client: read(client, position)


def _forget(snapshot: Snapshot, changes: Changes) -> None:
    if changes.everything:
        snapshot.invalidate(None)
        return
    for text in changes.tables:
        ref = TableRef.parse(text)
        if ref.name == "*":
            snapshot.invalidate_database(ref.db)
        else:
            snapshot.invalidate([ref])


def _log(client: HmsClient, after: int | None) -> Changes:
    """The changes in the notification log. The metastore deletes old events, so after a gap any
    table may have changed."""
    if after is None:
        return Changes(client.current_event(), (), everything=True)
    events = client.events(after)
    if not events:
        return Changes(after, (), everything=False)
    if events[0].id != after + 1:
        return Changes(events[-1].id, (), everything=True)
    tables = tuple(str(event.table) for event in events if event.table)
    return Changes(events[-1].id, tables, everything=False)


def _feed(client: HmsClient, after: int | None) -> Changes:
    """The changes in a view's feed."""
    return client.changes(after or 0, LONG_POLL)
