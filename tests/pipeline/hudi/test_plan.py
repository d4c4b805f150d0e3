"""Plans from bookmark to files: coverage, fallback and what each costs (HU-1, HU-4, HU-F)."""

import json
import shutil

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pipeline.hudi.errors import BadRange, DamagedTimeline, LostFile, StorageFault
from pipeline.hudi.plan import plan, snapshot
from pipeline.hudi.table.storage import CountingStorage, LocalStorage
from pipeline.hudi.table.table import open_for_changes


def opened(table):
    return open_for_changes(table.path, LocalStorage())


def names(planned):
    return sorted(f.name for f in planned.files)


def archive(table, *commits):
    """Puts (request, completion) pairs into the history of a layout 2 table."""
    history = table.timeline / "history"
    history.mkdir()
    rows = [{"instantTime": r, "completionTime": c, "action": "commit"} for r, c in commits]
    pq.write_table(pa.Table.from_pylist(rows), history / "1_2_0.parquet")
    manifest = {"files": [{"fileName": "1_2_0.parquet", "fileLen": 1}]}
    (history / "manifest_1").write_text(json.dumps(manifest))
    (history / "_version_").write_text("1")


def test_list_calls_are_the_touched_partitions(fake_table):
    table = fake_table(version=9)
    table.commit("100", [(f"p{n}", f"f{n}") for n in range(1000)])
    table.commit("200", [(f"p{n}", f"f{n}") for n in (3, 500, 999)])
    storage = CountingStorage()
    client = open_for_changes(table.path, storage)
    before = storage.lists
    planned = plan(client, "101")
    assert storage.lists - before == 3
    assert planned.partitions == ("p3", "p500", "p999")
    assert names(planned) == [f"f{n}_1-0-1_200.parquet" for n in (3, 500, 999)]
    assert planned.bytes == 30
    assert (planned.fallback, planned.bookmark) == (None, "201")


def test_bookmarks_are_completion_times_where_the_table_has_them(fake_table):
    table = fake_table(version=9)
    table.commit("100", [("p", "slow")], completion="900")
    table.commit("200", [("p", "fast")], completion="300")
    client = opened(table)
    first = plan(client, "0", until="500")
    assert (names(first), first.bookmark) == (["fast_1-0-1_200.parquet"], "300")
    later = plan(client, first.bookmark)
    assert (names(later), later.bookmark) == (["slow_1-0-1_100.parquet"], "900")


def test_by_request_time_commits_after_a_running_one_wait(fake_table):
    table = fake_table(version=6)
    table.commit("100", [("p", "a")])
    table.commit("200", [("p", "b")], state="inflight")
    table.commit("300", [("p", "c")])
    planned = plan(opened(table), "0")
    assert (planned.bookmark, planned.held_back_by) == ("100", "200")
    assert names(planned) == ["a_1-0-1_100.parquet"]


def test_nothing_new_keeps_the_bookmark(fake_table):
    table = fake_table(version=9)
    table.commit("100", [("p", "a")])
    planned = plan(opened(table), "101")
    assert (planned.commits, planned.files, planned.bookmark) == ((), (), "101")


def test_services_bring_no_partitions_but_their_files_serve(fake_table):
    table = fake_table(version=9)
    table.commit("100", [("p", "a"), ("q", "b")])
    table.commit("200", [("p", "a")])
    table.commit(
        "300", [("p", "new"), ("q", "other")], action="replacecommit", operation="CLUSTER",
        replaces={"p": ["a"], "q": ["b"]},
    )  # fmt: skip
    planned = plan(opened(table), "101")
    assert planned.partitions == ("p",)
    assert names(planned) == ["new_1-0-1_300.parquet"]
    assert not planned.removes_rows
    assert plan(opened(table), "201").files == ()


def test_replaced_and_deleted_rows_are_reported(fake_table):
    table = fake_table(version=9)
    table.commit("100", [("p", "a")])
    table.commit("200", [("p", "a")], deletes=1, operation="DELETE")
    table.commit(
        "300", [("p", "b")], action="replacecommit", operation="INSERT_OVERWRITE",
        replaces={"p": ["a"]},
    )  # fmt: skip
    client = opened(table)
    assert not plan(client, "0", until="101").removes_rows
    assert plan(client, "101", until="201").removes_rows
    assert plan(client, "201").removes_rows
    assert names(plan(client, "0")) == ["b_1-0-1_300.parquet"]


