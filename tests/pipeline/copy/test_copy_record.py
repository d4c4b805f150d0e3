"""What the copy engine records of its runs: the history and telemetry get it."""

from dataclasses import replace

import pytest

from conf.logs.log_fields import trace_id, with_log_fields
from conf.progress import Progress
from database.history.work import CopyRecord
from pipeline.copy.files import CopyOptions, FileCopy, FileResult
from pipeline.copy.plan import CopyPlan
from pipeline.copy.run import run_copy
from pipeline.errors import AnotherCopyRuns, NotCopyable
from tests.pipeline.copy.world import C1, C2, STAGING, World


def recording(*days: str) -> tuple[World, list[CopyRecord]]:
    """A world with these partitions, and the records of its copies."""
    world, records = World(), list[CopyRecord]()
    for day in days:
        world.add(day, a=f"a{day}", b=f"bb{day}")
    world.context = replace(world.context, record=records.append)
    return world, records


def versions(world: World) -> dict[str, str]:
    return {name: each.placement.version for name, each in world.state().items()}


def test_a_run_is_recorded_with_what_it_copied() -> None:
    world, records = recording("1", "2")
    report = world.copy()
    (record,) = records
    assert (record.table, record.target_table) == ("db.t", "db.t")
    assert (record.source, record.target, record.location) == (C1, C2, STAGING)
    assert (record.partitions, record.objects) == (2, [*versions(world).items()])
    assert (record.files, record.bytes, record.sent) == (4, 10, 10)
    assert (record.state, record.error, record.run) == ("SUCCEEDED", "", report.run)
    assert record.started <= record.ended == world.now
    assert record.trace == record.id
    assert len(record.id) == 32


def test_a_run_that_finds_every_copy_fresh_is_no_copy() -> None:
    world, records = recording("1")
    world.copy()
    world.copy()
    assert len(records) == 1


def test_the_size_is_that_of_the_copy_and_what_was_sent_is_apart() -> None:
    world, records = recording("1", "2")
    assert world.copy_killed_at(7)
    sent = records[0].sent
    world.copy()
    killed, done = records
    assert (killed.state, killed.objects, killed.files) == ("FAILED", [], None)
    assert done.bytes == 10
    assert done.sent == 10 - sent


def test_a_whole_table_has_no_number_of_partitions() -> None:
    world, records = World(partitioned=False), list[CopyRecord]()
    world.context = replace(world.context, record=records.append)
    world.put("file:///c1/t", {"a": "one"})
    world.copy()
    assert records[0].partitions is None
    assert records[0].objects == [("", versions(world)[""])]


def test_partitions_that_fail_make_a_run_partial() -> None:
    world, records = recording("1", "2")
    world.open_write("w", "ds=2")
    world.copy()
    (record,) = records
    assert (record.state, record.partitions, record.failed) == ("PARTIAL", 1, 1)
    assert "a write of it is open" in record.error


def test_a_run_that_cannot_continue_is_recorded_and_raises() -> None:
    world, records = recording("1")
    plan = world.plan()
    another = replace(plan, table=replace(plan.table, created=77))
    with pytest.raises(NotCopyable):
        _run(world, another)
    (record,) = records
    assert (record.state, record.source) == ("FAILED", C1)
    assert "is another table" in record.error


def test_a_run_that_meets_another_one_is_no_copy() -> None:
    world, records = recording("1")

    def another(path: str) -> None:
        world.files.during = lambda path: None
        with pytest.raises(AnotherCopyRuns):
            world.copy()
        assert records == []

    world.files.during = another
    world.copy()
    assert len(records) == 1


def test_each_primary_has_a_record_of_its_own() -> None:
    world, records = recording("1", "2")
    plan = world.plan()
    moved = replace(plan.items[1], primary="C3")
    _run(world, replace(plan, items=(plan.items[0], moved)))
    first, second = records
    assert (first.source, second.source) == ("C1", "C3")
    assert (first.objects[0][0], second.objects[0][0]) == ("ds=1", "ds=2")
    assert (first.bytes, second.bytes, first.sent, second.sent) == (5, 5, 5, 5)
    assert first.id != second.id
    assert first.trace == second.trace == first.id
    assert first.run == second.run


def test_spark_jobs_of_a_copy_have_the_id_of_its_trace(monkeypatch: pytest.MonkeyPatch) -> None:
    world, records = recording("1")
    traces: list[str] = []
    original = type(world.files).copy_files

    def copy_files(
        self: object, copies: list[FileCopy], options: object, progress: Progress
    ) -> list[FileResult]:
        traces.append(trace_id())
        return original(self, copies, options, progress)  # type: ignore[arg-type]

    monkeypatch.setattr(type(world.files), "copy_files", copy_files)
    world.copy()
    with with_log_fields(statement="ab" * 16):
        world.copy(again=True)
    with with_log_fields(instance="cd" * 16, entity="feed/clicks"):
        world.copy(again=True)
    assert traces == [each.trace for each in records] == [records[0].id, "ab" * 16, "cd" * 16]
    assert records[1].statement == "ab" * 16
    assert (records[2].instance, records[2].entity) == ("cd" * 16, "feed/clicks")


def _run(world: World, plan: CopyPlan) -> None:
    run_copy(plan, world.objects, world.context, CopyOptions(), world.limits)
