"""EL expressions mean what Falcon's documentation says (FA-EL)."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.falcon.calendar import format_time, parse_time
from pipeline.falcon.errors import BadExpression
from pipeline.falcon.expression import At, Future, Latest, parse
from tests.pipeline.falcon.documents import FALCON, needs_documents

GOLDEN = FALCON / "golden/el_expressions.tsv"
times = st.datetimes(datetime(1990, 1, 1), datetime(2090, 1, 1)).map(
    lambda time: time.replace(second=0, microsecond=0, tzinfo=UTC)
)


def of(text: str, time: datetime) -> datetime:
    expression = parse(text)
    assert isinstance(expression, At)
    return expression.of(time)


@needs_documents
def test_golden() -> None:
    rows = [line.split("\t") for line in GOLDEN.read_text().splitlines() if line[0] != "#"]
    assert len(rows) >= 15
    for reference, text, expected in rows:
        assert format_time(of(text, parse_time(reference))) == expected, text


@given(times, st.integers(-5000, 5000), st.integers(-5000, 5000))
def test_now_shifts(time: datetime, hours: int, minutes: int) -> None:
    assert of(f"now({hours},{minutes})", time) == time + timedelta(hours=hours, minutes=minutes)


@given(times)
def test_bases(time: datetime) -> None:
    today = of("today(0,0)", time)
    assert today <= time < today + timedelta(days=1)
    assert of("yesterday(0,0)", time) == today - timedelta(days=1)
    for day in ("MON", "SUN", "wed"):
        week = of(f"currentWeek('{day}',0,0)", time)
        assert week <= time < week + timedelta(days=7)
        assert of(f"lastWeek('{day}',0,0)", time) == week - timedelta(days=7)
    month, year = of("currentMonth(0,0,0)", time), of("currentYear(0,0,0,0)", time)
    assert (month.day, year.month, year.day) == (1, 1, 1)
    assert of("lastYear(12,0,0,0)", time) == year
    assert of("lastMonth(0,0,0)", time).month == (month.month - 2) % 12 + 1


def test_counting_expressions() -> None:
    assert parse("latest(-2)") == Latest("latest(-2)", -2)
    assert parse("${future(0,3)}") == Future("future(0,3)", 0, 3)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "now",
        "now()",
        "now(1)",
        "now(a,b)",
        "now(0,0)x",
        "tomorrow(0,0)",
        "latest(1)",
        "future(3,1)",
        "currentWeek('FUN',0,0)",
        "currentWeek('SUN',0)",
        "now(99999999,0)",
        "now(" * 1000,
    ],
)
def test_bad_expressions_are_refused(text: str) -> None:
    with pytest.raises(BadExpression):
        parse(text)


def test_a_time_out_of_the_calendar_is_refused() -> None:
    with pytest.raises(BadExpression):
        of("currentYear(-9999999,0,0,0)", parse_time("2013-01-01T00:00Z"))
