"""Replicas of Hudi tables: whole commits alone, and nothing sent twice."""

import shutil
from pathlib import Path

import pytest

from pipeline.copy.files import CopyOptions
from pipeline.errors import VerifyFailed
from pipeline.hudi.errors import NotAHudiTable, OutOfStep, StorageFault
from pipeline.hudi.listing import list_status
from pipeline.hudi.plan import snapshot
from pipeline.hudi.read import changed_rows
from pipeline.hudi.replicas.replica_plan import check_target, plan_replication
from pipeline.hudi.replicas.replicate import run_replication
from pipeline.hudi.table.storage import CountingStorage, LocalStorage
from pipeline.hudi.table.table import LOCKS, open_for_changes, open_table
from tests.pipeline.hudi.local_files import LocalFiles, entries


def opened(path):
    return open_for_changes(str(path), LocalStorage())


def replicate(source, target, files):
    planned = plan_replication(opened(source.path), str(target), LocalStorage())
    return run_replication(planned, files, CopyOptions())


def values(path):
    table = changed_rows(snapshot(opened(path)))
    return dict(zip(table["key"].to_pylist(), table["value"].to_pylist(), strict=True))


def test_new_commits_alone_are_sent(row_table, tmp_path):
    target, files = tmp_path / "replica", LocalFiles()
    row_table.write(100, {"a": 1})
    assert replicate(row_table, target, files).commits == 1
    assert values(target) == {"a": 1}
    row_table.write(200, {"b": 2})
    files.sent.clear()
    assert replicate(row_table, target, files).commits == 1
    assert files.sent == ["p/f_1-0-1_200.parquet", ".hoodie/timeline/200_201.commit"]
    assert values(target) == row_table.state
    assert replicate(row_table, target, files).files == 0


def test_each_changed_partition_is_listed_once(fake_table, tmp_path):
    table = fake_table(version=9)
    table.commit("100", [(f"p{n}", "f") for n in range(50)])
    storage = CountingStorage()
    source = open_table(table.path, storage)
    plan_replication(source, str(tmp_path / "replica"), LocalStorage())
    listed = [path for path in storage.listed if ".hoodie" not in path]
    assert sorted(listed) == sorted({table.path, *(f"{table.path}/p{n}" for n in range(50))})


@pytest.mark.parametrize("left", range(7))
def test_killed_at_any_file_a_reader_sees_whole_commits(row_table, tmp_path, left):
    target, seen = tmp_path / "replica", []
    for instant in (100, 200, 300):
        row_table.write(instant, {"a": instant, f"k{instant}": 1})
        seen.append(dict(row_table.state))
        if instant == 100:
            replicate(row_table, target, LocalFiles())
    files = LocalFiles(left)
    if left < 4:  # two files of rows, two of the timeline
        with pytest.raises(StorageFault, match="killed"):
            replicate(row_table, target, files)
        assert values(target) == seen[max(0, left - 2)]
    files.left = 100
    replicate(row_table, target, files)
    assert values(target) == row_table.state
    assert len(files.sent) == len(set(files.sent)) == 4


@pytest.mark.parametrize("left", range(3))
def test_killed_the_first_time_there_is_no_table_yet(row_table, tmp_path, left):
    row_table.write(100, {"a": 1})
    target, files = tmp_path / "replica", LocalFiles(left)
    with pytest.raises(StorageFault, match="killed"):
        replicate(row_table, target, files)
    with pytest.raises(NotAHudiTable):
        opened(target)
    files.left = 100
    replicate(row_table, target, files)
    assert values(target) == row_table.state
    assert len(files.sent) == len(set(files.sent))


def test_files_of_commits_undone_since_a_first_run_died_are_deleted(row_table, tmp_path):
    """Archived by now, its file would be taken for one of a complete commit."""
    row_table.write(100, {"a": 1})
    row_table.write(200, {"a": 2})
    target, files = tmp_path / "replica", LocalFiles(2)
    with pytest.raises(StorageFault, match="killed"):
        replicate(row_table, target, files)
    assert (target / "p" / "f_1-0-1_200.parquet").exists()
    (row_table.timeline / "200_201.commit").unlink()
    (row_table.base / "p" / "f_1-0-1_200.parquet").unlink()
    row_table.write(300, {"a": 3})
    files.left = 100
    replicate(row_table, target, files)
    assert {p.name for p in (target / "p").glob("*.parquet")} == {"f_1-0-1_300.parquet"}
    assert values(target) == {"a": 3}


