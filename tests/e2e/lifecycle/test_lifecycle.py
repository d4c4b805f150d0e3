"""Feeds and processes on real stacks: the specification's example, and secondary copies."""

from pathlib import Path
from typing import Protocol

import pytest

from bench.copies import lifecycle_demo
from cli.main import main
from cli.stack.stack import Stack

pytestmark = pytest.mark.e2e

EXAMPLES = lifecycle_demo.EXAMPLES
FEED = """<?xml version="1.0"?>
<feed name="hits" xmlns="uri:falcon:feed:0.1">
  <frequency>hours(1)</frequency>
  <clusters>
    <cluster name="c1" type="source">
      <validity start="2024-01-01T00:00Z" end="2024-02-01T00:00Z"/>
      <retention limit="hours(3)" action="delete"/>
    </cluster>
    <cluster name="c2" type="target">
      <validity start="2024-01-01T00:00Z" end="2024-02-01T00:00Z"/>
      <retention limit="hours(2)" action="delete"/>
    </cluster>
  </clusters>
  <table uri="catalog:lifecycle:hits#ds=${YEAR}-${MONTH}-${DAY}-${HOUR}"/>
  <ACL owner="x"/>
  <schema location="" provider="hcatalog"/>
</feed>
"""


class Sql(Protocol):
    def __call__(self, *statements: str) -> list[tuple[object, ...]]: ...


def test_the_demo_holds(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert lifecycle_demo.main(["--dir", str(tmp_path)]) == 0
    output = capfd.readouterr().out
    for line in (
        "768 instances are planned",
        "both tables hold the same rows",
        "the primary keeps 05:00 on",
        "the copy keeps everything",
        "the day's partition is written again",
    ):
        assert f"-> {line}" in output


def test_clusters_of_one_metastore_get_secondary_copies(
    stack: Stack, sql: Sql, tmp_path: Path
) -> None:
    """Queries are routed to the lifecycle's copies. Retention deletes old copies, not primaries."""
    sql(
        "CREATE DATABASE lifecycle",
        "USE CLUSTER c1",
        "CREATE TABLE lifecycle.hits (id BIGINT) PARTITIONED BY (ds STRING) STORED AS PARQUET",
        *(
            f"INSERT INTO lifecycle.hits PARTITION (ds='2024-01-01-0{hour}') SELECT id"
            f" FROM range({hour + 1})"
            for hour in range(3)
        ),
    )
    store = ["--store", str(tmp_path / "l.db")]
    for cluster in ("c1", "c2"):
        values = {
            "name": cluster,
            "colo": cluster,
            "filesystem": stack.layout.filesystem(cluster),  # type: ignore[arg-type]
            "hiveserver": str(stack.ports.hs2[cluster]),  # type: ignore[index]
            "metastore": f"thrift://{stack.ports.metastore}",
        }
        sets = [word for name, value in values.items() for word in ("--set", f"{name}={value}")]
        assert main(["entity", "submit", str(EXAMPLES / "cluster.xml"), *sets, *store]) == 0
    (tmp_path / "feed.xml").write_text(FEED)
    assert main(["entity", "submit", str(tmp_path / "feed.xml"), *store]) == 0
    at = ["--at", "2024-01-01T02:00Z"]
    assert main(["entity", "schedule", "feed", "hits", *at, *store]) == 0
    serve = ["lifecycle", "serve", "--once", "--default-cluster", "c1", "--master", "local[2]"]
    serve += ["--conf", str(stack.layout.settings)]  # to notify the proxy
    assert main([*serve, *at, *store]) == 0
    count = "SELECT ds, count(*) FROM lifecycle.hits GROUP BY ds ORDER BY ds"
    everything = [(f"2024-01-01-0{hour}", hour + 1) for hour in range(3)]
    assert sql("USE CLUSTER c2", count) == everything
    assert sql("USE CLUSTER c1", count) == everything

    assert main([*serve, "--at", "2024-01-01T04:00Z", *store]) == 0
    one = "SELECT count(*) FROM lifecycle.hits WHERE ds = '2024-01-01-0{}'"
    assert sql("USE CLUSTER c1", one.format(1)) == [(2,)], "hours(3) at the primary"
    assert sql("USE CLUSTER c2", one.format(2)) == [(3,)]
    with pytest.raises(Exception, match="2024-01-01-01"):
        sql("USE CLUSTER c2", one.format(1))
    left = [row[0] for row in sql("USE CLUSTER c1", "SHOW PARTITIONS lifecycle.hits")]
    assert left == ["ds=2024-01-01-01", "ds=2024-01-01-02"]
