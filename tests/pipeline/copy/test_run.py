"""Copies: complete or invisible, at every point where a run may die."""

from dataclasses import replace

import pytest

from pipeline.copy.copy_report import CopyReport
from pipeline.copy.runs.staging import LEASE_SECONDS, OPEN
from pipeline.errors import (
    AnotherCopyRuns,
    CopyTooLarge,
    FilesFailed,
    NotCopyable,
    SourceKeepsChanging,
    VerifyFailed,
    WriteOpen,
)
from tests.pipeline.copy.fakes import Killed
from tests.pipeline.copy.world import C2, GRACE, STAGING, T, World


def three() -> World:
    world = World()
    for day in ("1", "2", "3"):
        world.add(day, a=f"a{day}", b=f"bb{day}")
    return world


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


def test_nothing_to_do_touches_nothing() -> None:
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


def test_a_write_of_the_whole_table_makes_every_copy_stale() -> None:
    world = three()
    world.copy()
    world.open_write("w")
    assert world.fresh() == {}
    world.close_write("w")
    assert world.fresh() == {}
    assert len(world.copy().published) == 3


def test_an_open_write_is_waited_for_and_then_refused() -> None:
    world = three()
    world.open_write("w", "ds=2")
    report = world.copy()
    assert report.published == ["ds=1", "ds=3"]
    assert isinstance(report.failed["ds=2"], WriteOpen)
    assert any(event["event"] == "waiting" for event in world.events)


def test_an_open_write_that_ends_in_time_is_waited_for() -> None:
    world = three()
    world.open_write("w", "ds=2")
    world.context = type(world.context)(
        world.files,
        clock=lambda: world.now,
        sleep=lambda seconds: world.close_write("w", "ds=2"),
    )
    assert len(world.copy().published) == 3


def test_a_source_that_changes_during_the_copy_is_copied_again() -> None:
    world = three()
    changes = iter(["later"])

    def change(path: str) -> None:
        if path.endswith("ds=2/a"):
            for body in changes:
                world.rewrite("ds=2", a=body, c="more")

    world.files.during = change
    report = world.copy()
    assert sorted(report.published) == ["ds=1", "ds=2", "ds=3"]
    world.check()
    assert world.files.read(world.fresh()["ds=2"]) == {"a": b"later", "c": b"more"}


def test_a_change_without_a_write_id_is_noticed_too() -> None:
    world = three()
    changes = iter(["later"])

    def change(path: str) -> None:
        if path.endswith("ds=2/b"):
            for body in changes:
                world.put(world.location("ds=2"), {"a": body})

    world.files.during = change
    world.copy()
    world.check()


def test_a_source_that_always_changes_is_given_up() -> None:
    world = three()

    def change(path: str) -> None:
        if path.endswith("ds=2/a"):
            world.rewrite("ds=2", a=str(world.files.tick))

    world.files.during = change
    report = world.copy()
    assert isinstance(report.failed["ds=2"], SourceKeepsChanging)
    assert sorted(report.published) == ["ds=1", "ds=3"]
    assert "ds=2" not in world.fresh()


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


def test_what_does_not_arrive_is_not_published() -> None:
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
    from pipeline.copy.files import CopyOptions
    from pipeline.copy.run import run_copy

    report = run_copy(plan, world.objects, world.context, CopyOptions(), world.limits)
    assert (report.gone, sorted(report.published)) == (["ds=2"], ["ds=1", "ds=3"])


def test_a_write_between_verify_and_publish_is_noticed() -> None:
    world = three()
    pending = iter([True])

    def strike(name: str) -> None:
        if name == "alter_partitions":
            for _ in pending:
                world.open_write("w", "ds=2")
                world.limits = world.limits

    world.effects.before = strike
    report = world.copy()
    assert isinstance(report.failed["ds=2"], WriteOpen)
    world.close_write("w", "ds=2")
    assert "ds=2" not in world.fresh()
    world.check()


def test_files_written_past_all_marks_between_verify_and_publish_are_noticed() -> None:
    world = three()
    pending = iter([True])

    def strike(name: str) -> None:
        if name == "alter_partitions":
            for _ in pending:
                world.put(world.location("ds=2"), {"a": "later"})

    world.effects.before = strike
    report = world.copy()
    assert sorted(report.published) == ["ds=1", "ds=2", "ds=3"]
    world.check()
    assert world.files.read(world.fresh()["ds=2"])["a"] == b"later"


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


@pytest.mark.slow
def test_a_refresh_killed_at_every_point_leaves_no_rubbish_for_ever() -> None:
    kills = 0
    for effect in range(1, 200):
        world = three()
        world.copy()
        for day in ("1", "2", "3"):
            world.rewrite(f"ds={day}", a=f"new{day}")
        world.effects.watch = world.check
        if not world.copy_killed_at(effect):
            break
        kills += 1
        world.copy()
        world.sweep()
        world.now += GRACE
        world.sweep()
        assert sorted(world.directories()) == sorted(world.fresh().values()), effect
        assert len(world.fresh()) == 3
    assert kills > 15


