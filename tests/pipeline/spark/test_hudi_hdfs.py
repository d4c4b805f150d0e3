"""Hudi tables on a real HDFS: planned, listed, read by Spark, and replicated both ways."""

import os
import zipfile
from contextlib import nullcontext
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from cli.main import main
from pipeline.copy.files import CopyOptions, FileCopy, FileStatus
from pipeline.hudi.errors import MissingPath, NotAHudiTable, PullRunning, StorageFault
from pipeline.hudi.folders.hdfs_folder import HdfsFolder
from pipeline.hudi.listing import list_status
from pipeline.hudi.plan import plan, snapshot
from pipeline.hudi.pull import PullMode, pull
from pipeline.hudi.read import changed_rows as rows_of
from pipeline.hudi.replicas.replica_plan import plan_replication
from pipeline.hudi.replicas.replicate import HudiReplicationResult, run_replication
from pipeline.hudi.spark_reader import HadoopStorage, changed_rows, read, storage_for
from pipeline.hudi.table.storage import CountingStorage, LocalStorage
from pipeline.hudi.table.table import open_for_changes, open_table
from pipeline.spark.session import open_session
from pipeline.spark.spark_files import SparkFiles
from tests.pipeline.hudi.conftest import RowTable
from tests.pipeline.spark import test_hdfs

pytestmark = [
    pytest.mark.slow,
    # PySpark leaves the sockets of collected rows to the collector.
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore:distutils Version classes are deprecated"),  # PySpark's
]
hdfs = test_hdfs.hdfs
SHARED = Path(os.environ.get("CAUSEWAY_SHARED", Path(__file__).parents[4] / "shared")) / "hudi"


def replicate(source: str, target: str) -> HudiReplicationResult:
    spark = open_session("local[2]")
    table = open_table(source, storage_for(spark, source))
    planned = plan_replication(table, target, storage_for(spark, target))
    return run_replication(planned, SparkFiles(spark), CopyOptions())


def changes(base: str, since: str) -> dict[str, int]:
    rows = read(open_session("local[2]"), base, since).collect()
    return {row["key"]: row["value"] for row in rows}


def test_a_round_trip(hdfs: str, tmp_path: Path) -> None:
    table = RowTable(tmp_path / "source")
    here, away = f"file://{table.path}", f"{hdfs}/{tmp_path.name}/replica"
    table.write(100, {"a": 1, "b": 1})
    assert replicate(here, away).commits == 1
    table.write(200, {"b": 2})
    again = replicate(here, away)
    assert (again.commits, again.files) == (1, 2)
    assert changes(away, "0") == {"a": 1, "b": 2}
    assert changes(away, "101") == {"b": 2}
    back = f"file://{tmp_path}/back"
    replicate(away, back)
    assert changes(back, "0") == {"a": 1, "b": 2}


def test_only_touched_partitions_are_listed(hdfs: str, tmp_path: Path) -> None:
    table = RowTable(tmp_path / "source")
    away = f"{hdfs}/{tmp_path.name}/listed"
    table.commit("050", [(f"q{n}", f"g{n}") for n in range(5)])
    table.write(100, {"a": 1})
    replicate(f"file://{table.path}", away)
    storage = CountingStorage(HadoopStorage(open_session("local[2]")))
    opened = open_for_changes(away, storage)
    storage.listed.clear()
    assert plan(opened, "060").partitions == ("p",)
    assert storage.listed == [f"{away}/p"]
    conf = {
        "hoodie.source.consume.mode": "incremental", "hoodie.source.consume.max.commits": "-1",
        "hoodie.source.consume.start.timestamp": "060",
    }  # fmt: skip
    found = list_status([f"{away}/p", f"{away}/q1"], conf, storage)
    assert [file.path for file in found] == [f"{away}/p/f_1-0-1_100.parquet"]


def test_a_pull_to_a_local_folder_by_the_command_line(hdfs: str, tmp_path: Path) -> None:
    table = RowTable(tmp_path / "source")
    away, target = f"{hdfs}/{tmp_path.name}/pulled", str(tmp_path / "target")
    table.write(100, {"a": 1, "b": 1})
    replicate(f"file://{table.path}", away)
    assert main(["incremental", "plan", away, "--since", "earliest"]) == 0
    assert main(["incremental", "pull", away, target, "--mode", "merge"]) == 0
    table.write(200, {"b": 2})
    replicate(f"file://{table.path}", away)
    assert main(["incremental", "pull", away, target, "--mode", "merge"]) == 0
    rows = pq.read_table(target).to_pylist()
    assert {row["key"]: row["value"] for row in rows} == {"a": 1, "b": 2}