class HarmfulFiles(LocalFiles):
    """Reports every file as copied, but loses those whose path ends with `name`, or leaves them one
    byte short.
    """

    def __init__(self, name: str, *, lost: bool):
        super().__init__()
        self.name, self.lost = name, lost

    def _one(self, order):
        result, target = super()._one(order), Path(order.target) / order.entry.path
        if order.entry.path.endswith(self.name):
            content = target.read_bytes()
            target.unlink()
            if not self.lost:
                target.write_bytes(content[:-1])
        return result


@pytest.mark.parametrize("lost", [True, False])
@pytest.mark.parametrize("name", ["_200.parquet", "_300.parquet", "300.commit.requested", "commit"])
def test_a_commit_whose_files_are_wrong_is_not_visible(row_table, tmp_path, name, lost):
    target = tmp_path / "replica"
    row_table.write(100, {"a": 1})
    replicate(row_table, target, LocalFiles())
    for instant in (200, 300):
        row_table.write(instant, {"a": instant})
        (row_table.timeline / f"{instant}.commit.requested").write_text("{}")
    with pytest.raises(VerifyFailed, match=f"{'missing' if lost else 'differs'}: .*{name}"):
        replicate(row_table, target, HarmfulFiles(name, lost=lost))
    assert values(target) == {"a": 1}
    replicate(row_table, target, LocalFiles())
    assert values(target) == row_table.state


@pytest.mark.parametrize("lost", [True, False])
@pytest.mark.parametrize("name", ["_100.parquet", "_200.parquet", "100_101.commit"])
def test_a_new_replica_whose_files_are_wrong_is_no_table(row_table, tmp_path, name, lost):
    row_table.write(100, {"a": 1})
    row_table.write(200, {"a": 2})
    files = HarmfulFiles(name, lost=lost)
    if name == "_100.parquet":  # not part of the newest state, so it is not copied
        replicate(row_table, tmp_path / "replica", files)
    else:
        with pytest.raises(VerifyFailed, match=name):
            replicate(row_table, tmp_path / "replica", files)
        with pytest.raises(NotAHudiTable):
            opened(tmp_path / "replica")
        replicate(row_table, tmp_path / "replica", LocalFiles())
    assert values(tmp_path / "replica") == row_table.state


