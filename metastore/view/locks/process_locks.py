"""The locks of tables that one process of the view grants."""

import asyncio
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field

from conf.names import TableRef


@dataclass(slots=True)
class _Lock:
    """`depth` is how many times its owner has taken it. `waiting` are the next owners in order."""

    owner: str
    depth: int = 1
    waiting: deque[tuple[str, "asyncio.Future[None]"]] = field(default_factory=deque)


class ProcessLocks:
    """A lock has one owner, which may take it several times. Belongs to one event loop.

    The owner is an id that a writer chose, so that a writer can use its own locks through another
    connection.
    """

    def __init__(self) -> None:
        self._locks: dict[TableRef, _Lock] = {}

    def is_locked(self, table: TableRef) -> bool:
        return table in self._locks

    async def acquire(self, owner: str, tables: Iterable[TableRef]) -> None:
        """Waits for the locks and takes them in a fixed order, so that there is no deadlock. If the
        caller is cancelled, the owner gets none of them."""
        taken: list[TableRef] = []
        try:
            for table in sorted(set(tables)):
                await self._acquire(owner, table)
                taken.append(table)
        except BaseException:
            self.release(owner, taken)
            raise

    def release(self, owner: str, tables: Iterable[TableRef]) -> None:
        """Releases each of the locks once."""
        for table in set(tables):
            lock = self._locks.get(table)
            if lock is None or lock.owner != owner:
                continue
            lock.depth -= 1
            if not lock.depth and not _hand_over(lock):
                del self._locks[table]

    async def _acquire(self, owner: str, table: TableRef) -> None:
        lock = self._locks.get(table)
        if lock is None:
            self._locks[table] = _Lock(owner)
        elif lock.owner == owner:
            lock.depth += 1
        else:
            turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            lock.waiting.append((owner, turn))
            try:
                await turn
            except BaseException:
                if turn.done() and not turn.cancelled():  # the lock was handed over meanwhile
                    self.release(owner, (table,))
                raise


def _hand_over(lock: _Lock) -> bool:
    """Makes the first waiting owner the lock's owner; False if none waits."""
    while lock.waiting:
        owner, turn = lock.waiting.popleft()
        if not turn.done():
            lock.owner, lock.depth = owner, 1
            turn.set_result(None)
            return True
    return False
