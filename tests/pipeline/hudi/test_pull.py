"""Pulls: no row lost, none twice, whatever happens in between."""

import os
import shutil
import subprocess
import sys

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pipeline.hudi.errors import MissingKey, PullRunning, TargetMismatch, Undone
from pipeline.hudi.folders import folder
from pipeline.hudi.folders.folder import PullMark
from pipeline.hudi.folders.local_folder import LocalFolder
from pipeline.hudi.pull import DEFAULT_KEY, PullMode, pull
from pipeline.hudi.read import ChangedRows
from pipeline.hudi.table.storage import LocalStorage
from pipeline.hudi.table.table import open_table
from tests.pipeline.hudi.conftest import RowTable


def pulled(source, target, mode, **how):
    return pull(open_table(source.path, LocalStorage()), LocalFolder(target), mode, **how)


def state(target):
    rows = pq.read_table(target).to_pylist()
    assert len({row["key"] for row in rows}) == len(rows)
    return {row["key"]: row["value"] for row in rows}


def log(target):
    rows = pq.read_table(target).to_pylist()
    return sorted((row["_hoodie_commit_time"], row["key"], row["value"]) for row in rows)


def test_append_adds_each_change_once(row_table, tmp_path):
    target = tmp_path / "target"
    row_table.write(100, {"a": 1, "b": 1})
    first = pulled(row_table, target, PullMode.APPEND)
    assert (first.rows, first.bookmark) == (2, "101")
    row_table.write(200, {"b": 2, "c": 2})
    assert pulled(row_table, target, PullMode.APPEND).rows == 2
    again = pulled(row_table, target, PullMode.APPEND)
    assert (again.rows, again.commits, again.bookmark) == (0, 0, "201")
    assert log(target) == [("100", "a", 1), ("100", "b", 1), ("200", "b", 2), ("200", "c", 2)]


def test_append_steps_through_a_history_with_until(row_table, tmp_path):
    row_table.write(100, {"a": 1})
    row_table.write(200, {"b": 2})
    target = tmp_path / "target"
    assert pulled(row_table, target, PullMode.APPEND, until="101").bookmark == "101"
    assert pulled(row_table, target, PullMode.APPEND).rows == 1
    assert pulled(row_table, tmp_path / "late", PullMode.APPEND, since="101").rows == 1


def test_merge_keeps_one_row_a_key(row_table, tmp_path):
    target = tmp_path / "target"
    row_table.write(100, {"a": 1, "b": 1})
    pulled(row_table, target, PullMode.MERGE)
    row_table.write(200, {"b": 2, "c": 2})
    done = pulled(row_table, target, PullMode.MERGE, key=("key",))
    assert (done.rows, done.reloaded) == (2, None)
    assert state(target) == row_table.state == {"a": 1, "b": 2, "c": 2}


def test_merge_reloads_when_rows_vanished(row_table, tmp_path):
    target = tmp_path / "target"
    row_table.write(100, {"a": 1, "b": 1})
    pulled(row_table, target, PullMode.MERGE)
    row_table.write(200, {"c": 3}, delete=["a"])
    done = pulled(row_table, target, PullMode.MERGE)
    assert "deleted" in done.reloaded
    assert state(target) == row_table.state == {"b": 1, "c": 3}


def test_the_latest_of_several_changes_with_one_key_wins(row_table, tmp_path):
    row_table.write(100, {"a": 1, "b": 2})
    row_table.write(200, {"b": 1})
    done = pulled(row_table, tmp_path / "target", PullMode.MERGE, key=("value",))
    assert done.rows == 1
    assert state(tmp_path / "target") == {"b": 1}


def test_a_merge_needs_its_key(row_table, tmp_path):
    row_table.write(100, {"a": 1})
    with pytest.raises(MissingKey, match="nothing"):
        pulled(row_table, tmp_path / "target", PullMode.MERGE, key=("nothing",))
    assert list((tmp_path / "target").glob("*.parquet")) == []


def test_a_target_keeps_its_source_and_mode(row_table, tmp_path):
    target = tmp_path / "target"
    row_table.write(100, {"a": 1})
    pulled(row_table, target, PullMode.APPEND)
    with pytest.raises(TargetMismatch, match="append pulls"):
        pulled(row_table, target, PullMode.MERGE)


