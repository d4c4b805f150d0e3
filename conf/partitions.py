"""The partitions of a table, compact and fast for a million of them."""

from array import array
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from sys import intern

from conf.names import ClusterName

SHARED = 5_000  # values of a key whose texts are shared; more are ids, which no other table has


@dataclass(frozen=True, slots=True)
class PartitionKey:
    """A partition column. `type` is Hive's type name in lower case, e.g. `string`."""

    name: str
    type: str


class PartitionSet:
    """The partitions of one table. Each has a row number.

    Each distinct value of a key is stored once, and a row is a number of a value for each key. So a
    predicate is evaluated once for each distinct value, not once for each partition. Tables share
    the texts of values that many of them have, such as days, because texts would take most of the
    memory.
    """

    __slots__ = ("__weakref__", "_columns", "_inverse", "_values", "keys")

    def __init__(self, keys: Sequence[PartitionKey], rows: Iterable[Sequence[str]]) -> None:
        self.keys = tuple(keys)
        numbers: list[dict[str, int]] = [{} for _ in self.keys]
        self._columns = [array("I") for _ in self.keys]
        for row in rows:
            for column, seen, value in zip(self._columns, numbers, row, strict=True):
                column.append(seen.setdefault(value, len(seen)))
        self._values = [
            tuple(map(intern, seen)) if len(seen) <= SHARED else tuple(seen) for seen in numbers
        ]
        self._inverse: dict[int, dict[str, array[int]]] = {}

    def __len__(self) -> int:
        return len(self._columns[0]) if self._columns else 0

    def distinct(self, key: int) -> tuple[str, ...]:
        """The distinct values of the key at position `key`."""
        return self._values[key]

    def rows_with(self, key: int, value: str) -> Sequence[int]:
        """The ascending numbers of the rows in which the key has that value."""
        inverse = self._inverse.get(key)
        if inverse is None:
            inverse = {each: array("I") for each in self._values[key]}
            values = self._values[key]
            for row, number in enumerate(self._columns[key]):
                inverse[values[number]].append(row)
            self._inverse[key] = inverse
        return inverse.get(value, ())

    def row(self, number: int) -> tuple[str, ...]:
        """The values of one partition in key order."""
        return tuple(
            values[column[number]]
            for values, column in zip(self._values, self._columns, strict=True)
        )

    def spec(self, number: int) -> tuple[tuple[str, str], ...]:
        """The (key, value) pairs of one partition."""
        return tuple(
            (key.name, value) for key, value in zip(self.keys, self.row(number), strict=True)
        )


@dataclass(frozen=True, slots=True)
class Replicas:
    """The clusters that have one object. It is written in `primary`, and read there and in the
    clusters of `fresh`."""

    primary: ClusterName
    fresh: frozenset[ClusterName]
    stale: frozenset[ClusterName] = frozenset()

    def readable_in(self, cluster: ClusterName) -> bool:
        return cluster == self.primary or cluster in self.fresh


@dataclass(frozen=True, slots=True)
class PlacedPartitions:
    """Partitions with their replicas. `groups[row]` is an index into `replicas`.

    Each of `replicas` belongs to at least one partition. `complete`: these are all partitions of
    the table.
    """

    partitions: PartitionSet
    replicas: tuple[Replicas, ...]
    groups: Sequence[int]
    complete: bool = True


@dataclass(frozen=True, slots=True)
class TableFacts:
    """The facts of a table for the router: its replicas and, if it has partitions, theirs.

    `write` is the id of the table's last write, `changes` the id of the last change of any
    partition's facts. Ids can only be compared for equality. `size` in bytes (None if not known)
    and `copyable`, whether copies of the table can be made, are only for messages.
    """

    replicas: Replicas
    partitions: PlacedPartitions | None = None
    write: str = field(default="0", compare=False)
    changes: str = field(default="0", compare=False)
    size: int | None = field(default=None, compare=False)
    copyable: bool = field(default=True, compare=False)
