"""EL expressions: times relative to an instance's nominal time (FA-EL).

`now(h,m)`, `today(h,m)`, `yesterday(h,m)`, `currentWeek('DAY',h,m)`, `lastWeek('DAY',h,m)`,
`currentMonth(d,h,m)`, `lastMonth(d,h,m)`, `currentYear(M,d,h,m)`, `lastYear(M,d,h,m)` are
times; `latest(n)` and `future(n,limit)` count the instances that exist.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from pipeline.falcon.calendar import add_months
from pipeline.falcon.errors import BadExpression

_CALL = re.compile(r"([a-zA-Z]{1,20})\(([^()]{0,80})\)")
_NUMBER = re.compile(r"[-+]?[0-9]{1,7}")
_DAYS = ("MON", "TUE", "WED", "THU", "FRI", "SAT", "SUN")


@dataclass(frozen=True, slots=True)
class At:
    """A time relative to the nominal time."""

    text: str
    _rule: Callable[[datetime], datetime]

    def of(self, nominal: datetime) -> datetime:
        """The time. Raises BadExpression if its year is out of range."""
        try:
            return self._rule(nominal.astimezone(UTC).replace(second=0, microsecond=0))
        except (OverflowError, ValueError) as error:
            raise BadExpression(f"{self.text} at {nominal}: {error}") from None


@dataclass(frozen=True, slots=True)
class Latest:
    """The newest existing instance (`back` = 0) or that many before it (`back` < 0)."""

    text: str
    back: int


@dataclass(frozen=True, slots=True)
class Future:
    """The `ahead`-th existing instance from the nominal time on, within `limit` instances."""

    text: str
    ahead: int
    limit: int


Expression = At | Latest | Future


def parse(text: str) -> Expression:
    """The expression of a text. Raises BadExpression with the reason."""
    inner = text.strip()
    if inner.startswith("${") and inner.endswith("}"):
        inner = inner[2:-1].strip()
    call = _CALL.fullmatch(inner)
    if call is None:
        raise BadExpression(f"{text!r} is not an expression such as now(0,0)")
    name, arguments = call[1], [each.strip() for each in call[2].split(",")]
    if name == "latest":
        return _latest(inner, arguments)
    if name == "future":
        ahead, limit = _numbers(inner, arguments, 2)
        if ahead < 0 or limit < ahead:
            raise BadExpression(f"{inner}: wants 0 or more, and a limit that is not less")
        return Future(inner, ahead, limit)
    if name in ("currentWeek", "lastWeek"):
        return At(inner, _week(inner, arguments, back=7 if name == "lastWeek" else 0))
    if name not in _BASES:
        raise BadExpression(f"{inner}: no such function; known: {', '.join(_BASES)}")
    base, units = _BASES[name]
    return At(inner, _shifted(base, units, _numbers(inner, arguments, len(units))))


def _latest(text: str, arguments: list[str]) -> Latest:
    (back,) = _numbers(text, arguments, 1)
    if back > 0:
        raise BadExpression(f"{text}: wants 0 or less")
    return Latest(text, back)


def _numbers(text: str, arguments: list[str], count: int) -> tuple[int, ...]:
    if len(arguments) != count or not all(map(_NUMBER.fullmatch, arguments)):
        raise BadExpression(f"{text}: wants {count} whole number{'s' if count > 1 else ''}")
    return tuple(map(int, arguments))


def _week(text: str, arguments: list[str], back: int) -> Callable[[datetime], datetime]:
    day = arguments[0].strip("'\"").upper()
    if day not in _DAYS:
        raise BadExpression(f"{text}: wants a day first, one of {', '.join(_DAYS)}")
    hours, minutes = _numbers(text, arguments[1:], 2)
    weekday = _DAYS.index(day)

    def rule(nominal: datetime) -> datetime:
        since = (nominal.weekday() - weekday) % 7 + back
        return _midnight(nominal) + timedelta(days=-since, hours=hours, minutes=minutes)

    return rule


def _shifted(
    base: Callable[[datetime], datetime], units: str, numbers: tuple[int, ...]
) -> Callable[[datetime], datetime]:
    by = dict(zip(units, numbers, strict=True))
    shift = timedelta(days=by.get("d", 0), hours=by["h"], minutes=by["m"])
    return lambda nominal: add_months(base(nominal), by.get("M", 0)) + shift


def _midnight(time: datetime) -> datetime:
    return time.replace(hour=0, minute=0)


def _month(time: datetime) -> datetime:
    return _midnight(time).replace(day=1)


def _year(time: datetime) -> datetime:
    return _month(time).replace(month=1)


# For each function the time that its numbers are added to, and their units: M is months, d days,
# h hours, m minutes.
_BASES: dict[str, tuple[Callable[[datetime], datetime], str]] = {
    "now": (lambda time: time, "hm"),
    "today": (_midnight, "hm"),
    "yesterday": (lambda time: _midnight(time) - timedelta(days=1), "hm"),
    "currentMonth": (_month, "dhm"),
    "lastMonth": (lambda time: add_months(_month(time), -1), "dhm"),
    "currentYear": (_year, "Mdhm"),
    "lastYear": (lambda time: add_months(_year(time), -12), "Mdhm"),
}