def test_a_folder_with_other_files_is_left_alone(row_table, tmp_path):
    target = tmp_path / "target"
    target.mkdir()
    row_table.write(100, {"a": 1})
    source = row_table.base / "p" / "f_1-0-1_100.parquet"
    (target / "mine.parquet").write_bytes(source.read_bytes())
    with pytest.raises(TargetMismatch, match=r"mine\.parquet"):
        pulled(row_table, target, PullMode.APPEND)


def test_a_log_of_an_earlier_release_is_continued(row_table, tmp_path):
    target = tmp_path / "target"
    for commit in (100, 200):
        row_table.write(commit, {str(commit): commit})
        pulled(row_table, target, PullMode.APPEND)
    for previous, bookmark in (("0", "101"), ("101", "201")):
        (target / f"changes-after-{previous}.parquet").rename(
            target / f"changes-{bookmark}.parquet"
        )
    assert pulled(row_table, target, PullMode.APPEND).rows == 0
    for commit in (300, 400):
        row_table.write(commit, {str(commit): commit})
        assert pulled(row_table, target, PullMode.APPEND).rows == 1
    assert sorted(row_table.state) == sorted(state(target))


def test_a_broken_newest_file_is_named(row_table, tmp_path):
    target = tmp_path / "target"
    row_table.write(100, {"a": 1})
    pulled(row_table, target, PullMode.APPEND)
    (newest,) = target.glob("changes-*.parquet")
    newest.write_bytes(newest.read_bytes()[:20])
    with pytest.raises(TargetMismatch, match="no complete parquet file"):
        pulled(row_table, target, PullMode.APPEND)


def test_a_pull_reads_one_footer_however_many_files_its_target_has(
    row_table, tmp_path, monkeypatch
):
    target = tmp_path / "target"
    for commit in (100, 200, 300, 400):
        row_table.write(commit, {"a": commit})
        pulled(row_table, target, PullMode.APPEND)
    footers, read_schema = [], pq.read_schema
    monkeypatch.setattr(pq, "read_schema", lambda path: footers.append(path) or read_schema(path))
    assert folder.last_mark(LocalFolder(target)).bookmark == "401"
    assert len(footers) == 1


@pytest.mark.parametrize("name", ["_place", "place", "time", "key0"])
def test_a_column_may_have_any_name(tmp_path, name):
    rows = pa.table({name: [3, 3], "v": [2, 1], "_hoodie_commit_time": ["200", "100"]})
    mark = PullMark("/source", "merge", "201")
    changes = ChangedRows(rows.schema, iter(rows.to_batches()))
    assert (
        folder.write(LocalFolder(tmp_path), changes, folder.WriteMode.MERGE, (name,), None, mark)
        == 1
    )
    assert pq.read_table(tmp_path / "data.parquet")["v"].to_pylist() == [2]


def test_one_pull_at_a_time(row_table, tmp_path):
    row_table.write(100, {"a": 1})
    target = tmp_path / "target"
    with LocalFolder(target).locked(), pytest.raises(PullRunning):
        pulled(row_table, target, PullMode.APPEND)
    assert pulled(row_table, target, PullMode.APPEND).rows == 1


# Where a pull touches the world, each a place to die at: before the call and after it.
STEPS = ["os.fsync", "os.replace", "pyarrow.parquet.ParquetWriter.write_batch",
         "pyarrow.parquet.ParquetWriter.close", "fcntl.flock"]  # fmt: skip
_DYING = """
import importlib, os, sys
from pathlib import Path
from pipeline.hudi.folders.local_folder import LocalFolder
from pipeline.hudi.pull import PullMode, pull
from pipeline.hudi.table.storage import LocalStorage
from pipeline.hudi.table.table import open_table
from tests.pipeline.hudi.conftest import RowTable
source, target, mode, step, when, count = sys.argv[1:]
owner, _, name = step.rpartition(".")
try:
    holder = importlib.import_module(owner)
except ModuleNotFoundError:
    module, _, attribute = owner.rpartition(".")
    holder = getattr(importlib.import_module(module), attribute)
real, left = getattr(holder, name), [int(count)]
def dying(*args, **kwargs):
    left[0] -= 1
    if left[0] == 0 and when == "before":
        os.kill(os.getpid(), 9)
    answer = real(*args, **kwargs)
    if left[0] == 0:
        os.kill(os.getpid(), 9)
    return answer
setattr(holder, name, dying)
pull(open_table(source, LocalStorage()), LocalFolder(Path(target)), PullMode(mode))
"""


