"""The texts that are sent to other databases."""

from zoneinfo import ZoneInfo

import pytest

from pipeline.errors import ActionFailed
from pipeline.exchange.sql import Merge, Window
from pipeline.falcon.calendar import parse_time

DAY = Window(parse_time("2024-03-31T00:00Z"), parse_time("2024-04-01T00:00Z"), ZoneInfo("UTC"))
LONDON = Window(
    parse_time("2024-03-31T00:00Z"), parse_time("2024-03-31T23:00Z"), ZoneInfo("Europe/London")
)


@pytest.mark.parametrize(
    ("window", "kind", "first", "last"),
    [
        (DAY, "date", "{d '2024-03-31'}", "{d '2024-04-01'}"),
        (DAY, "timestamp_ntz", "{ts '2024-03-31 00:00:00'}", "{ts '2024-04-01 00:00:00'}"),
        (LONDON, "timestamp_ntz", "{ts '2024-03-31 00:00:00'}", "{ts '2024-04-01 00:00:00'}"),
        (
            LONDON,
            "timestamp",
            "TIMESTAMP WITH TIME ZONE '2024-03-31 00:00:00+00:00'",
            "TIMESTAMP WITH TIME ZONE '2024-03-31 23:00:00+00:00'",
        ),
    ],
)
def test_a_window_has_the_rows_from_its_start_until_its_end(
    window: Window, kind: str, first: str, last: str
) -> None:
    expected = f"(SELECT * FROM s.t WHERE at >= {first} AND at < {last}) causeway"
    assert window.rows_of("s.t", "at", kind) == expected


def test_a_delta_column_has_dates_or_times() -> None:
    hour = Window(parse_time("2024-03-31T00:00Z"), parse_time("2024-03-31T01:00Z"), DAY.zone)
    with pytest.raises(ActionFailed, match="begin and end at midnight"):
        hour.rows_of("t", "d", "date")
    with pytest.raises(ActionFailed, match="is bigint"):
        DAY.rows_of("t", "id", "bigint")


def test_a_merge_updates_by_key_and_then_inserts() -> None:
    merge = Merge("s.t", "s.w", ("a", "b", "v"), ("a", "b"))
    same = "s.a = s.t.a AND s.b = s.t.b"
    update, insert = merge.statements(inserts=True)
    assert update == (
        f"UPDATE s.t SET v = (SELECT s.v FROM s.w s WHERE {same})"
        f" WHERE EXISTS (SELECT 1 FROM s.w s WHERE {same})"
    )
    assert insert == (
        "INSERT INTO s.t (a, b, v) SELECT a, b, v FROM s.w s"
        f" WHERE NOT EXISTS (SELECT 1 FROM s.t WHERE {same})"
    )
    assert merge.statements(inserts=False) == (update,)
    assert Merge("t", "w", ("k",), ("k",)).statements(inserts=False) == ()


def test_each_instance_has_a_staging_table_in_the_schema_of_its_target() -> None:
    one = Merge.of("s.t", ("k",), ("k",), "feed 2024-01-01")
    assert one.staging.startswith("s.causeway_")
    assert len(one.staging) <= 28
    assert one.staging == Merge.of("S.T", ("k",), ("k",), "feed 2024-01-01").staging.lower()
    assert one.staging != Merge.of("s.t", ("k",), ("k",), "feed 2024-01-02").staging