@pytest.mark.parametrize("partitions", [["p"], ["p", "q"]])
def test_a_cleaned_file_means_a_full_scan(fake_table, partitions):
    table = fake_table(version=9)
    table.commit("100", [("p", "a"), ("q", "b")])
    table.commit("200", [(p, "a" if p == "p" else "b") for p in partitions])
    table.commit("300", [("p", "a")])
    (table.base / "p" / "a_1-0-1_200.parquet").unlink()
    planned = plan(opened(table), "101", until="201")
    assert planned.fallback == "p/a_1-0-1_200.parquet was cleaned"
    assert planned.partitions == ("p", "q")
    assert planned.rows.instants == {"200"}
    assert plan(opened(table), "101").fallback is None


def test_a_dropped_and_cleaned_partition_needs_a_full_scan(fake_table):
    table = fake_table(version=9)
    table.commit("100", [("p", "a"), ("q", "b")])
    table.commit("200", action="replacecommit", operation="DELETE_PARTITION", replaces={"p": ["a"]})
    shutil.rmtree(table.base / "p")
    planned = plan(opened(table), "0", until="101")
    assert planned.fallback == "p/a_1-0-1_100.parquet was cleaned"
    assert names(planned) == ["b_1-0-1_100.parquet"]


@pytest.mark.parametrize("logs", [False, True])
def test_a_lost_file_is_refused(fake_table, logs):
    """The cleaner keeps the newest files of a group; without them the rest is not the table."""
    kind = "MERGE_ON_READ" if logs else "COPY_ON_WRITE"
    table = fake_table(version=9, kind=kind)
    table.commit("100", [("p", "a"), ("q", "b")])
    table.commit("200", [("p", "a")], logs=logs)
    (lost,) = (table.base / "p").glob("*a_*200*")
    lost.unlink()
    with pytest.raises(LostFile, match=lost.name):
        plan(opened(table), "101")
    shutil.rmtree(table.base / "q")
    with pytest.raises(LostFile, match="b_1-0-1_100"):
        plan(opened(table), "0", until="101")


def test_a_file_that_a_running_commit_replaces_is_neither_cleaned_nor_lost(fake_table):
    """The timeline was read before that commit completed and the cleaner ran."""
    table = fake_table(version=9)
    table.commit("100", [("p", "a")])
    client = opened(table)
    table.commit("200", [("p", "a")])
    (table.base / "p" / "a_1-0-1_100.parquet").unlink()
    with pytest.raises(StorageFault, match="pull again"):
        plan(client, "0")
    assert plan(opened(table), "0").fallback is None


def test_a_file_that_a_later_compaction_made_needless_is_cleaned(fake_table):
    table = fake_table(version=6, kind="MERGE_ON_READ")
    table.commit("100", [("p", "a")], action="deltacommit")
    table.commit("200", [("p", "a")], compacted=True, operation="COMPACT")
    (table.base / "p" / "a_1-0-1_100.parquet").unlink()
    assert plan(opened(table), "0", until="100").fallback == "p/a_1-0-1_100.parquet was cleaned"


def test_a_pending_clustering_of_layout_1_holds_nothing_back(fake_table):
    table = fake_table(version=6)
    table.commit("100", [("p", "a")])
    table.commit("200", action="replacecommit", state="requested")
    table.commit("200", action="replacecommit", state="inflight")
    table.commit("300", [("p", "b")])
    held = plan(opened(table), "0")
    assert (held.bookmark, held.held_back_by) == ("100", "200"), "it may overwrite partitions"
    request = table.timeline / "200.replacecommit.requested"
    request.write_text('{"operationType": "CLUSTER"}')
    planned = plan(opened(table), "0")
    assert (planned.bookmark, planned.held_back_by) == ("300", None)


def test_a_commit_that_is_empty_is_refused(fake_table):
    """Its writer has not finished, or it was damaged: its rows must not be passed over."""
    table = fake_table(version=6)
    table.commit("100", [("p", "a")])
    (table.timeline / "200.commit").touch()
    with pytest.raises(DamagedTimeline, match=r"200\.commit"):
        plan(opened(table), "100")


