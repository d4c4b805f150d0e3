"""What changed through the view, in order: how caches elsewhere learn of it at once."""

import time
from collections import deque
from dataclasses import dataclass

from conf.names import TableRef

KEPT = 10_000  # changes; who falls further behind is told that everything may have changed


@dataclass(frozen=True, slots=True)
class News:
    """The answer to `causeway_changes(since)`: ask again with `next`.

    `tables` are `db.table`, or `db.*` for a whole database; `all` says that anything may have
    changed: the asker is new, too late, or knew another process.
    """

    next: int
    tables: tuple[str, ...] = ()
    all: bool = False


class ChangeFeed:
    """The last `KEPT` changes. Positions begin at the start's microsecond: they never repeat."""

    def __init__(self, first: int | None = None) -> None:
        self._first = time.time_ns() // 1000 if first is None else first
        self._tables: deque[str] = deque(maxlen=KEPT)
        self._next = self._first

    def add(self, tables: tuple[TableRef, ...]) -> None:
        self._tables.extend(str(table) for table in tables)
        self._next += len(tables)

    def since(self, position: int) -> News:
        oldest = self._next - len(self._tables)
        if not oldest <= position <= self._next:
            return News(self._next, all=True)
        recent = list(self._tables)[position - oldest :]
        return News(self._next, tuple(dict.fromkeys(recent)))
