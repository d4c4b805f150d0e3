"""Conditions on partition keys: `ds >= '2024-01-01' and (region in ('eu', 'us') or hr = 3)`.

The operators are comparisons, `in`, `not in`, `between`, `like` (with % and _), `and`, `or`, `not`
and brackets. A key of a numeric type is compared as a number, any other as text; dates in ISO form
sort as text. The value in Hive's default partition is NULL. Comparisons with it are unknown, except
that `=`, `<>` and `in` with the name `__HIVE_DEFAULT_PARTITION__` select the partition, as in Hive.
A list of partitions' names is a filter, too.

A filter may have many thousands of parts, so the parts of an `or`, of an `and` and of a list are
evaluated in a loop: nested calls would reach Python's limit of recursion.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from functools import reduce
from itertools import chain

from conf.names import parse_partition_name, partition_name
from conf.partitions import PartitionKey
from pipeline.errors import BadFilter

NULL_NAME = "__HIVE_DEFAULT_PARTITION__"
_NUMERIC = ("tinyint", "smallint", "int", "bigint", "decimal", "float", "double")
_TOKEN = re.compile(
    r"\s*(?:(?P<text>'(?:[^'\\]|\\.|'')*'|\"(?:[^\"\\]|\\.)*\")|(?P<number>-?\d+(?:\.\d+)?)"
    r"|(?P<word>[A-Za-z_]\w*|`[^`]+`)|(?P<sign><=|>=|<>|!=|==|[=<>(),]))"
)
_MOST_DEPTH = 100
_MOST_NAMED = 10_000  # If a filter names more partitions, absent ones are not reported.

Row = Mapping[str, str]  # the values of one partition, by the names of the keys in lower case
Condition = Callable[[Row], bool | None]  # returns None if the truth is unknown, as in SQL
Keys = tuple[PartitionKey, ...]
Named = tuple[Mapping[str, str], ...]  # each: values of keys that `=` or `in` select together
_NO_NAMES: Named = ({},)

_EQUAL, _DIFFERENT = ("=", "=="), ("!=", "<>")
_ORDERS: dict[str, Callable[[int], bool]] = {
    "<": lambda order: order < 0,
    "<=": lambda order: order <= 0,
    ">": lambda order: order > 0,
    ">=": lambda order: order >= 0,
}


@dataclass(frozen=True, slots=True)
class PartitionFilter:
    """A parsed filter. `text` is the user's own; `named` are the partitions, by their values of
    keys, that it selects by `=` and `in`.
    """

    text: str
    condition: Condition
    named: Named
    keys: Sequence[PartitionKey]

    def accepts(self, spec: Sequence[tuple[str, str]]) -> bool:
        """Whether a partition with these (key, value) pairs satisfies the filter."""
        return self.condition(dict(spec)) is True

    def absent(self, accepted: Iterable[Sequence[tuple[str, str]]]) -> tuple[str, ...]:
        """The names of the partitions that the filter names and that are not among the `accepted`
        ones. A name has the keys that the filter names, in the table's order.
        """
        rows = [dict(spec) for spec in accepted]
        present: dict[Keys, set[tuple[object, ...]]] = {}
        missing: dict[str, None] = {}
        for values in filter(None, self.named):
            keys = _keys_of(values, self.keys)
            if keys not in present:
                present[keys] = {_comparable(keys, row) for row in rows}
            if _comparable(keys, values) not in present[keys]:
                missing[partition_name((key.name, values[key.name]) for key in keys)] = None
        return tuple(missing)


def parse_filter(text: str, keys: Sequence[PartitionKey]) -> PartitionFilter:
    """The filter of a condition. Raises BadFilter, also for a name that is none of `keys`."""
    parser = _Parser(text, {key.name: key.type for key in keys})
    parsed = parser.either(0)
    parser.end()
    return PartitionFilter(text, parsed.condition, parsed.named, keys)


def parse_names(text: str, keys: Sequence[PartitionKey]) -> PartitionFilter:
    """The filter that accepts the partitions in a list of names, one a line, as SHOW PARTITIONS
    prints them. A name selects all partitions that have its values; it may lack keys of the table.
    Raises BadFilter."""
    lines = (line.removesuffix("\r") for line in text.split("\n"))
    named = tuple(_named(line, keys) for line in lines if line)
    if not named:
        raise BadFilter("the list of partitions is empty.")
    wanted: dict[Keys, set[tuple[object, ...]]] = {}
    for values in named:
        with_keys = _keys_of(values, keys)
        wanted.setdefault(with_keys, set()).add(_comparable(with_keys, values))
    lists = tuple(wanted.items())
    return PartitionFilter(
        text,
        lambda row: any(_comparable(some, row) in values for some, values in lists),
        named,
        keys,
    )


def _named(name: str, keys: Sequence[PartitionKey]) -> Mapping[str, str]:
    """The values in the name of a partition by key. Raises BadFilter."""
    try:
        pairs = parse_partition_name(name)
    except ValueError:
        raise BadFilter(f"{name!r} is not the name of a partition.") from None
    values = dict(pairs)
    known = [each.name for each in keys]
    for key in values:
        _check_key(key, key, known)
    if len(values) < len(pairs):
        raise BadFilter(f"{name!r} has two values of a key.")
    return values


def _check_key(name: str, text: str, known: Iterable[str]) -> None:
    """Raises BadFilter, with the user's own `text`, if the table has no key of that name."""
    if name not in known:
        names = ", ".join(known) or "the table has none"
        raise BadFilter(f"{text!r} is not a partition key ({names}).")