def test_a_bookmark_from_before_an_upgrade_stands_for_its_commit(fake_table):
    table = fake_table(version=6)
    table.commit("100", [("p", "a")])
    table.commit("200", [("p", "b")])
    bookmark = plan(opened(table), "0").bookmark
    table.upgrade({"100": "150", "200": "250"})
    assert plan(opened(table), bookmark).empty
    table.commit("300", [("p", "c")], completion="350")
    planned = plan(opened(table), bookmark)
    assert names(planned) == ["c_1-0-1_300.parquet"]
    assert (planned.rows.instants, planned.bookmark) == ({"300"}, "350")
    (table.timeline / "100_150.commit").unlink()
    (table.timeline / "200_250.commit").unlink()
    archive(table, ("100", "150"), ("200", "250"))
    assert plan(opened(table), bookmark).fallback is None


def test_archived_commits_mean_a_full_scan_by_their_completion(fake_table):
    table = fake_table(version=9)
    table.commit("100", [("p", "a")], completion="120")
    archive(table, ("050", "060"), ("070", "110"))
    client = opened(table)
    covered = plan(client, "110")
    assert covered.fallback is None
    planned = plan(client, "105")
    assert planned.fallback == "1 commits of the range are archived"
    assert planned.rows.instants == {"070", "100"}
    assert [c for c in ("040", "050", "070", "100", "106") if c in planned.rows] == ["070", "100"]


def test_a_completely_archived_range(fake_table):
    table = fake_table(version=9)
    table.commit("100", [("p", "a")])
    archive(table, ("050", "060"), ("070", "080"))
    planned = plan(opened(table), "060", until="090")
    assert planned.fallback
    assert (planned.commits, planned.bookmark) == ((), "080")
    assert planned.rows.instants == {"070"}
    assert not planned.empty
    assert plan(opened(table), "080", until="090").empty


def test_the_archive_of_layout_1_names_the_commits_of_a_range(fake_table):
    table = fake_table(version=6)
    for instant in ("100", "200", "300"):
        table.commit(instant, [("p", "a")])
    table.archive("100")
    table.archive("200", unfinished=b"#HUDI#" + bytes(20))
    early = plan(opened(table), "0", until="150")
    assert (early.bookmark, early.rows.instants) == ("100", {"100"})
    assert early.fallback == "1 commits of the range are archived"
    late = plan(opened(table), "100")
    assert (late.bookmark, late.rows.instants) == ("300", {"200", "300"})
    assert [c for c in ("150", "250", "300", "400") if c in late.rows] == ["300"]
    assert plan(opened(table), "200").fallback is None
    assert plan(opened(table), "250").fallback is None, "no commit of the range is archived"


def test_rows_from_before_the_archive_belong_to_the_range(fake_table):
    """The archive of a table may have been shortened by hand."""
    table = fake_table(version=6)
    table.commit("200", [("p", "a")])
    table.commit("300", [("p", "a")])
    table.archive("200")
    rows = plan(opened(table), "100").rows
    assert [c for c in ("100", "150", "200", "250", "300") if c in rows] == ["150", "200", "300"]


def test_a_damaged_archive_of_layout_1_is_refused(fake_table):
    table = fake_table(version=6)
    table.commit("200", [("p", "a")])
    table.commit("300", [("p", "a")])
    table.archive("200")
    (log,) = (table.base / ".hoodie" / "archived").iterdir()
    log.write_bytes(log.read_bytes().replace(b"actionType", b"otherField"))
    with pytest.raises(DamagedTimeline, match=log.name):
        plan(opened(table), "100")


def test_logs_lie_on_their_base_file_as_of_the_bookmark(fake_table):
    table = fake_table(version=9, kind="MERGE_ON_READ")
    table.commit("100", [("p", "a")], action="deltacommit")
    table.commit("200", [("p", "a")], action="deltacommit", logs=True)
    table.commit("300", [("p", "a")], action="deltacommit", logs=True)
    table.commit("400", [("p", "a")], compacted=True, operation="COMPACT")
    table.commit("500", [("p", "a")], action="deltacommit", logs=True)
    client = opened(table)
    log = ".a_{}.log.1_0-1-0".format
    assert names(plan(client, "101", until="201")) == [log(200), "a_1-0-1_100.parquet"]
    assert names(plan(client, "201", until="301")) == [
        log(200), log(300), "a_1-0-1_100.parquet",
    ]  # fmt: skip
    assert names(plan(client, "201")) == [log(500), "a_1-0-1_400.parquet"]
    (table.base / "p" / "a_1-0-1_100.parquet").unlink()
    assert plan(client, "101", until="201").fallback is not None
    for instant in (200, 300):
        (table.base / "p" / log(instant)).unlink()
    assert plan(client, "101").fallback is None


