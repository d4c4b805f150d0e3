"""Evictions drop only the partitions of the plan, with data and copies, also after a kill."""

import contextlib
from datetime import UTC, datetime, timedelta

import pytest

from pipeline.retention.partition_dates import read_date_pattern
from pipeline.retention.plan import RetentionPolicy, plan_retention
from pipeline.retention.run import Evicted, UsedDirectories, candidates, run_retention
from tests.pipeline.copy.fakes import Killed
from tests.pipeline.copy.world import C2, T, World

NOW = datetime(2014, 1, 10, tzinfo=UTC)
DATING = read_date_pattern((("ds", "${YEAR}${MONTH}${DAY}"),))


def days(*numbers: int) -> World:
    world = World()
    for number in numbers:
        world.add(f"201401{number:02d}", a=f"{number}")
    return world


def evict(world: World, limit: int = 5, c2: timedelta | None = None) -> Evicted:
    copies = {} if c2 is None else {C2: c2}
    policy = RetentionPolicy(T, DATING, timedelta(days=limit), copies)
    plan = plan_retention(policy, candidates(world.objects, policy), NOW)
    events = world.events.extend
    return run_retention(plan, world.metastore, world.objects, world.files, events)


def test_only_old_partitions_and_their_directories_are_deleted() -> None:
    world = days(1, 4, 5, 9)
    report = evict(world)
    assert report.partitions == ["ds=20140101", "ds=20140104"]
    assert sorted(world.metastore.parts[T]) == ["ds=20140105", "ds=20140109"]
    left = {p for p in world.files.content if p.startswith("file:///c1/t/ds")}
    assert left == {"file:///c1/t/ds=20140105/a", "file:///c1/t/ds=20140109/a"}


def test_every_eviction_is_an_event() -> None:
    world = days(1)
    evict(world)
    assert world.events[-1]["object"] == "ds=20140101"
    assert world.events[-1]["location"] == "file:///c1/t/ds=20140101"


def test_copies_are_dropped_with_their_primary() -> None:
    world = days(1, 9)
    world.copy()
    copy = world.fresh()["ds=20140101"]
    evict(world)
    assert not world.files.exists(copy)
    assert list(world.fresh()) == ["ds=20140109"]
    world.check()


def test_a_copy_is_dropped_before_its_primary_at_its_own_limit() -> None:
    world = days(7, 9)
    world.copy()
    copy = world.fresh()["ds=20140107"]
    report = evict(world, c2=timedelta(days=2))
    assert (report.partitions, report.copies) == ([], ["ds=20140107 in C2"])
    assert not world.files.exists(copy)
    assert world.files.exists(world.location("ds=20140107"))
    assert list(world.fresh()) == ["ds=20140109"]


def test_a_partition_that_is_being_written_stays() -> None:
    world = days(1, 2)
    world.open_write("w", "ds=20140102")
    report = evict(world)
    assert (report.partitions, report.busy) == (["ds=20140101"], ["ds=20140102"])


@pytest.mark.parametrize("other", ["file:///c1/t/ds=20140101", "file:///c1/t/ds=20140101/sub"])
def test_data_that_another_partition_uses_stays(other: str) -> None:
    world = days(1, 9)
    world.metastore.parts[T]["ds=20140109"].location = other
    report = evict(world)
    assert report.partitions == ["ds=20140101"]
    assert report.shared == ["file:///c1/t/ds=20140101"]
    assert world.files.read("file:///c1/t/ds=20140101") == {"a": b"1"}


def test_the_directory_of_the_table_is_never_deleted() -> None:
    world = days(1, 9)
    world.metastore.parts[T]["ds=20140101"].location = "file:///c1/t"
    evict(world)
    assert world.files.exists("file:///c1/t/ds=20140109/a")


def test_after_a_kill_at_any_step_the_next_run_completes_the_eviction() -> None:
    kills = 0
    for effect in range(1, 100):
        world = days(1, 2, 9)
        world.copy()
        world.effects.count, world.effects.kill_at = 0, effect
        killed = True
        with contextlib.suppress(Killed):
            evict(world)
            killed = False
        world.effects.kill_at = None
        if not killed:
            break
        kills += 1
        evict(world)
        assert list(world.metastore.parts[T]) == ["ds=20140109"]
        for day in ("01", "02"):
            assert not world.files.exists(f"file:///c1/t/ds=201401{day}")
        assert len(world.directories()) == 1
        assert world.files.read_marker("file:///c1/t/_causeway/evicting") is None
        world.check()
    assert kills > 5


def test_directories_above_and_below_used_ones_are_in_use() -> None:
    in_use = UsedDirectories("f:/t", [])
    in_use.replace("x", ["f:/data/x"])
    reported = {place: in_use.touches(place) for place in ("f:/data", "f:/data/x", "f:/data/x/y")}
    assert all(reported.values())
    assert in_use.touches("f:/t")
    assert in_use.touches("f:")
    assert not in_use.touches("f:/data/xy")
    in_use.replace("x", [])
    assert not in_use.touches("f:/data/x")


def test_a_directory_in_use_under_another_spelling_stays() -> None:
    in_use = UsedDirectories("hdfs://c1:8020/t", [])
    in_use.replace("ds=1", ["hdfs://C1/data//x", "file:///data/y"])
    spellings = ("hdfs://c1:8020/data/x", "webhdfs://me@c1.:9870/data/z/../x", "file:/data/y")
    assert all(in_use.touches(each) for each in spellings)
    assert not in_use.touches("hdfs://c1:8020/data/y")