def _keys_of(values: Mapping[str, str], keys: Sequence[PartitionKey]) -> Keys:
    """The table's keys that have a value, in the table's order."""
    return tuple(key for key in keys if key.name in values)


def _comparable(keys: Keys, row: Row) -> tuple[object, ...]:
    """The values of the keys in a form in which values of the same partition are equal: 09 and 9
    are one number.
    """
    return tuple(_as_number_or_text(row[key.name], key.type) for key in keys)


def _as_number_or_text(text: str, kind: str) -> Decimal | str:
    number = _number(text) if kind.startswith(_NUMERIC) else None
    return text if number is None else number


@dataclass(frozen=True, slots=True)
class _Parsed:
    condition: Condition
    named: Named = _NO_NAMES

    def negated(self) -> "_Parsed":
        return _Parsed(_not(self.condition))


def _any_of(parts: Sequence[_Parsed]) -> _Parsed:
    if len(parts) == 1:
        return parts[0]
    named = tuple(chain.from_iterable(each.named for each in parts))
    return _Parsed(_or([each.condition for each in parts]), named)


def _all_of(parts: Sequence[_Parsed]) -> _Parsed:
    if len(parts) == 1:
        return parts[0]
    named = reduce(_both_named, (each.named for each in parts))
    return _Parsed(_and([each.condition for each in parts]), named)


def _both_named(left: Named, right: Named) -> Named:
    if len(left) * len(right) > _MOST_NAMED:
        return _NO_NAMES
    pairs = ((one, other) for one in left for other in right)
    return tuple(
        {**one, **other}
        for one, other in pairs
        if all(one[key] == other[key] for key in one.keys() & other.keys())
    )


class _Parser:
    def __init__(self, text: str, keys: Mapping[str, str]) -> None:
        self._keys = keys
        self._tokens = list(_tokens(text))
        self._at = 0

    def _peek(self) -> tuple[str, str]:
        return self._tokens[self._at] if self._at < len(self._tokens) else ("end", "the end")

    def _next(self) -> tuple[str, str]:
        token = self._peek()
        self._at += 1
        return token

    def _take(self, word: str) -> bool:
        kind, text = self._peek()
        found = kind in ("word", "sign") and text.lower() == word
        self._at += found
        return found

    def _expect(self, word: str) -> None:
        if not self._take(word):
            raise BadFilter(f"expected {word!r} instead of {self._peek()[1]!r}.")

    def end(self) -> None:
        if self._at < len(self._tokens):
            raise BadFilter(f"unexpected {self._peek()[1]!r}.")

    def either(self, depth: int) -> _Parsed:
        parts = [self._both(depth)]
        while self._take("or"):
            parts.append(self._both(depth))
        return _any_of(parts)

    def _both(self, depth: int) -> _Parsed:
        parts = [self._single(depth)]
        while self._take("and"):
            parts.append(self._single(depth))
        return _all_of(parts)

    def _single(self, depth: int) -> _Parsed:
        if depth > _MOST_DEPTH:
            raise BadFilter("brackets are nested too deeply.")
        if self._take("not"):
            return self._single(depth + 1).negated()
        if self._take("("):
            condition = self.either(depth + 1)
            self._expect(")")
            return condition
        return self._comparison()

    def _comparison(self) -> _Parsed:
        key = self._key()
        kind = self._keys[key]
        if self._take("not"):
            return self._listed(key, kind).negated()
        _, sign = self._peek()
        if sign in _EQUAL or sign in _DIFFERENT:
            self._next()
            equal = _in_list(key, kind, [self._value()])
            return equal if sign in _EQUAL else equal.negated()
        if sign in _ORDERS:
            self._next()
            return _Parsed(_compare(key, kind, sign, self._value()))
        return self._listed(key, kind)

    def _listed(self, key: str, kind: str) -> _Parsed:
        if self._take("in"):
            self._expect("(")
            values = [self._value()]
            while self._take(","):
                values.append(self._value())
            self._expect(")")
            return _in_list(key, kind, values)
        if self._take("between"):
            low = self._value()
            self._expect("and")
            high = self._value()
            return _Parsed(_and([_compare(key, kind, ">=", low), _compare(key, kind, "<=", high)]))
        if self._take("like"):
            return _Parsed(_matches(key, _like(self._value())))
        raise BadFilter(f"expected a comparison after {key!r} instead of {self._peek()[1]!r}.")

    def _key(self) -> str:
        kind, text = self._next()
        name = text.strip("`").lower()
        _check_key(name if kind == "word" else "", text, self._keys)
        return name

    def _value(self) -> str:
        kind, text = self._next()
        if kind == "number":
            return text
        if kind != "text":
            raise BadFilter(f"expected a value instead of {text!r}.")
        body = text[1:-1].replace("''", "'") if text[0] == "'" else text[1:-1]
        return re.sub(r"\\(.)", r"\1", body)


