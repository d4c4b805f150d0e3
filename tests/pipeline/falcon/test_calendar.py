"""Instances follow the calendar: property tests against plain counting."""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.falcon.calendar import Calendar, Frequency, Unit, format_time, parse_time, parse_zone
from pipeline.falcon.errors import BadFrequency

times = st.datetimes(datetime(1990, 1, 1), datetime(2090, 1, 1)).map(
    lambda time: time.replace(second=0, microsecond=0, tzinfo=UTC)
)
zones = st.sampled_from(["UTC", "America/New_York", "Europe/Zurich", "Asia/Kolkata"]).map(ZoneInfo)
frequencies = st.builds(Frequency, st.sampled_from(Unit), st.integers(1, 90))
calendars = st.builds(Calendar, times, frequencies, zones)


def test_the_document_has_768_instances() -> None:
    hourly = Calendar(parse_time("2013-09-24T00:00Z"), Frequency.parse("hours(1)"))
    end = parse_time("2013-10-26T00:00Z")
    instances = list(hourly.between(hourly.start, end))
    assert len(instances) == hourly.count(end) == 768
    assert format_time(instances[0]) == "2013-09-24T00:00Z"
    assert format_time(instances[-1]) == "2013-10-25T23:00Z"


@given(calendars, st.integers(0, 300))
def test_instants_increase_and_are_found_by_their_times(calendar: Calendar, number: int) -> None:
    instant, after = calendar.at(number), calendar.at(number + 1)
    assert instant < after
    assert calendar.number_from(instant) == number
    assert calendar.number_from(instant + timedelta(minutes=1)) == number + 1
    assert calendar.floor(instant) == instant
    assert calendar.floor(after - timedelta(minutes=1)) == instant


@given(calendars, st.integers(0, 60), st.integers(0, 60))
def test_between_is_inclusive_then_exclusive(calendar: Calendar, first: int, count: int) -> None:
    start, end = calendar.at(first), calendar.at(first + count)
    expected = [calendar.at(number) for number in range(first, first + count)]
    assert list(calendar.between(start, end)) == expected
    assert calendar.count(end) == first + count


@given(times, st.integers(1, 90), zones, st.integers(0, 300))
def test_days_keep_the_wall_clock(start: datetime, days: int, zone: ZoneInfo, number: int) -> None:
    calendar = Calendar(start, Frequency(Unit.DAYS, days), zone)
    local, first = calendar.at(number).astimezone(zone), start.astimezone(zone)
    assert (local.date() - first.date()).days == number * days
    skipped = local.replace(tzinfo=None) - datetime.combine(local.date(), first.time())
    assert skipped in (timedelta(0), timedelta(hours=1))  # an hour that the day does not have


@given(calendars, st.integers(0, 60), st.integers(0, 60))
def test_a_later_start_leaves_the_instants_unchanged(
    calendar: Calendar, first: int, number: int
) -> None:
    later = calendar.starting(calendar.at(first))
    assert later.at(number) == calendar.at(first + number)
    assert later.floor(calendar.at(first) - timedelta(minutes=1)) is None
    assert later.number_from(later.at(number)) == number


def test_the_31st_returns_after_a_short_month() -> None:
    monthly = Calendar(parse_time("2012-01-31T00:00Z"), Frequency.parse("months(1)"))
    days = [monthly.at(number).day for number in range(4)]
    assert days == [31, 29, 31, 30]


def test_daylight_saving_moves_days_and_not_hours() -> None:
    start = parse_time("2013-03-09T10:00Z")  # 05:00 in New York, the day before the change
    zone = parse_zone("America/New_York")
    daily = Calendar(start, Frequency.parse("days(1)"), zone)
    hourly = Calendar(start, Frequency.parse("hours(24)"), zone)
    assert format_time(daily.at(1)) == "2013-03-10T09:00Z"
    assert format_time(hourly.at(1)) == "2013-03-10T10:00Z"


def test_a_calendar_ends_with_the_years() -> None:
    far = Calendar(parse_time("2013-01-01T00:00Z"), Frequency.parse("months(999999)"))
    assert len(list(far.between(far.start, datetime.max.replace(tzinfo=UTC)))) == 1


@pytest.mark.parametrize(
    "text", ["", "hours", "hours(0)", "Hours(1)", "hours(1) ", "days(10000001)"]
)
def test_bad_frequencies_are_refused(text: str) -> None:
    with pytest.raises(BadFrequency):
        Frequency.parse(text)


@given(times)
def test_times_are_written_as_they_are_read(time: datetime) -> None:
    assert parse_time(format_time(time)) == time


@pytest.mark.parametrize("text", ["2013-02-30T00:00Z", "2013/01/01T00:00Z", "2013-01-01T00:00"])
def test_bad_times_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is not a time"):
        parse_time(text)


def test_zones() -> None:
    assert parse_zone("UTC") is UTC
    assert parse_zone("GMT+5:30").utcoffset(None) == timedelta(hours=5, minutes=30)
    for text in ("Mars/Olympus", "../etc/passwd", "GMT+x", "GMT+99"):
        with pytest.raises(ValueError, match="is not a time zone"):
            parse_zone(text)