@pytest.mark.parametrize(
    "name",
    [
        "sample_table__mor__parquet__v6_nonpartitioned",
        "quickstart_trips_table__mor__avro__v8_trips_8i3u1d",
    ],
)
def test_slices_with_logs_have_the_rows_of_local_disk(hdfs: str, tmp_path: Path, name: str) -> None:
    archive = SHARED / f"{name}.zip"
    if not archive.exists():
        pytest.skip(f"no {archive}")
    with zipfile.ZipFile(archive) as packed:
        packed.extractall(tmp_path)
    base = next(p.parent for p in tmp_path.glob("*/.hoodie") if "MACOSX" not in str(p))
    spark = open_session("local[2]")
    away = f"{hdfs}/{tmp_path.name}/logs"
    files = SparkFiles(spark)
    [listing] = files.listings([f"file://{base}"])
    assert listing is not None
    copies = [FileCopy(f"file://{base}", away, entry) for entry in listing.files]
    assert {done.status for done in files.copy_files(copies, CopyOptions())} == {FileStatus.SENT}
    here, there = (
        snapshot(open_for_changes(uri, storage_for(spark, uri))) for uri in (str(base), away)
    )
    assert any(part.logs for part in there.slices)
    by_arrow = [sorted(map(str, rows_of(each).to_pylist())) for each in (here, there)]
    by_spark = [sorted(map(str, changed_rows(spark, each).collect())) for each in (here, there)]
    assert by_arrow[0] == by_arrow[1]
    assert by_spark[0] == by_spark[1]


def test_without_spark_the_error_names_the_reason(hdfs: str) -> None:
    with pytest.raises(StorageFault, match="not on a local file system"):
        open_table(f"{hdfs}/t", LocalStorage())
    with pytest.raises(NotAHudiTable):
        open_table(f"{hdfs}/t", HadoopStorage(open_session("local[2]")))


def pulled(source: RowTable, target: str, mode: PullMode) -> int:
    spark = open_session("local[2]")
    folder = HdfsFolder(target, HadoopStorage(spark), SparkFiles(spark))
    return pull(open_table(source.path, LocalStorage()), folder, mode).rows


def folder_rows(target: str, tmp_path: Path) -> list[tuple[str, str, int]]:
    """What a reader of the folder finds, who skips names with a dot."""
    storage = HadoopStorage(open_session("local[2]"))
    found = []
    try:
        names = [name for name in storage.names(target) if not name.startswith(".")]
    except MissingPath:
        names = []
    for name in names:
        storage.fetch(f"{target}/{name}", str(tmp_path / name))
        found += pq.read_table(tmp_path / name).to_pylist()
    return sorted((row["_hoodie_commit_time"], row["key"], row["value"]) for row in found)


@pytest.mark.parametrize("mode", list(PullMode))
def test_pulls_into_a_folder_continue_where_they_ended(
    hdfs: str, tmp_path: Path, mode: PullMode
) -> None:
    table, target = RowTable(tmp_path / "source"), f"{hdfs}/{tmp_path.name}/folder"
    table.write(100, {"a": 1, "b": 1})
    assert pulled(table, target, mode) == 2
    table.write(200, {"b": 2})
    assert pulled(table, target, mode) == 1
    assert pulled(table, target, mode) == 0
    kept = [("100", "a", 1)] if mode is PullMode.MERGE else [("100", "a", 1), ("100", "b", 1)]
    assert folder_rows(target, tmp_path) == [*kept, ("200", "b", 2)]


@pytest.mark.parametrize("mode", list(PullMode))
@pytest.mark.parametrize("step", ["put", "rename"])
@pytest.mark.parametrize("after", [False, True])
def test_a_pull_that_ends_at_a_step_has_happened_or_not(
    hdfs: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    mode: PullMode,
    step: str,
    after: bool,
) -> None:
    table, target = RowTable(tmp_path / "source"), f"{hdfs}/{tmp_path.name}/folder"
    table.write(100, {"a": 1})
    pulled(table, target, mode)
    before = folder_rows(target, tmp_path)
    table.write(200, {"b": 2})
    real = getattr(HadoopStorage, step)

    def dies(*arguments: object, **named: object) -> None:
        if after:
            real(*arguments, **named)
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(HadoopStorage, step, dies)
        with pytest.raises(KeyboardInterrupt):
            pulled(table, target, mode)
    expected = [*before, ("200", "b", 2)]
    happened = after and step == "rename"
    assert folder_rows(target, tmp_path) == (expected if happened else before)
    assert pulled(table, target, mode) == (0 if happened else 1)
    assert folder_rows(target, tmp_path) == expected
    left = HadoopStorage(open_session("local[2]")).names(target)
    assert not [name for name in left if "staged" in name]


def test_a_pull_that_lost_its_lease_continues_no_log_twice(
    hdfs: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table, target = RowTable(tmp_path / "source"), f"{hdfs}/{tmp_path.name}/folder"
    table.write(100, {"a": 1})
    real = HadoopStorage.put

    def other_is_first(self: HadoopStorage, local: str, path: str) -> None:
        monkeypatch.undo()
        with pytest.raises(PullRunning, match="another pull"):
            pulled(table, target, PullMode.APPEND)
        # The lease ends, and nothing notices.
        monkeypatch.setattr(HdfsFolder, "locked", lambda folder: nullcontext())
        pulled(table, target, PullMode.APPEND)
        real(self, local, path)

    monkeypatch.setattr(HadoopStorage, "put", other_is_first)
    with pytest.raises(PullRunning, match="was first"):
        pulled(table, target, PullMode.APPEND)
    assert folder_rows(target, tmp_path) == [("100", "a", 1)]
