"""Conditions on partition keys: `ds >= '2024-01-01' and (region in ('eu', 'us') or hr = 3)`.

The operators are comparisons, `in`, `not in`, `between`, `like` (with % and _), `and`, `or`, `not`
and brackets. A key of a numeric type is compared as a number, any other as text; dates in ISO form
sort as text. Hive's default partition name is NULL, for which every comparison is unknown.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation

from conf.names import partition_name
from conf.partitions import PartitionKey
from pipeline.errors import BadFilter

NULL_NAME = "__HIVE_DEFAULT_PARTITION__"
_NUMERIC = ("tinyint", "smallint", "int", "bigint", "decimal", "float", "double")
_TOKEN = re.compile(
    r"\s*(?:(?P<text>'(?:[^'\\]|\\.|'')*'|\"(?:[^\"\\]|\\.)*\")|(?P<number>-?\d+(?:\.\d+)?)"
    r"|(?P<word>[A-Za-z_]\w*|`[^`]+`)|(?P<sign><=|>=|<>|!=|==|[=<>(),]))"
)
_MOST_DEPTH = 100
_MOST_NAMED = 10_000  # partitions that a filter names; of more, absent ones are not reported

Row = Mapping[str, str]  # values of one partition by key, in lower case
Condition = Callable[[Row], bool | None]  # None is unknown, as in SQL
Named = tuple[Mapping[str, str], ...]  # alternatives: the values that `=` or `in` demand of keys
_NO_NAMES: Named = ({},)

_SIGNS: dict[str, Callable[[int], bool]] = {
    "=": lambda order: order == 0,
    "==": lambda order: order == 0,
    "!=": lambda order: order != 0,
    "<>": lambda order: order != 0,
    "<": lambda order: order < 0,
    "<=": lambda order: order <= 0,
    ">": lambda order: order > 0,
    ">=": lambda order: order >= 0,
}


@dataclass(frozen=True, slots=True)
class PartitionFilter:
    """A parsed filter. `text` is the user's own, `named` the values of partitions that it names by
    `=` and `in`.
    """

    text: str
    condition: Condition
    named: Named
    keys: Sequence[PartitionKey]

    def accepts(self, spec: Sequence[tuple[str, str]]) -> bool:
        """Whether a partition's (key, value) pairs satisfy it."""
        return self.condition(dict(spec)) is True

    def absent(self, accepted: Iterable[Sequence[tuple[str, str]]]) -> tuple[str, ...]:
        """The names of the partitions that the filter names and that are not among the `accepted`
        ones; with the keys that it names, in the table's order.
        """
        rows = [dict(spec) for spec in accepted]
        present: dict[tuple[str, ...], set[tuple[object, ...]]] = {}
        missing: dict[str, None] = {}
        for values in filter(None, self.named):
            keys = tuple(key.name for key in self.keys if key.name in values)
            if keys not in present:
                present[keys] = {self._values(keys, row) for row in rows}
            if self._values(keys, values) not in present[keys]:
                missing[partition_name((key, values[key]) for key in keys)] = None
        return tuple(missing)

    def _values(self, names: Sequence[str], row: Row) -> tuple[object, ...]:
        kinds = {key.name: key.type for key in self.keys}
        return tuple(
            _number(row[name]) if kinds[name].startswith(_NUMERIC) else row[name] for name in names
        )


def parse_filter(text: str, keys: Sequence[PartitionKey]) -> PartitionFilter:
    """Raises BadFilter, which names the error. Every name must be one of `keys`."""
    parser = _Parser(text, {key.name: key.type for key in keys})
    parsed = parser.either(0)
    parser.end()
    return PartitionFilter(text, parsed.condition, parsed.named, keys)


@dataclass(frozen=True, slots=True)
class _Parsed:
    condition: Condition
    named: Named = _NO_NAMES

    def __or__(self, other: "_Parsed") -> "_Parsed":
        return _Parsed(_or(self.condition, other.condition), self.named + other.named)

    def __and__(self, other: "_Parsed") -> "_Parsed":
        return _Parsed(_and(self.condition, other.condition), _both_named(self.named, other.named))

    def negated(self) -> "_Parsed":
        return _Parsed(_not(self.condition))


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
        condition = self._both(depth)
        while self._take("or"):
            condition |= self._both(depth)
        return condition

    def _both(self, depth: int) -> _Parsed:
        condition = self._single(depth)
        while self._take("and"):
            condition &= self._single(depth)
        return condition

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
        if sign in _SIGNS:
            self._next()
            value = self._value()
            named = ({key: value},) if sign in ("=", "==") else _NO_NAMES
            return _Parsed(_compare(key, kind, sign, value), named)
        return self._listed(key, kind)

    def _listed(self, key: str, kind: str) -> _Parsed:
        if self._take("in"):
            self._expect("(")
            values = [self._value()]
            condition = _compare(key, kind, "=", values[0])
            while self._take(","):
                values.append(self._value())
                condition = _or(condition, _compare(key, kind, "=", values[-1]))
            self._expect(")")
            return _Parsed(condition, tuple({key: value} for value in values))
        if self._take("between"):
            low = self._value()
            self._expect("and")
            high = self._value()
            return _Parsed(_and(_compare(key, kind, ">=", low), _compare(key, kind, "<=", high)))
        if self._take("like"):
            return _Parsed(_matches(key, _like(self._value())))
        raise BadFilter(f"expected a comparison after {key!r} instead of {self._peek()[1]!r}.")

    def _key(self) -> str:
        kind, text = self._next()
        name = text.strip("`").lower()
        if kind != "word" or name not in self._keys:
            known = ", ".join(self._keys) or "the table has none"
            raise BadFilter(f"{text!r} is not a partition key ({known}).")
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


def _compare(key: str, kind: str, sign: str, value: str) -> Condition:
    holds = _SIGNS[sign]
    if kind.startswith(_NUMERIC):
        wanted = _number(value)
        if wanted is None:
            raise BadFilter(f"{key} is a number, {value!r} is not.")

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
        return Decimal(text)
    except InvalidOperation:
        return None


def _matches(key: str, pattern: re.Pattern[str]) -> Condition:
    def matches(row: Row) -> bool | None:
        return None if row[key] == NULL_NAME else pattern.fullmatch(row[key]) is not None

    return matches


def _like(pattern: str) -> re.Pattern[str]:
    parts = (".*" if c == "%" else "." if c == "_" else re.escape(c) for c in pattern)
    return re.compile("".join(parts), re.DOTALL)


def _and(left: Condition, right: Condition) -> Condition:
    def both(row: Row) -> bool | None:
        first, second = left(row), right(row)
        if first is False or second is False:
            return False
        return None if first is None or second is None else True

    return both


def _or(left: Condition, right: Condition) -> Condition:
    def either(row: Row) -> bool | None:
        first, second = left(row), right(row)
        if first is True or second is True:
            return True
        return None if first is None or second is None else False

    return either


def _not(inner: Condition) -> Condition:
    def negated(row: Row) -> bool | None:
        found = inner(row)
        return None if found is None else not found

    return negated


def filter_of(spec: Sequence[tuple[str, str]]) -> str:
    """The filter that selects the partition with these (key, value) pairs."""
    return " and ".join(f"`{key}` = '{_escaped(value)}'" for key, value in spec)


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace("'", "\\'")
