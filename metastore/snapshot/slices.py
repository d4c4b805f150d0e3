"""Selects the names of partitions that have to be read for some predicates.

A slice is the first values of partitions, with an empty text for any value: the argument of the
metastore's get_partition_names_ps. Reading a million names takes seconds, reading those of a day
takes milliseconds.
"""

import re
from collections.abc import Iterable, Sequence
from itertools import product
from math import prod
from typing import Protocol

from conf.partitions import PartitionKey, PartitionSet

Slice = tuple[str, ...]

FEW = 32  # slices, each a call; if more are needed, all names are read
# The metastore takes a value as a pattern. In it these characters match at least themselves.
_PLAIN = re.compile(r"[A-Za-z0-9_.-]+", re.ASCII)


class Selector(Protocol):
    """Selects the partitions that a statement needs; every `dialect` predicate is one."""

    def select(self, partitions: PartitionSet) -> range | list[int]:
        """The row numbers of the selected partitions."""
        ...

    def required(self, keys: Sequence[PartitionKey]) -> Sequence[frozenset[str] | None]:
        """For each key, the values that selected partitions can have; None if not known."""
        ...


def slices(
    keys: Sequence[PartitionKey], selectors: Iterable[Selector] | None
) -> frozenset[Slice] | None:
    """Slices that together contain every selected partition; None if all names have to be read."""
    if selectors is None:
        return None
    needed: set[Slice] = set()
    for selector in selectors:
        own = _slices(selector.required(keys))
        if own is None:
            return None
        needed.update(own)
    return frozenset(needed) if len(needed) <= FEW else None


def _slices(required: Sequence[frozenset[str] | None]) -> Iterable[Slice] | None:
    known = [key for key, texts in enumerate(required) if texts is not None]
    if not known:
        return None
    texts = [("",) if each is None else sorted(each) for each in required[: known[-1] + 1]]
    if prod(map(len, texts)) > FEW:
        return None
    if not all(_PLAIN.fullmatch(text) for key in known for text in texts[key]):
        return None
    return product(*texts)
