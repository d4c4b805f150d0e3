"""Counters by name, of one process or shared by the workers of a server."""

from collections import Counter
from functools import lru_cache
from hashlib import blake2b
from typing import Protocol

_SLOTS = 1 << 16
_BYTES = 4


class Counters(Protocol):
    def count(self, key: str) -> int:
        """The value of a counter."""
        ...

    def add(self, key: str, by: int) -> None:
        """Adds `by`, which may be negative."""
        ...


class LocalCounters:
    """Counters of one process."""

    def __init__(self) -> None:
        self._counts: Counter[str] = Counter()

    def count(self, key: str) -> int:
        return self._counts[key]

    def add(self, key: str, by: int) -> None:
        self._counts[key] += by
        if not self._counts[key]:
            del self._counts[key]


class SharedCounters:
    """Counters in shared memory: each process writes its own part and reads all parts.

    A key has two of the 65,536 slots of a part, and its value is the lower one: a slot that two
    keys share can only be too high (a count-min sketch). There are no locks: two processes that
    take the last place at the same moment may both get it.
    """

    def __init__(self, memory: memoryview, number: int, processes: int) -> None:
        """`memory` has `shared_size(processes)` bytes. Process `number` writes its own part, which
        is set to zero."""
        counters = memory.cast("I")
        self._parts = [counters[part * _SLOTS : (part + 1) * _SLOTS] for part in range(processes)]
        self._own = self._parts[number]
        self._own[:] = memoryview(bytes(_SLOTS * _BYTES)).cast("I")

    def count(self, key: str) -> int:
        return min(sum(part[slot] for part in self._parts) for slot in _slots(key))

    def add(self, key: str, by: int) -> None:
        for slot in _slots(key):
            self._own[slot] += by


def shared_size(processes: int) -> int:
    """The size in bytes of the memory for the counters of so many processes."""
    return processes * _SLOTS * _BYTES


@lru_cache(1 << 14)
def _slots(key: str) -> tuple[int, int]:
    digest = int.from_bytes(blake2b(key.encode(errors="replace"), digest_size=4).digest(), "big")
    first, second = divmod(digest, _SLOTS)
    return first, second if second != first else (first + 1) % _SLOTS
