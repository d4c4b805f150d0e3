"""A cache of the partitions that predicates select: computing them may take seconds.

A statement's partitions are asked for several times on its way. The first time may be in a thread,
so that the event loop has them at hand.
"""

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from threading import Lock
from weakref import ref

from cachetools import LRUCache

from conf.partitions import PartitionSet

FEW = 1_000  # partitions; of fewer it is worked out again
_KEPT = 4_000_000  # row numbers

Rows = range | list[int]


@dataclass(frozen=True, slots=True)
class _Selected:
    predicate: object  # is kept, so that its identity is not another one's
    partitions: "ref[PartitionSet]"
    rows: Rows


def _size(selected: _Selected) -> int:
    return 100 + (len(selected.rows) if isinstance(selected.rows, list) else 0)


_SELECTED: LRUCache[Hashable, _Selected] = LRUCache(_KEPT, _size)
_LOCK = Lock()


def remembered(
    predicate: object, partitions: PartitionSet, days: Hashable, work: Callable[[], Rows]
) -> Rows:
    """The result of `work`, computed once for a predicate, a set of partitions and a day."""
    if len(partitions) < FEW:
        return work()
    key = (id(predicate), id(partitions), days)
    with _LOCK:
        known = _SELECTED.get(key)
    if known is not None and known.predicate is predicate and known.partitions() is partitions:
        return known.rows
    rows = work()
    if len(rows) < _KEPT // 2:
        with _LOCK:
            _SELECTED[key] = _Selected(predicate, ref(partitions), rows)
    return rows
