"""Conditions on partition keys, answered for a million partitions in milliseconds."""

from collections.abc import Sequence
from dataclasses import dataclass

from conf.partitions import PartitionKey, PartitionSet
from dialect.statement import ALL, PartitionPredicate

DEFAULT_PARTITION = "__HIVE_DEFAULT_PARTITION__"
_INTEGERS = frozenset({"tinyint", "smallint", "int", "integer", "bigint"})


@dataclass(frozen=True, slots=True)
class Matching:
    """The partitions whose keys have the values written: a static partition specification."""

    spec: tuple[tuple[str, str], ...]

    def select(self, partitions: PartitionSet) -> range | list[int]:
        rows: set[int] | None = None
        names = [key.name.lower() for key in partitions.keys]
        for name, value in self.spec:
            if name not in names:
                return range(len(partitions))
            at = names.index(name)
            found: set[int] = set()
            for stored in partitions.distinct(at):
                if same_value(partitions.keys[at], stored, value):
                    found.update(partitions.rows_with(at, stored))
            rows = found if rows is None else rows & found
        return range(len(partitions)) if rows is None else sorted(rows)

    def required(self, key: str) -> frozenset[str] | None:
        return frozenset(value for name, value in self.spec if name == key) or None


@dataclass(frozen=True, slots=True)
class AnyOf:
    """What any of several mentions of one table needs."""

    choices: tuple[PartitionPredicate, ...]

    def select(self, partitions: PartitionSet) -> range | list[int]:
        rows: set[int] = set()
        for choice in self.choices:
            rows.update(choice.select(partitions))
            if len(rows) == len(partitions):
                return range(len(partitions))
        return sorted(rows)


def any_of(predicates: Sequence[PartitionPredicate]) -> PartitionPredicate:
    """One predicate for all mentions of a table."""
    choices = tuple(dict.fromkeys(predicates))
    if not choices or ALL in choices:
        return ALL
    return choices[0] if len(choices) == 1 else AnyOf(choices)


def same_value(key: PartitionKey, stored: str, written: str) -> bool:
    """Whether a written partition value means a stored one; numbers may be spelt differently."""
    if stored == written:
        return True
    if key.type in _INTEGERS or key.type.startswith(("decimal", "float", "double")):
        try:
            return float(stored) == float(written.rstrip("LSYDFlsydf").removesuffix("B"))
        except ValueError:
            return False
    if key.type in ("date", "timestamp"):
        return stored.startswith(written) or written.startswith(stored)
    return False
