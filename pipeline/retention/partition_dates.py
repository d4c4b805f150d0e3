"""Dates in partition keys: their patterns, and the conversion from values to times and back."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

from conf.names import parse_partition_name
from pipeline.errors import BadRetention
from pipeline.partition_values import Kinds, canonical_spec, is_number

_PARTS = ("YEAR", "MONTH", "DAY", "HOUR", "MINUTE")
_VARIABLE = re.compile(r"\$\{(YEAR|MONTH|DAY|HOUR|MINUTE)\}")
_WIDTH = {"YEAR": 4, "MONTH": 2, "DAY": 2, "HOUR": 2, "MINUTE": 2}
_FIRST = {"YEAR": 1, "MONTH": 1, "DAY": 1, "HOUR": 0, "MINUTE": 0}

Keys = Sequence[tuple[str, str]]  # (key, template) in the table's key order


@dataclass(frozen=True, slots=True)
class DatePattern:
    """The pattern of dates in a table's keys. `dated` has the keys with variables, in order, and
    their templates, `static` the keys with a fixed value, and `kinds` the keys' types (empty: not
    known). Times are in UTC.
    """

    dated: tuple[tuple[str, str], ...]
    static: tuple[tuple[str, str], ...]
    kinds: Kinds = field(default_factory=dict)

    def for_keys(self, kinds: Kinds) -> "DatePattern":
        """The pattern for a table whose keys have these types."""
        return replace(self, static=canonical_spec(self.static, kinds), kinds=kinds)

    def is_number(self, key: str) -> bool:
        """Whether the key's values are whole numbers, which have no leading zeros."""
        return is_number(self.kinds.get(key, ""))

    @property
    def finest(self) -> str:
        """The smallest unit in the pattern."""
        return max(_variables(self.dated), key=_PARTS.index)

    def truncated(self, time: datetime) -> datetime:
        """The start of the smallest unit that contains `time`."""
        finer = _PARTS[_PARTS.index(self.finest) + 1 :]
        first = {name.lower(): _FIRST[name] for name in finer}
        start = time.astimezone(UTC).replace(second=0, microsecond=0)
        return start.replace(**first)  # type: ignore[arg-type]

    def values(self, time: datetime) -> tuple[tuple[str, str], ...]:
        """The dated keys' values at a time."""
        texts = ((key, _fill(template, time)) for key, template in self.dated)
        return canonical_spec(texts, self.kinds)


def read_date_pattern(keys: Keys) -> DatePattern:
    """The pattern of a table's keys. Raises BadRetention unless the keys have a year and all units
    down to the finest one, each once.
    """
    dated = tuple((key, text) for key, text in keys if _VARIABLE.search(text))
    static = tuple((key, text) for key, text in keys if not _VARIABLE.search(text))
    found = _variables(dated)
    if not found:
        raise BadRetention("no partition key has a date.")
    wanted = _PARTS[: _PARTS.index(max(found, key=_PARTS.index)) + 1]
    missing = [name for name in wanted if name not in found]
    if missing:
        raise BadRetention(f"the partition keys have no {missing[0].lower()}.")
    if len(set(found)) != len(found):
        raise BadRetention("the partition keys have a part of the date twice.")
    return DatePattern(dated, static)


class DateReader:
    """Reads the dates of partitions of a table, with a cache by the values of the dated keys."""

    def __init__(self, date_pattern: DatePattern) -> None:
        self._static = dict(date_pattern.static)
        self._kinds = date_pattern.kinds
        self._patterns = [(key, _pattern(template)) for key, template in date_pattern.dated]
        self._widths = {
            key: len(_fill(template, datetime.min))
            for key, template in date_pattern.dated
            if date_pattern.is_number(key)
        }
        self._known: dict[tuple[str | None, ...], datetime | None] = {}

    def read(self, name: str) -> tuple[bool, datetime | None]:
        """Whether the static keys match, and the date in the partition's name or None."""
        spec = dict(canonical_spec(parse_partition_name(name), self._kinds))
        if any(spec.get(key) != value for key, value in self._static.items()):
            return False, None
        return True, self.date(spec)

    def date(self, spec: Mapping[str, str]) -> datetime | None:
        """The date in the values of the dated keys; None if they do not match the pattern."""
        values = tuple(self._value(spec, key) for key, _ in self._patterns)
        if values not in self._known:
            self._known[values] = self._parse(values)
        return self._known[values]

    def _value(self, spec: Mapping[str, str], key: str) -> str | None:
        value = spec.get(key)
        return None if value is None else value.zfill(self._widths.get(key, 0))

    def _parse(self, values: Sequence[str | None]) -> datetime | None:
        parts = dict(_FIRST)
        for value, (_, pattern) in zip(values, self._patterns, strict=True):
            match = pattern.fullmatch(value or "")
            if match is None:
                return None
            parts.update({name: int(text) for name, text in match.groupdict().items()})
        try:
            year, month, day, hour, minute = (parts[name] for name in _PARTS)
            return datetime(year, month, day, hour, minute, tzinfo=UTC)
        except ValueError:
            return None


def _variables(dated: Keys) -> list[str]:
    """The names of the variables, with repetitions."""
    return [str(name) for _, template in dated for name in _VARIABLE.findall(template)]


def _fill(template: str, time: datetime) -> str:
    """The template with the parts of a time in place of its variables."""

    def text(match: re.Match[str]) -> str:
        return f"{getattr(time, match[1].lower()):0{_WIDTH[match[1]]}d}"

    return _VARIABLE.sub(text, template)


def _pattern(template: str) -> re.Pattern[str]:
    """A regular expression for the values of a template, with a group for each variable."""
    pieces, at = [], 0
    for match in _VARIABLE.finditer(template):
        pieces.append(re.escape(template[at : match.start()]))
        pieces.append(f"(?P<{match[1]}>[0-9]{{{_WIDTH[match[1]]}}})")
        at = match.end()
    return re.compile("".join(pieces) + re.escape(template[at:]))
