"""Values of partition keys: a number has one form without leading zeros in Spark and Hive.

A catalog URI has `month=01`. In a table whose key `month` is a number, the partition of that month
is `month=1`, and sometimes `month=01` where a program named it so.
"""

from collections.abc import Iterable, Mapping

from conf.names import parse_partition_name

_NUMBERS = frozenset({"tinyint", "smallint", "int", "integer", "bigint"})

Spec = tuple[tuple[str, str], ...]
Kinds = Mapping[str, str]
"""The types of partition keys, by their names in lower case."""


def kinds_of(keys: Iterable[tuple[str, str]]) -> Kinds:
    """The types of (name, type) pairs."""
    return {name.lower(): kind.lower() for name, kind in keys}


def is_number(kind: str) -> bool:
    """Whether a key of this type has whole numbers as its values."""
    return kind.lower() in _NUMBERS


def canonical(value: str, kind: str) -> str:
    """The value as Spark names a partition by it."""
    digits = value.isascii() and value.isdigit()
    return str(int(value)) if digits and is_number(kind) else value


def canonical_spec(spec: Iterable[tuple[str, str]], kinds: Kinds) -> Spec:
    """The spec with canonical values."""
    return tuple((key, canonical(value, kinds.get(key, ""))) for key, value in spec)


def matches(spec: Iterable[tuple[str, str]], name: str, kinds: Kinds) -> bool:
    """Whether a partition's name has every (key, value) pair of a spec."""
    values = dict(canonical_spec(parse_partition_name(name), kinds))
    return all(values.get(key) == value for key, value in canonical_spec(spec, kinds))
