"""A cache of the partitions that predicates select. Selecting them may take seconds.

A statement's partitions are needed several times. The first selection may run in a thread; then the
event loop finds the result here.
"""

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from threading import Lock
from weakref import ref

from cachetools import LRUCache

from conf.partitions import PartitionSet

MIN_PARTITIONS = 1_000  # selections of fewer partitions are not cached
_MAX_ROWS = 4_000_000  # row numbers in the cache

Rows = range | list[int]


@dataclass(frozen=True, slots=True)
class _Selected:
    predicate: object  # a reference, so that no other object gets its id
    partitions: "ref[PartitionSet]"
    rows: Rows


def _size(selected: _Selected) -> int:
    return 100 + (len(selected.rows) if isinstance(selected.rows, list) else 0)


_SELECTED: LRUCache[Hashable, _Selected] = LRUCache(_MAX_ROWS, _size)
_LOCK = Lock()


def cached_rows(
    predicate: object, partitions: PartitionSet, days: Hashable, compute: Callable[[], Rows]
) -> Rows:
    """The result of `compute`, from the cache if there is one for this predicate, these partitions
    and days."""
    if len(partitions) < MIN_PARTITIONS:
        return compute()
    key = (id(predicate), id(partitions), days)
    with _LOCK:
        cached = _SELECTED.get(key)
    if cached is not None and cached.predicate is predicate and cached.partitions() is partitions:
        return cached.rows
    rows = compute()
    if len(rows) < _MAX_ROWS // 2:
        with _LOCK:
            _SELECTED[key] = _Selected(predicate, ref(partitions), rows)
    return rows
