"""Which partitions are too old: FA-V1, V3, V4, V5, and Falcon's evictor matrix."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conf.names import ClusterName, TableRef, parse_partition_name, partition_name
from conf.partitions import PartitionKey
from pipeline.copy.filter import parse_filter
from pipeline.errors import BadRetention
from pipeline.retention.partition_dates import read_date_pattern
from pipeline.retention.plan import Candidate, RetentionPolicy, eviction_filter, plan_retention

T = TableRef("db", "t")
NOW = datetime(2014, 2, 10, 7, 30, tzinfo=UTC)
C2 = ClusterName("C2")
HOURLY = (("ds", "${YEAR}-${MONTH}-${DAY}-${HOUR}"),)
DAILY = (("ds", "${YEAR}${MONTH}${DAY}"),)
SPLIT = (("year", "${YEAR}"), ("month", "${MONTH}"), ("day", "${DAY}"))


def policy(keys=DAILY, **more) -> RetentionPolicy:
    given = {"date_pattern": read_date_pattern(keys), "limit": timedelta(days=10)}
    return RetentionPolicy(**{"table": T} | given | more)


def evicted(policy: RetentionPolicy, *names: str, now: datetime = NOW) -> list[str]:
    plan = plan_retention(policy, [Candidate(name) for name in names], now)
    return [each.name for each in plan.evictions]


def test_partitions_older_than_the_limit_are_dropped_and_the_limit_itself_is_kept() -> None:
    assert evicted(policy(), "ds=20140131", "ds=20140130") == ["ds=20140130"]


@pytest.mark.parametrize("days", [10, 15, 100])
@pytest.mark.parametrize(
    "keys",
    [
        (("ds", "${YEAR}${MONTH}${DAY}"),),
        (("ds", "${YEAR}-${MONTH}-${DAY}"),),
        (("ds", "${YEAR}_${MONTH}_${DAY}_${HOUR}"),),
        SPLIT,
        (("region", "us"), ("ds", "x${YEAR}.${MONTH}.${DAY}")),
    ],
)
def test_falcons_matrix(days: int, keys: tuple[tuple[str, str], ...]) -> None:
    date_pattern = read_date_pattern(keys)
    limit = timedelta(days=days)
    static = dict(date_pattern.static)

    def name(time: datetime) -> str:
        values = dict(date_pattern.values(time)) | static
        return partition_name((key, values[key]) for key, _ in keys)

    old = [name(NOW - limit - timedelta(days=n)) for n in range(1, 5)]
    young = [name(NOW - limit + timedelta(days=n)) for n in range(0, 5)]
    found = evicted(policy(keys, limit=limit), *old, *young)
    assert sorted(found) == sorted(old)


def test_an_hour_is_dropped_only_when_all_of_it_is_too_old() -> None:
    two = policy(HOURLY, limit=timedelta(hours=2))
    names = [f"ds=2014-02-10-{hour:02d}" for hour in range(8)]
    assert evicted(two, *names) == names[:5]


def test_days_under_a_limit_of_hours_keep_today() -> None:
    two = policy(DAILY, limit=timedelta(hours=2))
    assert evicted(two, "ds=20140210", "ds=20140209") == ["ds=20140209"]


def test_static_keys_are_respected() -> None:
    """FA-V5's trap: a feed of region=us evicts nothing of region=in."""
    keys = (*DAILY, ("region", "us"))
    assert evicted(policy(keys), "ds=20130101/region=us", "ds=20130101/region=in") == [
        "ds=20130101/region=us"
    ]


def test_keys_outside_the_feed_do_not_hide_a_date() -> None:
    assert evicted(policy(), "ds=20130101/region=in") == ["ds=20130101/region=in"]


def test_partitions_without_a_date_are_kept_and_reported() -> None:
    names = ["ds=soon", "ds=20140231", "ds=__HIVE_DEFAULT_PARTITION__", "ds=2014010"]
    plan = plan_retention(policy(), [Candidate(name) for name in names], NOW)
    assert (plan.evictions, plan.undated) == ((), tuple(names))


def test_partitions_that_open_work_needs_are_kept() -> None:
    first_days = policy(is_needed=lambda date: date.day == 1)
    plan = plan_retention(first_days, [Candidate("ds=20130101")], NOW)
    assert (plan.evictions, plan.needed) == ((), ("ds=20130101",))


def test_each_cluster_has_its_limit() -> None:
    """FA-V4: a copy goes at its own limit, and a longer one keeps the primary."""
    shorter = policy(copies={C2: timedelta(days=2)})
    both = frozenset({C2})
    plan = plan_retention(shorter, [Candidate("ds=20140205", both)], NOW)
    assert [str(each) for each in plan.copies] == ["drop the copy of ds=20140205 in C2"]
    assert plan.evictions == ()
    longer = policy(copies={C2: timedelta(days=30)})
    plan = plan_retention(longer, [Candidate("ds=20140120", both), Candidate("ds=20140121")], NOW)
    assert plan.needed == ("ds=20140120",)
    assert [each.name for each in plan.evictions] == ["ds=20140121"]


def test_a_copy_without_a_limit_is_dropped_with_its_primary() -> None:
    plan = plan_retention(policy(), [Candidate("ds=20130101", frozenset({C2}))], NOW)
    assert (len(plan.evictions), plan.copies) == (1, ())


def test_the_filter_of_one_date() -> None:
    date_pattern = read_date_pattern((*DAILY, ("region", "us")))
    text = eviction_filter(date_pattern, datetime(2014, 1, 31, tzinfo=UTC))
    assert text == "ds < '20140131' and region = 'us'"


def test_the_filter_of_several_dates() -> None:
    text = eviction_filter(read_date_pattern(SPLIT), datetime(2014, 2, 3, tzinfo=UTC))
    assert text == (
        "(year < '2014') or (year = '2014' and month < '02')"
        " or (year = '2014' and month = '02' and day < '03')"
    )


TIMES = st.datetimes(datetime(2012, 1, 1), datetime(2016, 1, 1)).map(
    lambda time: time.replace(tzinfo=UTC)
)


@given(TIMES, TIMES, st.sampled_from([HOURLY, DAILY, SPLIT, (*SPLIT, ("region", "us"))]))
def test_the_filter_selects_the_partitions_of_the_plan(
    time: datetime, now: datetime, keys: tuple[tuple[str, str], ...]
) -> None:
    date_pattern = read_date_pattern(keys)
    spec = (*date_pattern.values(time), *date_pattern.static)
    plan = plan_retention(policy(keys), [Candidate(partition_name(spec))], now)
    parsed = parse_filter(plan.condition, [PartitionKey(key, "string") for key, _ in keys])
    assert parsed.accepts(parse_partition_name(partition_name(spec))) == bool(plan.evictions)


@pytest.mark.parametrize(
    ("keys", "why"),
    [
        ((("region", "us"),), "no partition key has a date"),
        ((("month", "${MONTH}"),), "have no year"),
        ((("ds", "${YEAR}-${DAY}"),), "have no month"),
        ((("a", "${YEAR}"), ("b", "${YEAR}")), "twice"),
    ],
)
def test_bad_date_patterns(keys: tuple[tuple[str, str], ...], why: str) -> None:
    with pytest.raises(BadRetention, match=why):
        read_date_pattern(keys)
