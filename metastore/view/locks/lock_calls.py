"""Serves `causeway_lock` and `causeway_unlock`: locks of this process for an owner elsewhere.

The owner is a peer (`metastore.view.locks.peer_client`) or a writer outside the view
(`metastore.client.changes.view_sync`).
"""

import asyncio
from collections.abc import Callable

from conf.names import TableRef
from metastore.view.errors import FactsUnavailable
from metastore.view.locks.distributed_locks import DistributedLocks
from thriftcodec.errors import MalformedMessage
from thriftcodec.values import Struct

_LONGEST = 600.0  # seconds that an owner may wait for a lock
_TABLES, _OWNER, _WAIT = 1, 2, 3
_CHANGED = 1


class LockCalls:
    """The locks of one client's connection, which has those of one `causeway_lock` at a time."""

    def __init__(self, locks: DistributedLocks, is_gone: Callable[[], bool]) -> None:
        self._locks = locks
        self._is_gone = is_gone
        self._held: tuple[str, tuple[TableRef, ...]] | None = None

    async def take(self, arguments: Struct) -> str:
        """Waits for the locks and returns the id of this process. Raises FactsUnavailable if
        another owner keeps them for too long, MalformedMessage."""
        owner = str(arguments.get(_OWNER) or "")
        if self._held is not None or not owner:
            raise MalformedMessage("a connection locks once at a time, and names the owner")
        tables = tuple(TableRef.parse(str(each)) for each in arguments.get(_TABLES) or ())
        wait = min(int(arguments.get(_WAIT) or 0) / 1000, _LONGEST)
        try:
            async with asyncio.timeout(wait):
                await self._locks.take_local(owner, tables)
        except TimeoutError:
            names = ", ".join(map(str, tables))
            raise FactsUnavailable(f"{names}: another change has run for {wait:g} s") from None
        if self._is_gone():
            self._locks.release_local(owner, tables)
            raise MalformedMessage("the client has gone")
        self._held = owner, tables
        return self._locks.process_id

    def release(self, arguments: Struct) -> None:
        """The owner has ended its change. The arguments name the tables that it changed."""
        if self._held is not None:
            (owner, tables), self._held = self._held, None
            changed = (TableRef.parse(str(each)) for each in arguments.get(_CHANGED) or ())
            self._locks.release_local(owner, tables, changed)

    def lost(self) -> None:
        """The connection has ended: its locks are kept for `GRACE` seconds."""
        if self._held is not None:
            (owner, tables), self._held = self._held, None
            self._locks.abandon_local(owner, tables)
