"""Finds the day of each partition of a table in its values."""

import re
from collections.abc import Sequence
from datetime import date

from conf.partitions import PartitionSet

_DAY = re.compile(r"(\d{4})-?(\d\d)-?(\d\d)(?:[-T _]?\d\d.*)?")
_PARTS = {"year": 0, "yyyy": 0, "yr": 0, "month": 1, "mm": 1, "mon": 1, "day": 2, "dd": 2}
_MOST_OTHERS = 0.1  # share of partitions that may have no date


def partition_days(partitions: PartitionSet) -> tuple[int, Sequence[int | None]] | None:
    """The position of the key with the date, and each partition's day (`date.toordinal`) or None.

    The key is the one with the whole date, or the year if keys are named year, month and day. The
    result is None if the partitions are not dated.
    """
    for key in range(len(partitions.keys)):
        by_value = {value: _day(value) for value in partitions.distinct(key)}
        days: list[int | None] = [None] * len(partitions)
        for value, day in by_value.items():
            for row in partitions.rows_with(key, value):
                days[row] = day
        if _are_dates(days):
            return key, days
    return _of_several_keys(partitions)


def _of_several_keys(partitions: PartitionSet) -> tuple[int, Sequence[int | None]] | None:
    keys = {_PARTS.get(key.name.lower()): at for at, key in enumerate(partitions.keys)}
    year, month, day = (keys.get(part) for part in range(3))
    if year is None or month is None:
        return None
    found: list[int | None] = []
    for number in range(len(partitions)):
        row = partitions.row(number)
        try:
            found.append(
                date(
                    int(row[year]), int(row[month]), 1 if day is None else int(row[day])
                ).toordinal()
            )
        except ValueError:
            found.append(None)
    return (year, found) if _are_dates(found) else None


def _are_dates(days: Sequence[int | None]) -> bool:
    others = sum(day is None for day in days)
    return len(days) > 0 and others <= _MOST_OTHERS * len(days)


def _day(value: str) -> int | None:
    match = _DAY.fullmatch(value)
    if match is None:
        return None
    try:
        return date(*map(int, match.groups())).toordinal()
    except ValueError:
        return None