@pytest.mark.slow
@pytest.mark.parametrize("mode", list(PullMode))
@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("count", [1, 2])
def test_killed_at_any_step_and_run_again(row_table, tmp_path, mode, step, when, count):
    target = tmp_path / "target"
    row_table.write(100, {"a": 1, "b": 1})
    pulled(row_table, target, mode)
    before = log(target)
    row_table.write(200, {"b": 2, "c": 2})
    command = [sys.executable, "-c", _DYING, row_table.path, str(target), mode.value, step, when]
    died = subprocess.run([*command, str(count)], env={**os.environ}, capture_output=True)
    if count == 1:
        assert died.returncode == -9, died.stderr
    after = {
        PullMode.APPEND: [*before, ("200", "b", 2), ("200", "c", 2)],
        PullMode.MERGE: [("100", "a", 1), ("200", "b", 2), ("200", "c", 2)],
    }[mode]
    # What a reader sees between the kill and the next run is one state or the other.
    assert log(target) in (before, after)
    pulled(row_table, target, mode)
    assert log(target) == after
    assert pulled(row_table, target, mode).rows == 0
    assert log(target) == after
    assert [f.name for f in target.iterdir() if "staged" in f.name] == []


def test_the_default_key_is_the_record_key_within_its_partition():
    assert DEFAULT_KEY == ("_hoodie_partition_path", "_hoodie_record_key")


def test_a_mirror_is_reloaded_after_a_rollback_of_its_rows(row_table, tmp_path):
    row_table.write(100, {"a": 1, "b": 1})
    row_table.write(200, {"b": 2})
    pulled(row_table, tmp_path / "mirror", PullMode.MERGE)
    row_table.back_to(300, {"a": 1, "b": 1}, undone=[200])
    done = pulled(row_table, tmp_path / "mirror", PullMode.MERGE)
    assert done.reloaded == "200 undone at the source"
    assert log(tmp_path / "mirror") == [("100", "a", 1), ("100", "b", 1)]
    assert pulled(row_table, tmp_path / "mirror", PullMode.MERGE).reloaded is None
    row_table.write(400, {"b": 4})
    assert pulled(row_table, tmp_path / "mirror", PullMode.MERGE).reloaded is None


def test_an_undoing_that_left_the_timeline_is_noticed_all_the_same(row_table, tmp_path):
    row_table.write(100, {"a": 1})
    row_table.write(200, {"a": 2})
    pulled(row_table, tmp_path / "mirror", PullMode.MERGE)
    row_table.back_to(300, {"a": 1}, undone=[200])
    next(row_table.timeline.glob("300*.rollback")).unlink()
    assert (
        pulled(row_table, tmp_path / "mirror", PullMode.MERGE).reloaded
        == "200 undone at the source"
    )


def test_a_log_with_rows_of_an_undone_commit_is_refused(row_table, tmp_path):
    row_table.write(100, {"a": 1})
    row_table.write(200, {"a": 2})
    pulled(row_table, tmp_path / "log", PullMode.APPEND)
    row_table.back_to(300, {"a": 1}, undone=[200])
    for _ in range(2):
        with pytest.raises(Undone, match="rows of 200"):
            pulled(row_table, tmp_path / "log", PullMode.APPEND)
    assert log(tmp_path / "log") == [("200", "a", 2)]


def test_a_log_continues_if_the_undone_commit_was_never_pulled(row_table, tmp_path):
    """Another writer's, that had not completed when it was rolled back."""
    row_table.write(100, {"a": 1})
    row_table.write(200, {"b": 2})
    pulled(row_table, tmp_path / "log", PullMode.APPEND)
    row_table.undo("300", ["150"])
    row_table.write(400, {"c": 4})
    done = pulled(row_table, tmp_path / "log", PullMode.APPEND)
    assert done.fallback == "150 was undone after 201"
    assert log(tmp_path / "log") == [("100", "a", 1), ("200", "b", 2), ("400", "c", 4)]


