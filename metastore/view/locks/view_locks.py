"""Locks of tables in every process of the view at once.

Theory. The metastore has no compare-and-set: a writer of facts reads an object, changes it and
writes it back. So a writer has the lock of the object's table in every process of the view that
runs, from reading to writing. Two writers have at least one process in common, unless all those
that the first one asked have ended and all those that the second one asked have started since. A
process that starts answers nobody for `GRACE` seconds, and the locks of an owner that was lost are
kept as long, so that what the first one has sent to the metastore has ended by then.

All writers ask the processes in the order of their addresses, and take the tables of each in order.
So there is no deadlock.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Collection, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from uuid import uuid4

from conf.errors import CausewayError
from conf.names import TableRef
from metastore.client.changes.view_sync import GRACE
from metastore.errors import MalformedReply, MetastoreDown
from metastore.view.errors import MessageTooLarge
from metastore.view.locks.peers import Held, Place
from metastore.view.locks.table_locks import TableLocks

UNKNOWN_END = (MetastoreDown, MalformedReply, MessageTooLarge)
"""After these errors the metastore may still carry out what it was sent."""


@dataclass(slots=True)
class Exclusive:
    """Tables that are locked everywhere. Add to `changed` what the other processes have to forget
    before the locks are given back; a table `*` stands for all of its database.
    """

    tables: frozenset[TableRef]
    changed: list[TableRef] = field(default_factory=list)


class ViewLocks:
    """One a process. `on_change` is called with tables that another process may have changed."""

    def __init__(
        self,
        on_change: Callable[[tuple[TableRef, ...]], None],
        places: Iterable[Place] = (),
    ) -> None:
        self.process = uuid4().hex
        self.local = TableLocks()
        self._on_change = on_change
        self._here = ""
        self._places = sorted(places, key=_order)

    def listens_at(self, addresses: Iterable[str]) -> None:
        """The addresses of this process itself; any of the places among them is left out."""
        own = set(addresses)
        known = [each.order for each in self._places if each.order in own]
        self._here = min(known or own, default="")
        self._places = [each for each in self._places if each.order not in own]

    @asynccontextmanager
    async def exclusive(
        self, tables: Iterable[TableRef], owner: str = ""
    ) -> AsyncIterator[Exclusive]:
        """Locks the tables everywhere. Locks that `owner` has already are no obstacle.

        Raises FactsUnavailable if another process does not answer.
        """
        held = Exclusive(frozenset(tables))
        taken = await self._take(owner or uuid4().hex, held.tables)
        try:
            yield held
            while taken:
                await taken[-1].release(held.changed)
                taken.pop()
        except BaseException as error:
            if isinstance(error, CausewayError) and not isinstance(error, UNKNOWN_END):
                while taken:
                    await taken.pop().release(held.changed)
            raise
        finally:
            for each in taken:
                each.abandon()

    def close(self) -> None:
        """Closes the connections that no lock uses."""
        for each in self._places:
            each.close()

    async def take_local(self, owner: str, tables: Iterable[TableRef]) -> None:
        """Locks the tables in this process alone, for an owner elsewhere."""
        await self.local.acquire(owner, tables)

    def release_local(
        self, owner: str, tables: Collection[TableRef], changed: Iterable[TableRef] = ()
    ) -> None:
        """Gives locks of `take_local` back; `changed` are the tables that their owner changed."""
        if known := tuple(changed):
            self._on_change(known)
        self.local.release(owner, tables)

    def abandon_local(self, owner: str, tables: Collection[TableRef]) -> None:
        """The owner is lost: its locks are released when what it has sent has ended."""
        self._on_change(tuple(tables))
        loop = asyncio.get_running_loop()
        loop.call_later(GRACE, self.release_local, owner, tables, tables)

    async def _take(self, owner: str, tables: frozenset[TableRef]) -> list[Held]:
        taken: list[Held] = []
        asked = {self.process}
        is_here = False
        try:
            for place in self._places:
                if not is_here and self._here < place.order:
                    is_here = True
                    taken.append(await self._take_here(owner, tables))
                if place.process in asked:
                    continue  # another address of the same process
                held = await place.lock(owner, tables)
                if held is not None:
                    taken.append(held)
                    asked.add(held.process)
            if not is_here:
                taken.append(await self._take_here(owner, tables))
        except BaseException as error:
            for each in taken:
                if isinstance(error, CausewayError):
                    await each.release(())
                else:
                    each.abandon()
            raise
        return taken

    async def _take_here(self, owner: str, tables: frozenset[TableRef]) -> Held:
        await self.take_local(owner, tables)
        return _HeldHere(self, owner, tables)


class _HeldHere:
    """A `Held` of this process itself. Its own caches know of changes already."""

    def __init__(self, locks: ViewLocks, owner: str, tables: frozenset[TableRef]) -> None:
        self._locks = locks
        self._owner = owner
        self._tables = tables
        self.process = locks.process

    async def release(self, changed: Iterable[TableRef]) -> None:
        self._locks.release_local(self._owner, self._tables)

    def abandon(self) -> None:
        self._locks.abandon_local(self._owner, self._tables)


def _order(place: Place) -> str:
    return place.order
