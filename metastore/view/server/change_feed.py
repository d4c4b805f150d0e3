"""The changed tables, in order. Caches in other processes read them to forget these tables."""

import time
from collections import deque
from uuid import uuid4

from conf.names import TableRef
from metastore.client.types import Changes

KEPT = 10_000  # changes; for a reader that has missed more, everything may have changed


class ChangeFeed:
    """The last `KEPT` changes. The first position is the time in microseconds, so that no position
    is used again after a restart."""

    def __init__(self, first: int | None = None) -> None:
        self.id = uuid4().hex
        self._first = time.time_ns() // 1000 if first is None else first
        self._tables: deque[str] = deque(maxlen=KEPT)
        self._next = self._first

    def add(self, tables: tuple[TableRef, ...]) -> None:
        self._tables.extend(str(table) for table in tables)
        self._next += len(tables)

    def since(self, position: int) -> Changes:
        """The changes since a position; everything for a position that is unknown or too old."""
        oldest = self._next - len(self._tables)
        if not oldest <= position <= self._next:
            return Changes(self._next, everything=True, feed=self.id)
        recent = list(self._tables)[position - oldest :]
        return Changes(self._next, tuple(dict.fromkeys(recent)), feed=self.id)
