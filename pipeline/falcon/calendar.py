"""Frequencies and the calendars that they make. Instants are aware UTC times in whole minutes.

Instance n of a calendar is its start plus n times the frequency: minutes and hours by the
clock, days and months by the wall calendar of the document's time zone, always counted from
the start, so that the 31st comes back after a short month.
"""

import calendar
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from enum import Enum
from zoneinfo import ZoneInfo

from pipeline.falcon import validators
from pipeline.falcon.errors import BadFrequency

_LONGEST = 1_000_000  # the largest count of any unit
_MONTH = timedelta(days=31)  # the length of a month in retention limits and cut-offs


class Unit(Enum):
    MINUTES = "minutes"
    HOURS = "hours"
    DAYS = "days"
    MONTHS = "months"


@dataclass(frozen=True, slots=True)
class Frequency:
    """`count` of `unit`: a frequency or a duration."""

    unit: Unit
    count: int

    @classmethod
    def parse(cls, text: str) -> "Frequency":
        """The frequency of a text such as `hours(1)`. Raises BadFrequency."""
        if reason := validators.frequency(text):
            raise BadFrequency(reason)
        unit, _, digits = text[:-1].partition("(")
        if len(digits) > 7 or int(digits) > _LONGEST:
            raise BadFrequency(f"{text!r} is longer than {unit}({_LONGEST})")
        return cls(Unit(unit), int(digits))

    def __str__(self) -> str:
        return f"{self.unit.value}({self.count})"

    @property
    def length(self) -> timedelta:
        """The duration; a month has 31 days."""
        match self.unit:
            case Unit.MINUTES:
                return timedelta(minutes=self.count)
            case Unit.HOURS:
                return timedelta(hours=self.count)
            case Unit.DAYS:
                return timedelta(days=self.count)
            case Unit.MONTHS:
                return self.count * _MONTH


@dataclass(frozen=True, slots=True)
class Calendar:
    """The instants of one frequency from `start` in `zone`, without the first `skipped` ones."""

    start: datetime
    frequency: Frequency
    zone: tzinfo = UTC
    skipped: int = 0

    def at(self, number: int) -> datetime:
        """The instant with this number, counted from 0. Raises OverflowError after year 9999."""
        count = (self.skipped + number) * self.frequency.count
        match self.frequency.unit:
            case Unit.MINUTES:
                return self.start + timedelta(minutes=count)
            case Unit.HOURS:
                return self.start + timedelta(hours=count)
            case Unit.DAYS:
                local = self.start.astimezone(self.zone).replace(tzinfo=None)
                return self._from_wall(local + timedelta(days=count))
            case Unit.MONTHS:
                local = self.start.astimezone(self.zone).replace(tzinfo=None)
                return self._from_wall(add_months(local, count))

    def _from_wall(self, local: datetime) -> datetime:
        return local.replace(tzinfo=self.zone).astimezone(UTC)

    def number_from(self, time: datetime) -> int:
        """The number of the first instant at or after `time`, from 0."""
        number = max(0, self._guess(time) - self.skipped - 2)
        while (instant := self._at_or_none(number)) is not None and instant < time:
            number += 1
        return number

    def starting(self, time: datetime) -> "Calendar":
        """The calendar without the instants before `time`; it still counts from its own start."""
        return replace(self, skipped=self.skipped + self.number_from(time))

    def _guess(self, time: datetime) -> int:
        """About the number of the first instant at or after `time`: at most two too large."""
        match self.frequency.unit:
            case Unit.MONTHS:
                months = (time.year - self.start.year) * 12 + time.month - self.start.month
                return months // self.frequency.count
            case _:
                return int((time - self.start) // self.frequency.length)

    def between(self, start: datetime, end: datetime) -> Iterator[datetime]:
        """Instants from `start`, inclusive, to `end`, exclusive."""
        number = self.number_from(start)
        while (instant := self._at_or_none(number)) is not None and instant < end:
            yield instant
            number += 1

    def count(self, end: datetime) -> int:
        """The number of instants before `end`."""
        return self.number_from(end)

    def floor(self, time: datetime) -> datetime | None:
        """The last instant at or before `time`; None before the first."""
        number = self.number_from(time)
        if self._at_or_none(number) == time:
            return time
        return self.at(number - 1) if number else None

    def _at_or_none(self, number: int) -> datetime | None:
        try:
            return self.at(number)
        except (OverflowError, ValueError):
            return None


def add_months(time: datetime, months: int) -> datetime:
    """The same day `months` later, or the last day of that month. Raises OverflowError."""
    index = time.year * 12 + time.month - 1 + months
    year, month = index // 12, index % 12 + 1
    if not 1 <= year <= 9999:
        raise OverflowError(f"year {year} is out of range")
    day = min(time.day, calendar.monthrange(year, month)[1])
    return time.replace(year=year, month=month, day=day)


def parse_time(text: str) -> datetime:
    """The time of a text such as `2013-09-24T00:00Z`, the only form. Raises ValueError."""
    if len(text) != 17 or not text.isascii():
        raise ValueError(f"{text!r} is not a time yyyy-MM-ddTHH:mmZ")
    try:
        return datetime.strptime(text, "%Y-%m-%dT%H:%MZ").replace(tzinfo=UTC)
    except ValueError:
        raise ValueError(f"{text!r} is not a time yyyy-MM-ddTHH:mmZ of the calendar") from None


def format_time(time: datetime) -> str:
    """The inverse of `parse_time`; seconds are cut off."""
    return f"{time.astimezone(UTC):%Y-%m-%dT%H:%MZ}".zfill(17)


def parse_zone(text: str) -> tzinfo:
    """A time zone by its name in the zone database, or GMT+h[:mm]. Raises ValueError."""
    if text in ("UTC", "GMT"):
        return UTC
    if text.startswith(("GMT+", "GMT-")):
        return _offset(text)
    try:
        return ZoneInfo(text)
    except (KeyError, ValueError, OSError):
        raise ValueError(f"{text!r} is not a time zone") from None


def _offset(text: str) -> tzinfo:
    hours, _, minutes = text[4:].partition(":")
    if not (hours.isdigit() and int(hours) < 24 and (not minutes or minutes.isdigit())):
        raise ValueError(f"{text!r} is not a time zone")
    length = timedelta(hours=int(hours), minutes=int(minutes or 0) % 60)
    return timezone(length if text[3] == "+" else -length)
