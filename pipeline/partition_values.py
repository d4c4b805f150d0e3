"""Values of partition keys: a number has one form without leading zeros in Spark and Hive.

A catalog URI has `month=01`. In a table whose key `month` is a number, the partition of that month
is `month=1`, and sometimes `month=01` where a program named it so.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence

from conf.names import parse_partition_name, partition_name

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
    """The value as Spark writes it in the name of a partition."""
    digits = value.isascii() and value.isdigit()
    return str(int(value)) if digits and is_number(kind) else value


def canonical_spec(spec: Iterable[tuple[str, str]], kinds: Kinds) -> Spec:
    """The spec with canonical values."""
    return tuple((key, canonical(value, kinds.get(key, ""))) for key, value in spec)


def matching_names(
    specs: Sequence[Spec],
    keys: Iterable[tuple[str, str]],
    list_names: Callable[[], Iterable[str]],
) -> list[str]:
    """The names of partitions that have the values of one of `specs`, which have the same keys.

    `keys` are the table's (name, type) pairs. If the specs have values for all keys, the names are
    made from them, and the partitions may not exist. Otherwise `list_names` is called.
    """
    kinds = kinds_of(keys)
    if specs and all({key for key, _ in spec} == set(kinds) for spec in specs):
        return list(dict.fromkeys(name for spec in specs for name in spellings(spec, kinds)))
    first = spec_finder(specs, kinds)
    return [name for name in list_names() if first(name) is not None]


def spellings(spec: Spec, kinds: Kinds) -> tuple[str, ...]:
    """The possible names of the partition with these values of all keys."""
    values = dict(spec)
    written = [(key, values[key]) for key in kinds]
    names = (partition_name(written), partition_name(canonical_spec(written, kinds)))
    return tuple(dict.fromkeys(names))


def spec_finder(specs: Sequence[Spec], kinds: Kinds) -> Callable[[str], Spec | None]:
    """A function from a partition's name to the first of `specs` that it matches, or None. All
    specs have the same keys.
    """
    keys = [key for key, _ in specs[0]] if specs else []
    by_values: dict[tuple[str, ...], Spec] = {}
    for spec in specs:
        by_values.setdefault(tuple(value for _, value in canonical_spec(spec, kinds)), spec)

    def first(name: str) -> Spec | None:
        values = dict(canonical_spec(parse_partition_name(name), kinds))
        return by_values.get(tuple(values.get(key, "") for key in keys))

    return first


def matches(spec: Iterable[tuple[str, str]], name: str, kinds: Kinds) -> bool:
    """Whether a partition's name has every (key, value) pair of a spec."""
    values = dict(canonical_spec(parse_partition_name(name), kinds))
    return all(values.get(key) == value for key, value in canonical_spec(spec, kinds))
