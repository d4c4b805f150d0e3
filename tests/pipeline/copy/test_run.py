"""What a copy run copies and publishes, what it leaves out, and how it goes on after a crash."""

from dataclasses import replace

import pytest

from pipeline.copy.files import CopyOptions
from pipeline.copy.run import run_copy
from pipeline.copy.runs.staging import OPEN
from pipeline.errors import CopyTooLarge, FilesFailed, NotCopyable, VerifyFailed
from tests.pipeline.copy.fakes import Killed
from tests.pipeline.copy.world import C2, STAGING, T, World, three


def test_every_partition_is_copied_and_fresh() -> None:
    world = three()
    report = world.copy()
    assert sorted(world.fresh()) == ["ds=1", "ds=2", "ds=3"] == report.published
    assert (report.files_sent, report.bytes_sent) == (6, 15)
    world.check()


def test_other_parameters_stay_as_they_were() -> None:
    world = three()
    world.copy()
    assert world.metastore.parts[T]["ds=1"].parameters["numRows"] == "1"


def test_a_run_without_steps_writes_nothing() -> None:
    world = three()
    world.copy()
    before = world.effects.count
    report = world.copy()
    assert (report.fresh, report.run, world.effects.count) == (3, "", before)


def test_an_unpartitioned_table() -> None:
    world = World(partitioned=False)
    world.put("file:///c1/t", {"a": "one"})
    world.copy()
    assert list(world.fresh()) == [""]
    world.check()


def test_only_the_rewritten_partition_is_copied_again() -> None:
    world = three()
    world.copy()
    world.rewrite("ds=2", a="new")
    assert sorted(world.fresh()) == ["ds=1", "ds=3"]
    report = world.copy()
    assert report.published == ["ds=2"]
    assert sorted(world.fresh()) == ["ds=1", "ds=2", "ds=3"]
    world.check()


def test_a_broken_file_keeps_only_its_partition_back() -> None:
    world = three()
    world.files.broken.add("file:///c1/t/ds=3/b")
    report = world.copy()
    assert report.published == ["ds=1", "ds=2"]
    assert isinstance(report.failed["ds=3"], FilesFailed)
    world.files.broken.clear()
    again = world.copy()
    assert again.published == ["ds=3"]
    assert (again.files_sent, again.files_kept) == (1, 1)


def test_files_that_do_not_arrive_are_not_published() -> None:
    world = three()

    def lose(name: str) -> None:
        for path in [p for p in world.files.content if "/c2/" in p and p.endswith("ds=1/a")]:
            del world.files.content[path]

    world.effects.before = lose
    report = world.copy()
    assert isinstance(report.failed["ds=1"], VerifyFailed)
    assert sorted(world.fresh()) == ["ds=2", "ds=3"]


def test_a_missing_source_directory_is_an_error_and_not_an_empty_copy() -> None:
    world = three()
    world.files.delete(["file:///c1/t/ds=1"])
    report = world.copy()
    assert "no directory" in str(report.failed["ds=1"])
    assert sorted(world.fresh()) == ["ds=2", "ds=3"]


def test_a_partition_that_was_dropped_is_left_out() -> None:
    world = three()
    plan = world.plan()
    del world.metastore.parts[T]["ds=2"]
    report = run_copy(plan, world.objects, world.context, CopyOptions(), world.limits)
    assert (report.gone, sorted(report.published)) == (["ds=2"], ["ds=1", "ds=3"])


@pytest.mark.slow
def test_a_run_killed_at_any_point_continues() -> None:
    """FA-R5: killed at the k-th effect, whatever k is; finished files are never sent twice."""
    kills = 0
    for effect in range(1, 200):
        world = three()
        world.effects.watch = world.check
        if not world.copy_killed_at(effect):
            break
        kills += 1
        finished = list(world.files.sent)
        world.copy()
        assert sorted(world.fresh()) == ["ds=1", "ds=2", "ds=3"]
        assert len(world.files.sent) == len(set(world.files.sent)) == 6, (effect, finished)
        world.check()
    assert kills > 15


def test_the_primary_needs_no_copy() -> None:
    world = three()
    world.metastore.tables[T].parameters = {"causeway.primary": C2}
    with pytest.raises(NotCopyable, match="primary"):
        world.plan()


def test_killed_is_not_swallowed() -> None:
    world = three()
    world.effects.kill_at = 1
    with pytest.raises(Killed):
        world.copy()


def test_a_finished_run_is_not_looked_at_again() -> None:
    world = three()
    world.copy()
    assert world.files.children(f"{STAGING}/{OPEN}") == ()
    world.files.broken.add("file:///c1/t/ds=3/b")
    world.copy("ds=3", again=True)
    assert len(world.files.children(f"{STAGING}/{OPEN}")) == 1


def test_tables_of_iceberg_without_a_metadata_file_are_not_copied() -> None:
    """D16: and what was published of them before is still swept."""
    world = three()
    world.copy()
    table = world.metastore.tables[T]
    table.parameters = {**table.parameters, "spark.sql.sources.provider": "iceberg"}
    before = dict(world.fresh())
    with pytest.raises(NotCopyable, match="whose metadata file the metastore does not name"):
        world.copy(again=True)
    assert world.fresh() == before
    world.sweep()


def test_a_run_sends_no_more_bytes_than_its_limit() -> None:
    world = three()
    world.limits = replace(world.limits, most=14)
    with pytest.raises(CopyTooLarge, match="15 bytes to copy, and 14 bytes are allowed"):
        world.copy()
    assert world.fresh() == {}
    assert not any(event["event"] == "carried" for event in world.events)
    world.limits = replace(world.limits, most=15)
    assert world.copy().bytes_sent == 15
