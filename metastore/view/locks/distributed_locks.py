"""Locks of tables in every process of the view at once.

Theory. The metastore has no compare-and-set: a writer of facts reads an object, changes it and
writes it back. So a writer locks the object's table in every process of the view that runs, from
reading to writing. Two writers lock at least one process in common, unless all processes that the
first one locked have ended and all that the second one locked have started since. For that case a
process that starts answers no client for `GRACE` seconds, and a process keeps the locks of a lost
owner for `GRACE` seconds. By then the metastore has finished what the first writer sent.

All writers lock the processes in the order of their addresses, and the tables of each process in
order. So there is no deadlock.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Collection, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Protocol
from uuid import uuid4

from conf.errors import CausewayError
from conf.names import TableRef
from metastore.client.changes.view_sync import GRACE
from metastore.errors import MalformedReply, MetastoreDown
from metastore.view.errors import MessageTooLarge
from metastore.view.locks.process_locks import ProcessLocks

UNKNOWN_END = (MetastoreDown, MalformedReply, MessageTooLarge)
"""After these errors the metastore may still carry out the request that it received."""


class GrantedLocks(Protocol):
    """Locks of tables that one process granted."""

    @property
    def process_id(self) -> str:
        """The id of the process."""
        ...

    async def release(self, changed: Iterable[TableRef]) -> None:
        """Releases the locks, and reports to the process that these tables have changed."""
        ...

    def abandon(self) -> None:
        """Leaves the locks to the process: the metastore may still carry out a request of their
        owner, so the process releases them later."""
        ...


class PeerProcess(Protocol):
    """Another process of the view, at one address."""

    @property
    def order(self) -> str:
        """The address. Processes are locked in the order of these texts."""
        ...

    @property
    def process_id(self) -> str:
        """The id of the process, while a connection to it is open; else empty."""
        ...

    async def lock(self, owner: str, tables: Collection[TableRef]) -> GrantedLocks | None:
        """Locks the tables there. None: no process listens at the address, or its version has no
        locks. Raises FactsUnavailable if it does not answer."""
        ...

    def close(self) -> None:
        """Closes the idle connections."""
        ...


@dataclass(slots=True)
class LockedTables:
    """Tables that are locked in every process. Before the locks are released, add to `changed` the
    tables that the other processes have to forget; a table `*` means all of its database.
    """

    tables: frozenset[TableRef]
    changed: list[TableRef] = field(default_factory=list)


class DistributedLocks:
    """One for each process of the view; `peers` are the other ones. `on_change` is called with
    tables that an owner in another process may have changed."""

    def __init__(
        self,
        on_change: Callable[[tuple[TableRef, ...]], None],
        peers: Iterable[PeerProcess] = (),
    ) -> None:
        self.process_id = uuid4().hex
        self.local = ProcessLocks()
        self._on_change = on_change
        self._own_address = ""
        self._peers = sorted(peers, key=_order)

    def listens_at(self, addresses: Iterable[str]) -> None:
        """Sets the addresses of this process itself, which are no peers. The first of them is its
        place in the order of the processes."""
        own = set(addresses)
        known = [each.order for each in self._peers if each.order in own]
        self._own_address = min(known or own, default="")
        self._peers = [each for each in self._peers if each.order not in own]

    @asynccontextmanager
    async def exclusive(
        self, tables: Iterable[TableRef], owner: str = ""
    ) -> AsyncIterator[LockedTables]:
        """Locks the tables in every process. Locks that `owner` has already are no obstacle.

        Raises FactsUnavailable if another process does not answer.
        """
        locked = LockedTables(frozenset(tables))
        granted = await self._lock_everywhere(owner or uuid4().hex, locked.tables)
        try:
            yield locked
            while granted:
                await granted[-1].release(locked.changed)
                granted.pop()
        except BaseException as error:
            if isinstance(error, CausewayError) and not isinstance(error, UNKNOWN_END):
                while granted:
                    await granted.pop().release(locked.changed)
            raise
        finally:
            for each in granted:
                each.abandon()

    def close(self) -> None:
        """Closes the connections that no lock uses."""
        for each in self._peers:
            each.close()

    async def take_local(self, owner: str, tables: Iterable[TableRef]) -> None:
        """Locks the tables in this process alone. The owner may be in another process."""
        await self.local.acquire(owner, tables)

    def release_local(
        self, owner: str, tables: Collection[TableRef], changed: Iterable[TableRef] = ()
    ) -> None:
        """Releases locks of `take_local`; `changed` are the tables that their owner changed."""
        if known := tuple(changed):
            self._on_change(known)
        self.local.release(owner, tables)

    def abandon_local(self, owner: str, tables: Collection[TableRef]) -> None:
        """Releases the locks of a lost owner after `GRACE` seconds, when the metastore has finished
        what the owner sent."""
        self._on_change(tuple(tables))
        loop = asyncio.get_running_loop()
        loop.call_later(GRACE, self.release_local, owner, tables, tables)

    async def _lock_everywhere(self, owner: str, tables: frozenset[TableRef]) -> list[GrantedLocks]:
        granted: list[GrantedLocks] = []
        locked = {self.process_id}
        is_locked_here = False
        try:
            for peer in self._peers:
                if not is_locked_here and self._own_address < peer.order:
                    is_locked_here = True
                    granted.append(await self._lock_here(owner, tables))
                if peer.process_id in locked:
                    continue  # another address of the same process
                locks = await peer.lock(owner, tables)
                if locks is not None:
                    granted.append(locks)
                    locked.add(locks.process_id)
            if not is_locked_here:
                granted.append(await self._lock_here(owner, tables))
        except BaseException as error:
            for each in granted:
                if isinstance(error, CausewayError):
                    await each.release(())
                else:
                    each.abandon()
            raise
        return granted

    async def _lock_here(self, owner: str, tables: frozenset[TableRef]) -> GrantedLocks:
        await self.take_local(owner, tables)
        return _GrantedHere(self, owner, tables)


class _GrantedHere:
    """`GrantedLocks` of this process itself, whose caches have the changes already."""

    def __init__(self, locks: DistributedLocks, owner: str, tables: frozenset[TableRef]) -> None:
        self._locks = locks
        self._owner = owner
        self._tables = tables
        self.process_id = locks.process_id

    async def release(self, changed: Iterable[TableRef]) -> None:
        self._locks.release_local(self._owner, self._tables)

    def abandon(self) -> None:
        self._locks.abandon_local(self._owner, self._tables)


def _order(peer: PeerProcess) -> str:
    return peer.order