@pytest.mark.slow
@pytest.mark.parametrize("again", [False, True])
def test_a_write_at_any_point_of_a_copy_never_shows(again: bool) -> None:
    """Wherever another client's whole write falls, readers see the primary's data or no copy."""
    struck = []
    for effect in range(1, 200):
        world = three()
        if again:
            world.copy()
            world.rewrite("ds=1", a="newer")
            world.rewrite("ds=2", a="newer")
        left = effect

        def strike(name: str, world: World = world) -> None:
            nonlocal left
            left -= 1
            if left == 0:
                world.effects.before = lambda name: None
                # Clients of one process take turns at a table; the other has a test of its own.
                if name not in ("alter_table", "altered_table", "alter_partitions"):
                    struck.append(name)
                    world.rewrite("ds=2", a="racing", c="new")

        world.effects.before, world.effects.watch = strike, world.check
        world.copy()
        if left > 0:
            break
        world.copy()
        assert len(world.fresh()) == 3
    assert {"listed", "file", "noted", "altered_partitions"} <= set(struck)


def test_a_write_id_that_a_publication_overwrote_is_made_good() -> None:
    """Between our read and our alter of a partition: no copy anywhere stays fresh by mistake."""
    world = three()
    world.copy()
    world.rewrite("ds=2", a="newer")
    pending = iter([True])

    def strike(name: str) -> None:
        if name == "alter_partitions":
            for _ in pending:
                world.rewrite("ds=2", a="racing")

    world.effects.before = strike
    world.copy()
    world.effects.before = lambda name: None
    world.check()
    world.copy()
    assert len(world.fresh()) == 3
    world.check()


def test_readers_of_a_replaced_copy_keep_it_for_the_grace() -> None:
    world = three()
    world.copy()
    old = world.fresh()["ds=1"]
    world.rewrite("ds=1", a="new")
    world.copy()
    world.rewrite("ds=1", a="newer")
    world.now += GRACE - 1
    world.copy()
    assert world.files.exists(old), "an old copy must neither be swept nor taken over yet"
    world.now += 2
    world.sweep()
    assert not world.files.exists(old)


def test_two_runs_at_once_are_refused() -> None:
    world = three()

    def another(path: str) -> None:
        world.files.during = lambda path: None
        with pytest.raises(AnotherCopyRuns):
            world.copy()

    world.files.during = another
    assert len(world.copy().published) == 3


def test_a_run_that_was_taken_for_dead_publishes_nothing() -> None:
    world = three()

    def stall(path: str) -> None:
        world.files.during = lambda path: None
        world.now += LEASE_SECONDS + 1
        world.copy()

    world.files.during = stall
    with pytest.raises(AnotherCopyRuns):
        world.copy()
    assert len(world.fresh()) == 3
    world.check()


def test_a_renamed_table_keeps_its_copies_through_sweeps() -> None:
    from conf.names import TableRef

    world = three()
    world.copy()
    new = TableRef("db", "renamed")
    world.metastore.tables[new] = world.metastore.tables.pop(T)
    world.metastore.tables[new].set_text(1, "renamed")
    world.metastore.parts[new] = world.metastore.parts.pop(T)
    world.now += LEASE_SECONDS
    world.sweep()
    world.now += GRACE
    assert world.sweep().deleted == 0
    del world.metastore.tables[new], world.metastore.parts[new]
    world.sweep()
    world.now += GRACE
    assert world.sweep().deleted == 3
    assert world.directories() == []


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


def test_partitions_of_one_table_are_copied_side_by_side() -> None:
    """A run begins and ends while another one copies; the same partition is refused."""
    world = three()
    reports: list[CopyReport] = []

    def meanwhile(path: str) -> None:
        if path.endswith("ds=1/a") and not reports:
            reports.append(CopyReport())
            reports.append(world.copy("ds=2"))
            with pytest.raises(AnotherCopyRuns):
                world.copy("ds=1", "ds=3")

    world.files.during = meanwhile
    assert world.copy("ds=1").published == ["ds=1"]
    assert reports[1].published == ["ds=2"]
    assert sorted(world.fresh()) == ["ds=1", "ds=2"]
    world.check()


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


def test_a_run_sends_no_more_than_it_may() -> None:
    world = three()
    world.limits = replace(world.limits, most=14)
    with pytest.raises(CopyTooLarge, match="15 bytes to copy, and 14 bytes are allowed"):
        world.copy()
    assert world.fresh() == {}
    assert not any(event["event"] == "carried" for event in world.events)
    world.limits = replace(world.limits, most=15)
    assert world.copy().bytes_sent == 15


@pytest.mark.parametrize("partitioned", [True, False])
def test_a_sweep_takes_away_copies_whose_time_has_ended(partitioned: bool) -> None:
    world = World(partitioned)
    world.add("1", a="one") if partitioned else world.put("file:///c1/t", {"a": "one"})
    world.copy(keep=100)
    assert world.withdraw_expired(50) == 0
    location = world.fresh().popitem()[1]
    assert world.withdraw_expired(200) == 1
    assert world.fresh() == {}
    world.sweep()
    assert world.files.exists(location)  # for readers that still use it
    world.now += GRACE
    world.sweep()
    assert not world.files.exists(location)


def test_a_copy_without_a_time_to_live_stays() -> None:
    world = three()
    world.copy()
    assert world.withdraw_expired(1e9) == 0
    assert len(world.fresh()) == 3
