"""Hudi tables on a real HDFS: planned, listed, read by Spark, and replicated both ways."""

from pathlib import Path

import pytest

from pipeline.copy.files import CopyOptions
from pipeline.hudi.errors import NotAHudiTable, StorageFault
from pipeline.hudi.listing import list_status
from pipeline.hudi.plan import plan
from pipeline.hudi.replicate import HudiReplicationResult, plan_replication, run_replication
from pipeline.hudi.spark_reader import HadoopStorage, read, storage_for
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
]
hdfs = test_hdfs.hdfs


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


def test_without_spark_the_error_names_the_reason(hdfs: str) -> None:
    with pytest.raises(StorageFault, match="not on a local file system"):
        open_table(f"{hdfs}/t", LocalStorage())
    with pytest.raises(NotAHudiTable):
        open_table(f"{hdfs}/t", HadoopStorage(open_session("local[2]")))
