"""Pulls into Hudi tables by Spark: rows and bookmark are one commit, also if a pull is killed."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.support.hudi_spark import BUNDLES, HudiSpark

pytestmark = pytest.mark.e2e

WRITING = {
    "hoodie.table.name": "source",
    "hoodie.datasource.write.recordkey.field": "id",
    "hoodie.datasource.write.precombine.field": "ts",
    "hoodie.datasource.write.partitionpath.field": "p",
    "hoodie.metadata.enable": "false",
    "hoodie.embed.timeline.server": "false",
    "hoodie.write.markers.type": "DIRECT",
}
Rows = list[tuple[int, str, int, str]]


@pytest.fixture
def spark(hudi: HudiSpark) -> HudiSpark:
    return hudi


@pytest.fixture
def source(spark: HudiSpark, tmp_path: Path) -> str:
    base = str(tmp_path / "source")
    upsert(spark, base, [(1, "a", 1, "old"), (2, "b", 1, "old")])
    return base


@pytest.fixture
def target(spark: HudiSpark, tmp_path: Path) -> Iterator[str]:
    spark(
        "sql",
        text="CREATE TABLE target (id INT, p STRING, ts LONG, v STRING) USING hudi "
        f"PARTITIONED BY (p) LOCATION '{tmp_path / 'target'}' "
        "TBLPROPERTIES (primaryKey = 'id', preCombineField = 'ts', "
        "'hoodie.metadata.enable' = 'false')",
    )
    yield str(tmp_path / "target")
    spark("sql", text="DROP TABLE target")


def upsert(spark: HudiSpark, base: str, rows: Rows, operation: str = "upsert") -> None:
    options = WRITING | {"hoodie.datasource.write.operation": operation}
    schema = "id int, p string, ts long, v string"
    spark("write", base=base, rows=rows, schema=schema, options=options)


def values(spark: HudiSpark, base: str) -> list[tuple[str, str]]:
    """The pairs (id, v) of all rows."""
    found = []
    for row in spark("snapshot", base=base):
        cells = dict(cell.split("=", 1) for cell in row)
        found.append((cells["id"], cells["v"]))
    return sorted(found)


def test_merge_and_reload(spark: HudiSpark, source: str, target: str) -> None:
    def pull() -> dict[str, object]:
        return spark("pull", source=source, target=target, mode="merge")

    assert pull()["rows"] == 2
    upsert(spark, source, [(2, "b", 2, "new"), (3, "a", 2, "new")])
    assert pull()["rows"] == 2
    assert pull()["commits"] == 0
    assert values(spark, target) == [("1", "old"), ("2", "new"), ("3", "new")]
    upsert(spark, source, [(1, "a", 3, "old")], "delete")
    assert "deleted" in str(pull()["reloaded"])
    assert values(spark, target) == [("2", "new"), ("3", "new")]


def test_killed_while_it_writes(spark: HudiSpark, source: str, target: str) -> None:
    spark("pull", source=source, target=target, mode="append")
    upsert(spark, source, [(2, "b", 2, "new"), (3, "a", 2, "new")])
    command = [
        sys.executable, "-m", "cli.main", "incremental", "pull", source, target,
        "--conf", f"spark.sql.warehouse.dir={target}-warehouse",
    ]  # fmt: skip
    environment = {**os.environ, "CAUSEWAY_CACHE": str(BUNDLES.parent)}
    running = subprocess.Popen(command, env=environment, start_new_session=True)
    started = {p.name for p in (Path(target) / ".hoodie" / "timeline").glob("*.inflight")}
    while running.poll() is None:
        now = {p.name for p in (Path(target) / ".hoodie" / "timeline").glob("*.inflight")}
        if now - started:
            os.killpg(running.pid, signal.SIGKILL)
            break
        time.sleep(0.005)
    assert running.wait(60) == -signal.SIGKILL
    before = [("1", "old"), ("2", "old")]
    after = [("1", "old"), ("2", "new"), ("2", "old"), ("3", "new")]
    assert values(spark, target) in (before, after)
    spark("pull", source=source, target=target, mode="append")
    assert values(spark, target) == after
    assert spark("pull", source=source, target=target, mode="append")["rows"] == 0
