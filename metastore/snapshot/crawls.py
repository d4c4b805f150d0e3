"""Predicts the tables that a crawl will need next.

A tool that crawls a database lists its tables and then describes one after the other, in the order
of the list. From the second such request on, the next tables of the list can be read in advance.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from cachetools import LRUCache

WINDOW = 32  # tables that are read ahead of a request
CHUNK = 8  # tables in one call
SKIPPED = 8  # tables of the list that a crawl may leave out between two requests
CRAWLS = 4  # of one database at the same time
LISTS = 16  # databases whose list is kept
LONGEST = 20_000  # names in a list


@dataclass(slots=True)
class _Crawl:
    """Positions in the list: `last` of the last request, `unread` of the first table that was not
    read ahead."""

    last: int
    unread: int


@dataclass(slots=True)
class _List:
    names: Sequence[str]
    positions: dict[str, int]
    crawls: list[_Crawl] = field(default_factory=list)


class Crawls:
    """The lists of tables that clients have received, and the crawls along them."""

    def __init__(self) -> None:
        self._lists: LRUCache[str, _List] = LRUCache(LISTS)

    def list_was_shown(self, database: str, names: Sequence[str]) -> None:
        """Records the names of a database's tables in the order in which a client received them."""
        known = self._lists.get(database)
        if len(names) <= LONGEST and (known is None or known.names != names):
            positions = {name: position for position, name in enumerate(names)}
            self._lists[database] = _List(names, positions)

    def next_tables(self, database: str, name: str) -> Sequence[str]:
        """The tables to read ahead when this one is needed: whole chunks, or the list's end."""
        known = self._lists.get(database)
        position = None if known is None else known.positions.get(name)
        if known is None or position is None:
            return ()
        for crawl in known.crawls:
            if crawl.last < position <= crawl.last + SKIPPED:
                return _advance(crawl, position, known.names)
        known.crawls = [*known.crawls[1 - CRAWLS :], _Crawl(position, position + 1)]
        return ()


def _advance(crawl: _Crawl, position: int, names: Sequence[str]) -> Sequence[str]:
    crawl.last = position
    begin = max(crawl.unread, position + 1)
    end = min(position + 1 + WINDOW, len(names))
    if end < len(names):
        end -= (end - begin) % CHUNK
    crawl.unread = max(begin, end)
    return names[begin:end]
