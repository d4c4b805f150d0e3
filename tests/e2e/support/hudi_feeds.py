"""The lifecycle with a feed of a Hudi table, whose replicas are in two metastores."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from bench.copies.lifecycle_demo import EXAMPLES
from cli.main import main
from cli.stack.stack import Stack
from conf.names import ClusterName, TableRef
from metastore.client.types import Database
from tests.e2e.conftest import run_sql
from tests.e2e.support.hudi_clusters import METADATA
from tests.e2e.support.metastores import MetastoreAlone

HITS = TableRef("feeds", "hits")
FEED = """<?xml version="1.0"?>
<feed name="hits" xmlns="uri:falcon:feed:0.1">
  <frequency>hours(1)</frequency>
  <clusters>
    <cluster name="c1" type="source">
      <validity start="2024-01-01T00:00Z" end="2024-01-01T12:00Z"/>
      <retention limit="days(9999)" action="delete"/>
    </cluster>
    {targets}
  </clusters>
  <table uri="catalog:feeds:hits#ds=${{YEAR}}-${{MONTH}}-${{DAY}}-${{HOUR}}"/>
  <ACL owner="x"/>
  <schema location="" provider="hcatalog"/>
</feed>
"""
TARGET = """<cluster name="{name}" type="target">
      <validity start="2024-01-01T00:00Z" end="2024-01-01T12:00Z"/>
      <retention limit="days(9999)" action="delete"/>
    </cluster>"""
AGED = FEED.replace('name="hits"', 'name="aged"').replace("days(9999)", "hours(1)")


class Feeds:
    """The lifecycle with a feed of `feeds.hits` from c1 to c2, and to c3 in a metastore of its
    own."""

    def __init__(self, stack: Stack, other: MetastoreAlone, folder: Path) -> None:
        self.stack, self.other, self.folder = stack, other, folder
        self.store = ["--store", str(folder / "l.db")]
        metastores = {
            "c1": stack.ports.metastore, "c2": stack.ports.metastore, "c3": other.ports.metastore,
        }  # fmt: skip
        for name, metastore in metastores.items():
            local = other if name == "c3" else stack
            values = {
                "name": name,
                "colo": name,
                "filesystem": local.layout.filesystem(ClusterName(name)),
                "hiveserver": str(stack.ports.hs2.get(ClusterName(name), "none:1")),
                "metastore": f"thrift://{metastore}",
            }
            sets = [word for key, value in values.items() for word in ("--set", f"{key}={value}")]
            self.run("entity", "submit", str(EXAMPLES / "cluster.xml"), *sets)
        targets = "".join(TARGET.format(name=name) for name in ("c2", "c3"))
        (folder / "feed.xml").write_text(FEED.format(targets=targets))
        self.run("entity", "submit", str(folder / "feed.xml"))
        self.run("entity", "schedule", "feed", "hits", "--at", "2024-01-01T00:00Z")

    def run(self, *words: str) -> None:
        assert main([*words, *self.store]) == 0

    def serve(self, hour: int) -> None:
        words = ["--once", "--default-cluster", "c1", "--master", "local[2]"]
        words += ["--conf", str(self.stack.layout.settings)]  # to notify the proxy
        self.run("lifecycle", "serve", *words, "--at", f"2024-01-01T{hour:02}:00Z")


@contextmanager
def running_feeds(stack: Stack, folder: Path) -> Iterator[Feeds]:
    """Makes the table `feeds.hits` and the other metastore, and yields the scheduled feed."""
    run_sql(
        stack,
        "CREATE DATABASE feeds",
        "USE CLUSTER c1",
        "CREATE TABLE feeds.hits (id INT, v STRING, ts BIGINT, ds STRING) USING hudi "
        "PARTITIONED BY (ds)"
        f" TBLPROPERTIES (primaryKey = 'id', preCombineField = 'ts', {METADATA})",
        "INSERT INTO feeds.hits VALUES (1, 'a', 1, '2024-01-01-00'), (2, 'b', 1, '2024-01-01-01')",
    )
    with MetastoreAlone(folder / "other") as other:
        with other.client() as client:
            client.create_database(Database.make("feeds", f"file://{folder}/other/feeds.db"))
        yield Feeds(stack, other, folder)
