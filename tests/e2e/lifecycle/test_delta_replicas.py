"""A feed replicates a Delta table to another table with copies of its own; Delta reads both."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyhive.exc import OperationalError

from cli.main import main
from cli.stack.plan import StackSpec
from cli.stack.stack import Stack, free_ports
from pipeline.spark.jar import SPARK_MAJOR, guard_jar
from tests.e2e.conftest import C1, C2, run_sql
from tests.e2e.support.interpreted import INTERPRETED
from tests.e2e.support.jars import fetch_jar
from tests.e2e.support.lake import ARTIFACTS, DELTA
from tests.e2e.support.lake_feeds import LakeFeeds

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.long,
    pytest.mark.skipif(SPARK_MAJOR >= 4, reason="Delta has no jar for Spark 4.3"),
]


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    jars = tuple(fetch_jar(each) for each in ARTIFACTS)
    own = {C1: DELTA, C2: DELTA}
    spec = StackSpec(
        (*own,), free_ports(1)[0], guard=guard_jar(), jars=jars, spark=INTERPRETED, own=own
    )
    with Stack(spec, tmp_path_factory.mktemp("lake")) as running:
        run_sql(running, "CREATE DATABASE lake")
        yield running


def test_each_instance_replaces_the_replica_and_ends_its_copies(
    lake: Stack, tmp_path: Path
) -> None:
    feeds, everything = LakeFeeds(lake, tmp_path), "SELECT * FROM lake.far ORDER BY id"
    feeds.submit_clusters()
    run_sql(
        lake,
        f"USE CLUSTER {C1}",
        "CREATE TABLE lake.near (id INT, p STRING) USING delta PARTITIONED BY (p)"
        " TBLPROPERTIES ('delta.enableDeletionVectors' = 'true')",
        "INSERT INTO lake.near SELECT /*+ COALESCE(1) */ id, 'a b' FROM range(3)",
    )
    location = f"{lake.layout.filesystem(C2)}/lake.db/far"
    to_other = {
        "other": '<table uri="catalog:lake:far#*"/>',
        "properties": "<properties>"
        f'<property name="targetLocation" value="{location}"/></properties>',
    }
    assert feeds.submit("far", C1, C2, "catalog:lake:near#*", **to_other) == 0
    feeds.schedule("far", "2024-01-01T00:00Z")
    feeds.serve("2024-01-01T00:00Z")
    endpoints = ["--endpoints", str(lake.layout.endpoints)]
    assert main(["table", "assign", *endpoints, "lake.far", "--primary", C2]) == 0
    copy = f"ALTER TABLE lake.far COPY {C2} TO {C1}"
    now = [(0, "a b"), (1, "a b"), (2, "a b")]
    assert run_sql(lake, f"USE CLUSTER {C2}", everything) == now
    assert run_sql(lake, copy, f"USE CLUSTER {C1}", everything) == now
    run_sql(
        lake,
        "DELETE FROM lake.near WHERE id = 1",
        "ALTER TABLE lake.near ADD COLUMN w INT",
        "INSERT INTO lake.near VALUES (3, 'c', 7)",
    )
    assert run_sql(lake, f"USE CLUSTER {C2}", everything) == now, "until the next instance"
    feeds.serve("2024-01-01T01:00Z")
    after = [(0, "a b", None), (2, "a b", None), (3, "c", 7)]
    away = lake.layout.warehouse(C1) / "lake.db" / "near"
    away.rename(away.with_name("away"))
    assert run_sql(lake, f"USE CLUSTER {C2}", everything) == after
    with pytest.raises(OperationalError, match=r"CW105.*lake.far is stale"):
        run_sql(lake, f"USE CLUSTER {C1}", everything)
    assert run_sql(lake, copy, f"USE CLUSTER {C1}", everything) == after
