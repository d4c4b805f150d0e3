"""`causeway_lock` and `causeway_unlock`: locks in this process for an owner elsewhere."""

import asyncio
from collections.abc import Callable

from conf.names import TableRef
from metastore.view.errors import FactsUnavailable
from metastore.view.locks.view_locks import ViewLocks
from thriftcodec.errors import MalformedMessage
from thriftcodec.values import Struct

_LONGEST = 600.0  # seconds that a lock is waited for
_TABLES, _OWNER, _WAIT = 1, 2, 3
_CHANGED = 1


class RemoteLock:
    """The locks that one client's connection has taken, by one call at a time."""

    def __init__(self, locks: ViewLocks, is_gone: Callable[[], bool]) -> None:
        self._locks = locks
        self._is_gone = is_gone
        self._held: tuple[str, tuple[TableRef, ...]] | None = None

    async def take(self, arguments: Struct) -> str:
        """Waits for the locks; returns the id of this process. Raises FactsUnavailable."""
        owner = str(arguments.get(_OWNER) or "")
        if self._held is not None or not owner:
            raise MalformedMessage("one lock at a time, with its owner")
        tables = tuple(TableRef.parse(str(each)) for each in arguments.get(_TABLES) or ())
        wait = min(int(arguments.get(_WAIT) or 0) / 1000, _LONGEST)
        try:
            async with asyncio.timeout(wait):
                await self._locks.take_local(owner, tables)
        except TimeoutError:
            names = ", ".join(map(str, tables))
            raise FactsUnavailable(f"{names}: another change has run for {wait:g} s") from None
        if self._is_gone():  # it sent nothing meanwhile
            self._locks.release_local(owner, tables)
            raise MalformedMessage("the client has gone")
        self._held = owner, tables
        return self._locks.process

    def release(self, arguments: Struct) -> None:
        """The owner has ended its change, and names the tables that others have to forget."""
        if self._held is not None:
            (owner, tables), self._held = self._held, None
            changed = (TableRef.parse(str(each)) for each in arguments.get(_CHANGED) or ())
            self._locks.release_local(owner, tables, changed)

    def lost(self) -> None:
        """The connection has ended."""
        if self._held is not None:
            (owner, tables), self._held = self._held, None
            self._locks.abandon_local(owner, tables)