def test_an_archived_log_that_outlasted_a_compaction_lies_on_its_base(fake_table):
    table = fake_table(version=9, kind="MERGE_ON_READ")
    table.commit("100", [("p", "a")], action="deltacommit", logs=True)
    (table.timeline / "100_101.deltacommit").unlink()
    table.commit("200", [("p", "a")], compacted=True, operation="COMPACT")
    table.commit("300", [("p", "b")], action="deltacommit")
    archive(table, ("100", "250"))
    assert ".a_100.log.1_0-1-0" in names(snapshot(opened(table)))
    table.timeline.joinpath("history", "_version_").unlink()
    assert ".a_100.log.1_0-1-0" not in names(snapshot(opened(table)))


def test_a_snapshot_is_every_row_and_the_newest_bookmark(fake_table):
    table = fake_table(version=9)
    table.commit("100", [("p", "a"), ("q", "b")])
    table.commit(
        "200", [("q", "c")], action="replacecommit", operation="INSERT_OVERWRITE",
        replaces={"q": ["b"]},
    )  # fmt: skip
    whole = snapshot(opened(table))
    assert (whole.rows, whole.bookmark) == (None, "201")
    assert names(whole) == ["a_1-0-1_100.parquet", "c_1-0-1_200.parquet"]


def test_invalid_ranges_and_commits_are_refused(fake_table):
    table = fake_table(version=9)
    table.commit("100", [("p", "a")])
    with pytest.raises(BadRange, match="yesterday"):
        plan(opened(table), "yesterday")
    assert len(plan(opened(table), "earliest").files) == 1
    (table.timeline / "200_201.commit").write_bytes(b"Obj\x01garbage")
    with pytest.raises(DamagedTimeline, match=r"200_201\.commit"):
        plan(opened(table), "0")


@pytest.mark.parametrize("version", [6, 9])
@pytest.mark.parametrize("action", ["rollback", "restore"])
def test_commits_that_were_read_and_undone_since_need_a_full_scan(fake_table, version, action):
    table = fake_table(version=version)
    table.commit("100", [("p", "a")])
    table.commit("200", [("q", "b")])
    seen = plan(opened(table), "0").bookmark
    table.undo("300", ["200"], action)
    planned = plan(opened(table), seen)
    assert planned.fallback == f"200 was undone after {seen}"
    assert (planned.undone, planned.removes_rows, planned.empty) == (True, True, False)
    assert "200" not in planned.rows
    assert plan(opened(table), planned.bookmark).empty, "reported once"
    table.commit("400", [("p", "a")])
    later = plan(opened(table), planned.bookmark)
    assert (later.fallback, later.partitions) == (None, ("p",))


@pytest.mark.parametrize("version", [6, 9])
def test_commits_that_were_undone_before_they_were_read_need_no_full_scan(fake_table, version):
    """A writer that failed, and rolled back before it went on."""
    table = fake_table(version=version)
    table.commit("100", [("p", "a")])
    seen = plan(opened(table), "0").bookmark
    table.undo("300", ["200"])
    assert plan(opened(table), seen).empty
    table.commit("400", [("q", "b")])
    assert plan(opened(table), seen).fallback is None
    assert plan(opened(table), "0").fallback is None


def test_a_rollback_after_a_running_commit_keeps_the_bookmark_before_that(fake_table):
    table = fake_table(version=6)
    table.commit("100", [("p", "a")])
    table.commit("200", [("p", "a")])
    table.commit("250", [("q", "b")], state="inflight")
    table.undo("300", ["200"])
    planned = plan(opened(table), "200")
    assert (planned.bookmark, planned.undone, planned.empty) == ("200", True, False)