def _tokens(text: str) -> list[tuple[str, str]]:
    found = []
    at = 0
    stripped = text.rstrip()
    while at < len(stripped):
        match = _TOKEN.match(stripped, at)
        if match is None or match.lastgroup is None:
            raise BadFilter(f"cannot read {stripped[at : at + 20]!r}.")
        found.append((match.lastgroup, match[match.lastgroup]))
        at = match.end()
    if not found:
        raise BadFilter("it is empty.")
    return found


def _in_list(key: str, kind: str, values: Sequence[str]) -> _Parsed:
    """Whether the key has one of the values."""
    is_number = kind.startswith(_NUMERIC)
    wanted: set[Decimal | str] = {
        _wanted_number(key, value) if is_number and value != NULL_NAME else value
        for value in values
    }

    def is_listed(row: Row) -> bool | None:
        text = row[key]
        if text == NULL_NAME:
            return True if text in wanted else None
        found = _number(text) if is_number else text
        return None if found is None else found in wanted

    return _Parsed(is_listed, tuple({key: value} for value in values))


def _wanted_number(key: str, value: str) -> Decimal:
    number = _number(value)
    if number is None:
        raise BadFilter(f"{key} is a number, {value!r} is not.")
    return number


def _compare(key: str, kind: str, sign: str, value: str) -> Condition:
    holds = _ORDERS[sign]
    if kind.startswith(_NUMERIC):
        wanted = _wanted_number(key, value)

        def numeric(row: Row) -> bool | None:
            found = _number(row[key])
            return None if found is None else holds((found > wanted) - (found < wanted))

        return numeric

    def textual(row: Row) -> bool | None:
        found = row[key]
        return None if found == NULL_NAME else holds((found > value) - (found < value))

    return textual


def _number(text: str) -> Decimal | None:
    try:
        number = Decimal(text)
    except InvalidOperation:
        return None
    return None if number.is_nan() else number  # NaN cannot be compared


def _matches(key: str, pattern: re.Pattern[str]) -> Condition:
    def matches(row: Row) -> bool | None:
        return None if row[key] == NULL_NAME else pattern.fullmatch(row[key]) is not None

    return matches


def _like(pattern: str) -> re.Pattern[str]:
    parts = (".*" if c == "%" else "." if c == "_" else re.escape(c) for c in pattern)
    return re.compile("".join(parts), re.DOTALL)


def _and(parts: Sequence[Condition]) -> Condition:
    return _joined(parts, decisive=False)


def _or(parts: Sequence[Condition]) -> Condition:
    return _joined(parts, decisive=True)


def _joined(parts: Sequence[Condition], *, decisive: bool) -> Condition:
    """The condition that is `decisive` if a part is, else unknown if a part is unknown."""

    def joined(row: Row) -> bool | None:
        unknown = False
        for part in parts:
            found = part(row)
            if found is decisive:
                return decisive
            unknown |= found is None
        return None if unknown else not decisive

    return joined


def _not(inner: Condition) -> Condition:
    def negated(row: Row) -> bool | None:
        found = inner(row)
        return None if found is None else not found

    return negated