def test_a_rollback_that_a_running_commit_holds_back_replaces_no_file(tmp_path):
    """The bookmark stays, and with it the name of the file that has it."""
    source, target = RowTable(tmp_path / "source", version=6), tmp_path / "log"
    source.write(100, {"a": 1})
    pulled(source, target, PullMode.APPEND)
    source.commit("150", state="inflight")
    source.undo("200", ["050"])
    assert pulled(source, target, PullMode.APPEND).rows == 0
    assert log(target) == [("100", "a", 1)]


@pytest.mark.parametrize("mode", list(PullMode))
def test_a_rollback_alone_is_a_pull_without_rows(row_table, tmp_path, mode):
    row_table.write(100, {"a": 1})
    row_table.write(200, {"b": 2})
    pulled(row_table, tmp_path / "target", mode)
    row_table.undo("300", ["150"])
    assert pulled(row_table, tmp_path / "target", mode).bookmark in ("301", "201")
    assert state(tmp_path / "target") == {"a": 1, "b": 2}
    row_table.write(400, {"c": 4})
    pulled(row_table, tmp_path / "target", mode)
    assert state(tmp_path / "target") == {"a": 1, "b": 2, "c": 4}


@pytest.mark.parametrize("mode", list(PullMode))
def test_an_upgrade_between_two_pulls_repeats_no_row(tmp_path, mode):
    """Commits get completion times by it, and those are after the bookmark of the last pull."""
    source, target = RowTable(tmp_path / "source", version=6), tmp_path / "target"
    source.write(100, {"a": 1})
    source.write(200, {"b": 2})
    pulled(source, target, mode)
    source.upgrade({"100": "260", "200": "270"})
    assert pulled(source, target, mode).rows == 0
    source.write(300, {"c": 3})
    done = pulled(source, target, mode)
    assert (done.rows, done.reloaded, done.bookmark) == (1, None, "301")
    assert log(target) == [("100", "a", 1), ("200", "b", 2), ("300", "c", 3)]
    assert pulled(source, target, mode).rows == 0


def test_a_commit_that_was_seen_before_an_upgrade_and_completed_late_is_not_repeated(tmp_path):
    source, target = RowTable(tmp_path / "source", version=6), tmp_path / "target"
    source.write(100, {"a": 1})
    pulled(source, target, PullMode.APPEND)
    source.write(200, {"b": 2})
    source.upgrade({"100": "270", "200": "260"})
    assert pulled(source, target, PullMode.APPEND).bookmark == "260"
    assert pulled(source, target, PullMode.APPEND).rows == 0
    assert log(target) == [("100", "a", 1), ("200", "b", 2)]


def test_a_moved_source_is_continued_when_its_old_path_is_given(row_table, tmp_path):
    target = tmp_path / "target"
    row_table.write(100, {"a": 1})
    pulled(row_table, target, PullMode.APPEND)
    row_table.write(200, {"b": 2})
    moved = tmp_path / "moved"
    shutil.move(row_table.base, moved)
    source = open_table(str(moved), LocalStorage())
    with pytest.raises(TargetMismatch, match="source"):
        pull(source, LocalFolder(target), PullMode.APPEND)
    with pytest.raises(TargetMismatch, match="source"):
        pull(source, LocalFolder(target), PullMode.APPEND, moved_from=str(tmp_path / "other"))
    assert pull(source, LocalFolder(target), PullMode.APPEND, moved_from=row_table.path).rows == 1
    assert log(target) == [("100", "a", 1), ("200", "b", 2)]
    assert pull(source, LocalFolder(target), PullMode.APPEND).rows == 0


def test_another_table_is_not_the_moved_source(row_table, tmp_path):
    row_table.write(100, {"a": 1})
    pulled(row_table, tmp_path / "target", PullMode.MERGE)
    other = RowTable(tmp_path / "other")
    other.write(500, {"z": 1})
    with pytest.raises(TargetMismatch, match="no commit"):
        pulled(other, tmp_path / "target", PullMode.MERGE, moved_from=row_table.path)