@pytest.mark.parametrize("listed", [20, 400])
def test_the_comparison_lists_each_folder_once(fake_table, tmp_path, listed):
    """The data of a commit costs one listing a partition, however many files it has."""
    table, target = fake_table(version=9), tmp_path / "replica"
    table.commit("100", [("p0", "f")])
    replicate(table, target, LocalFiles())
    table.commit("200", [(f"p{n}", f"f{m}") for n in range(4) for m in range(listed // 4)])
    files, asked = LocalFiles(), []
    listings = files.listings
    files.listings = lambda locations: asked.extend(locations) or listings(locations)
    replicate(table, target, files)
    folders = [f"{target}/p{n}" for n in range(4)]
    assert sorted(asked) == sorted([*folders, f"{target}/.hoodie/timeline"])


def test_the_lease_of_a_first_run_is_no_other_data(row_table, tmp_path):
    row_table.write(100, {"a": 1})
    lease = tmp_path / "replica" / LOCKS / "run" / "marker"
    lease.parent.mkdir(parents=True)
    lease.touch()
    check_target(row_table.path, str(tmp_path / "replica"), LocalStorage())
    replicate(row_table, tmp_path / "replica", LocalFiles())
    assert values(tmp_path / "replica") == row_table.state
    assert lease.exists()


@pytest.mark.parametrize("name", ["markers.txt", ".hoodie/hoodie.properties"])
def test_a_directory_of_something_else_is_left_alone(row_table, tmp_path, name):
    row_table.write(100, {"a": 1})
    other = tmp_path / "replica" / name
    other.parent.mkdir(parents=True)
    other.write_text("hoodie.table.name=other\n")
    with pytest.raises(OutOfStep, match="not empty"):
        replicate(row_table, tmp_path / "replica", LocalFiles())
    assert [entry.path for entry in entries(tmp_path / "replica")] == [name]


def test_a_replica_of_another_table_is_left_alone(row_table, fake_table, tmp_path):
    row_table.write(100, {"a": 1})
    replicate(row_table, tmp_path / "replica", LocalFiles())
    with pytest.raises(OutOfStep, match=r"replica of .*source"):
        replicate(fake_table(version=9), tmp_path / "replica", LocalFiles())


def test_a_cleaned_file_of_a_missing_commit_is_out_of_step(row_table, tmp_path):
    row_table.write(100, {"a": 1})
    replicate(row_table, tmp_path / "replica", LocalFiles())
    row_table.write(200, {"a": 2})
    row_table.write(300, {"a": 3})
    (row_table.base / "p" / "f_1-0-1_200.parquet").unlink()
    with pytest.raises(OutOfStep, match="cleaned"):
        replicate(row_table, tmp_path / "replica", LocalFiles())


def test_services_are_replicated_with_their_files(fake_table, tmp_path):
    table = fake_table(version=9)
    table.commit("100", [("p", "a"), ("q", "b")])
    target = tmp_path / "replica"
    replicate(table, target, LocalFiles())
    table.commit(
        "200", [("p", "new"), ("q", "other")], action="replacecommit", operation="CLUSTER",
        replaces={"p": ["a"], "q": ["b"]},
    )  # fmt: skip
    replicate(table, target, LocalFiles())
    names = sorted(f.name for f in list_status([str(target)], {}))
    assert names == ["new_1-0-1_200.parquet", "other_1-0-1_200.parquet"]


def test_plans_of_running_compactions_come_along_and_running_commits_do_not(fake_table, tmp_path):
    table = fake_table(version=9, kind="MERGE_ON_READ")
    table.commit("100", [("p", "a")], action="deltacommit")
    table.commit("150", action="compaction", state="requested")
    table.commit("160", action="compaction", state="inflight")
    table.commit("170", [("p", "z")], action="deltacommit", state="inflight")
    target = tmp_path / "replica"
    replicate(table, target, LocalFiles())
    names = {p.name for p in (target / ".hoodie" / "timeline").iterdir()}
    assert names == {"100_101.deltacommit", "150.compaction.requested"}


def test_the_metadata_table_is_left_behind(fake_table, tmp_path):
    more = {"hoodie.table.metadata.partitions": "files", "hoodie.table.cdc.enabled": "true"}
    table = fake_table(version=9, **more)
    table.commit("100", [("p", "a")])
    replicate(table, tmp_path / "replica", LocalFiles())
    opened = open_table(str(tmp_path / "replica"), LocalStorage())
    assert not opened.properties.keys() & more.keys()
    assert opened.name == "trips"


def test_a_table_that_was_upgraded_since_is_out_of_step(fake_table, tmp_path):
    """Its old commits are not where readers of the new version look."""
    table = fake_table(version=6)
    table.commit("100", [("p", "a")])
    replicate(table, tmp_path / "replica", LocalFiles())
    shutil.rmtree(table.base)
    newer = fake_table(version=9)
    newer.commit("100", [("p", "a")])
    with pytest.raises(OutOfStep, match="upgraded"):
        replicate(newer, tmp_path / "replica", LocalFiles())


def test_a_replica_with_commits_of_its_own_is_refused(fake_table, tmp_path):
    table = fake_table(version=9)
    table.commit("100", [("p", "a")])
    target = tmp_path / "replica"
    replicate(table, target, LocalFiles())
    shutil.copyfile(
        table.timeline / "100_101.commit", target / ".hoodie" / "timeline" / "150_151.commit"
    )
    with pytest.raises(OutOfStep, match="150"):
        replicate(table, target, LocalFiles())


def test_a_replica_that_is_too_far_behind_is_refused(fake_table, tmp_path):
    table = fake_table(version=6)
    table.commit("100", [("p", "a")])
    target = tmp_path / "replica"
    replicate(table, target, LocalFiles())
    table.commit("200", [("p", "a")])
    table.commit("300", [("p", "a")])
    table.archive("100", "200")
    with pytest.raises(OutOfStep, match="archived"):
        replicate(table, target, LocalFiles())


def test_the_history_of_the_columns_comes_along(fake_table, tmp_path):
    """Without it Hudi reads renamed columns of older files as null."""
    table = fake_table(version=9)
    table.commit("100", [("p", "a")])
    target = tmp_path / "replica"
    replicate(table, target, LocalFiles())
    schemas = table.base / ".hoodie" / ".schema"
    schemas.mkdir()
    (schemas / "200_201.schemacommit").write_text("{}")
    (schemas / "300.schemacommit.inflight").touch()
    table.commit("200", [("p", "a")])
    replicate(table, target, LocalFiles())
    copied = target / ".hoodie" / ".schema"
    assert [file.name for file in copied.iterdir()] == ["200_201.schemacommit"]
