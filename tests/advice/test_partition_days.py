"""The days of partitions."""

from datetime import date

import pytest

from advice.partition_days import partition_days
from conf.partitions import PartitionKey, PartitionSet


def days(keys: str, *rows: tuple[str, ...]) -> list[date | None] | None:
    found = partition_days(PartitionSet([PartitionKey(k, "string") for k in keys.split()], rows))
    return None if found is None else [d and date.fromordinal(d) for d in found[1]]


@pytest.mark.parametrize(
    ("keys", "row"),
    [
        ("ds", ("2026-01-31",)),
        ("ds", ("20260131",)),
        ("ds", ("2026-01-31-06",)),
        ("country ds", ("de", "2026-01-31")),
        ("year month day", ("2026", "1", "31")),
        ("yyyy mm dd hh", ("2026", "01", "31", "06")),
    ],
)
def test_dates_are_recognised(keys: str, row: tuple[str, ...]) -> None:
    assert days(keys, row) == [date(2026, 1, 31)]


@pytest.mark.parametrize(
    ("keys", "row"), [("country", ("de",)), ("id", ("17",)), ("ds", ("2026-13-01",)), ("ds", ())]
)
def test_other_values_are_none(keys: str, row: tuple[str, ...]) -> None:
    assert days(keys, *([row] if row else [])) is None


def test_a_few_partitions_may_have_no_date() -> None:
    rows = [(f"2026-01-{day:02}",) for day in range(1, 21)]
    found = days("ds", *rows, ("__HIVE_DEFAULT_PARTITION__",))
    assert found is not None
    assert found[-1] is None
