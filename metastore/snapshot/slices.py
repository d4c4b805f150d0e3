"""Which partitions' names have to be read so that some predicates can be tried.

A slice is a leading part of a partition's values, the empty text standing for any: what the
metastore's get_partition_names_ps takes. A table's million names take seconds to read, a day's
are there at once.
"""

import re
from collections.abc import Iterable, Sequence
from itertools import product
from math import prod
from typing import Protocol

from conf.partitions import PartitionKey, PartitionSet

Slice = tuple[str, ...]

FEW = 32  # calls; where more would be needed all names are read
# The metastore makes a pattern of a value. These letters stand for themselves in it, or for more.
_PLAIN = re.compile(r"[A-Za-z0-9_.-]+", re.ASCII)


class Selector(Protocol):
    """Which partitions a statement needs; every `dialect` predicate is one."""

    def select(self, partitions: PartitionSet) -> range | list[int]: ...

    def required(self, keys: Sequence[PartitionKey]) -> Sequence[frozenset[str] | None]:
        """For each key the texts that a selected partition has, None when they are not known."""
        ...


def slices(
    keys: Sequence[PartitionKey], selectors: Iterable[Selector] | None
) -> frozenset[Slice] | None:
    """The slices that have every partition which is selected; None when only all names have."""
    if selectors is None:
        return None
    found: set[Slice] = set()
    for selector in selectors:
        own = _slices(selector.required(keys))
        if own is None:
            return None
        found.update(own)
    return frozenset(found) if len(found) <= FEW else None


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
