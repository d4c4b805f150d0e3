"""Conditions on partition keys: `ds >= '2024-01-01' and (region in ('eu', 'us') or hr = 3)`.

The operators are comparisons, `in`, `not in`, `between`, `like` (with % and _), `and`, `or`, `not`
and brackets. A key of a numeric type is compared as a number, any other as text; dates in ISO form
sort as text. Hive's default partition name is NULL, for which every comparison is unknown.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation

from conf.partitions import PartitionKey
from pipeline.errors import BadFilter

NULL_NAME = "__HIVE_DEFAULT_PARTITION__"
_NUMERIC = ("tinyint", "smallint", "int", "bigint", "decimal", "float", "double")
_TOKEN = re.compile(
    r"\s*(?:(?P<text>'(?:[^'\\]|\\.|'')*'|\"(?:[^\"\\]|\\.)*\")|(?P<number>-?\d+(?:\.\d+)?)"
    r"|(?P<word>[A-Za-z_]\w*|`[^`]+`)|(?P<sign><=|>=|<>|!=|==|[=<>(),]))"
)
_MOST_DEPTH = 100

Row = Mapping[str, str]  # values of one partition by key, in lower case
Condition = Callable[[Row], bool | None]  # None is unknown, as in SQL

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
    """A parsed filter. `text` is the user's own."""

    text: str
    condition: Condition

    def accepts(self, spec: Sequence[tuple[str, str]]) -> bool:
        """Whether a partition's (key, value) pairs satisfy it."""
        return self.condition(dict(spec)) is True


def parse_filter(text: str, keys: Sequence[PartitionKey]) -> PartitionFilter:
    """Raises BadFilter, which names the error. Every name must be one of `keys`."""
    parser = _Parser(text, {key.name: key.type for key in keys})
    condition = parser.either(0)
    parser.end()
    return PartitionFilter(text, condition)


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

    def either(self, depth: int) -> Condition:
        condition = self._both(depth)
        while self._take("or"):
            condition = _or(condition, self._both(depth))
        return condition

    def _both(self, depth: int) -> Condition:
        condition = self._single(depth)
        while self._take("and"):
            condition = _and(condition, self._single(depth))
        return condition

    def _single(self, depth: int) -> Condition:
        if depth > _MOST_DEPTH:
            raise BadFilter("brackets are nested too deeply.")
        if self._take("not"):
            return _not(self._single(depth + 1))
        if self._take("("):
            condition = self.either(depth + 1)
            self._expect(")")
            return condition
        return self._comparison()

    def _comparison(self) -> Condition:
        key = self._key()
        kind = self._keys[key]
        if self._take("not"):
            return _not(self._listed(key, kind))
        _, sign = self._peek()
        if sign in _SIGNS:
            self._next()
            return _compare(key, kind, sign, self._value())
        return self._listed(key, kind)

    def _listed(self, key: str, kind: str) -> Condition:
        if self._take("in"):
            self._expect("(")
            condition = _compare(key, kind, "=", self._value())
            while self._take(","):
                condition = _or(condition, _compare(key, kind, "=", self._value()))
            self._expect(")")
            return condition
        if self._take("between"):
            low = self._value()
            self._expect("and")
            return _and(_compare(key, kind, ">=", low), _compare(key, kind, "<=", self._value()))
        if self._take("like"):
            return _matches(key, _like(self._value()))
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
