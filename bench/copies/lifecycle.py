"""Measures a lifecycle server: partitions replicated a second, and the eviction of many partitions.

    python -m bench.copies.lifecycle [--partitions 1000] [--evicted 10000] [--together 200]

One embedded metastore on Derby, local disk, Spark `local[2]`, one small file in each partition. The
times are those of the whole server: instances, looks, copies, registrations and their store.
Targets: 10 partitions a second, and 60 s for the eviction of 10,000.
"""

import argparse
import getpass
import os
import tempfile
import time
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

from bench.copies.copy import seconds
from bench.copies.copy_metadata import MetastoreAlone
from conf.names import TableRef
from conf.topology import Endpoint
from metastore.client.metastore_client import HmsClient
from metastore.client.types import Database, Partition, Table
from pipeline.falcon.entities.identity import EntityKey, Kind
from pipeline.processes.commands import Programs
from pipeline.scheduler import entity_service
from pipeline.scheduler.actions.cluster_actions import ClusterActions
from pipeline.scheduler.clock import SetClock
from pipeline.scheduler.instances.instance import InstanceAction
from pipeline.scheduler.instances.states import InstanceState
from pipeline.scheduler.server import SchedulerServer
from pipeline.scheduler.store.store import Store
from pipeline.spark.session import open_session
from pipeline.spark.spark_files import SparkFiles

HOUR = timedelta(hours=1)
START = datetime(2020, 1, 1, tzinfo=UTC)
SOURCE, REPLICA = TableRef("bench", "hourly"), TableRef("bench", "replica")
OLD = TableRef("bench", "old")
COLUMNS = (("a", "int"),)
PATTERN = "${YEAR}-${MONTH}-${DAY}-${HOUR}"
CLUSTER = """<cluster colo="here" name="{name}" xmlns="uri:falcon:cluster:0.1"><interfaces>
<interface type="readonly" endpoint="file:///" version="1"/>
<interface type="write" endpoint="file:///" version="1"/>
<interface type="registry" endpoint="thrift://{metastore}" version="1"/></interfaces>
<locations><location name="staging" path="/tmp"/></locations></cluster>"""
FEED = """<feed name="{name}" xmlns="uri:falcon:feed:0.1"><frequency>hours(1)</frequency>
<timezone>UTC</timezone><clusters>{clusters}</clusters>
<table uri="catalog:{table.db}:{table.name}#ds={pattern}"/>
<ACL/><schema location="" provider="hcatalog"/>
<properties><property name="partitionsPerRun" value="{together}"/>
<property name="timeout" value="days(1000)"/></properties></feed>"""
ON = """<cluster name="{name}" type="{role}">
<validity start="2020-01-01T00:00Z" end="{end:%Y-%m-%dT%H:%MZ}"/>
<retention limit="{limit}" action="delete"/>{table}</cluster>"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--partitions", type=int, default=1000, help="replicated")
    parser.add_argument("--evicted", type=int, default=10_000)
    parser.add_argument("--together", type=int, default=200, help="partitionsPerRun of the feed")
    args = parser.parse_args()
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f} before the start")
    with tempfile.TemporaryDirectory(prefix="causeway-lifecycle-bench-") as name:
        folder = Path(name)
        with MetastoreAlone(folder / "stack", ()) as stack:
            bench = Bench(folder, stack.ports.metastore)
            bench.replicate(args.partitions, args.together)
            bench.evict(args.evicted)


class Bench:
    """A store with two clusters, which share a metastore, and the server's actions."""

    def __init__(self, folder: Path, metastore: Endpoint) -> None:
        self.folder = folder
        self.client = HmsClient((metastore,), 600.0, user=getpass.getuser())
        self.client.create_database(Database.make("bench", (folder / "bench").as_uri()))
        files = SparkFiles(open_session("local[2]", {"spark.driver.memory": "1g"}))
        self.actions = ClusterActions(lambda: files, Programs("spark-submit"))
        self.store = Store(str(folder / "lifecycle.db"))
        for name in ("east", "west"):
            self.submit(CLUSTER.format(name=name, metastore=metastore), START)

    def submit(self, document: str, now: datetime) -> None:
        user = getpass.getuser()
        entity_service.submit(self.store, document.encode(), user, now, lambda *_: ())

    def schedule(self, name: str, now: datetime) -> None:
        key, user = EntityKey(Kind.FEED, name), getpass.getuser()
        entity_service.schedule(self.store, key, user, now, lambda _: None, lambda *_: ())

    def serve(self, now: datetime) -> float:
        """Seconds until nothing is left to do at that time."""
        with SchedulerServer(self.store, self.actions, SetClock(now), "bench") as server:
            return seconds(lambda: server.until_idle(patience=7200))

    def ended(self, name: str, action: InstanceAction) -> list[InstanceState]:
        found = self.store.instances(EntityKey(Kind.FEED, name))
        return [each.state for each in found if each.key.schedule.action is action]

    def replicate(self, count: int, together: int) -> None:
        """Measures a catch-up over `count` hours, without the first ones, which warm up."""
        warm = min(20, count)
        now = START + (count + warm - 1) * HOUR
        self.table(SOURCE, count + warm)
        other = f'<table uri="catalog:{REPLICA.db}:{REPLICA.name}#ds={PATTERN}"/>'
        ends = now + HOUR
        clusters = (
            ON.format(name="east", role="source", end=ends, limit="months(1000)", table=""),
            ON.format(name="west", role="target", end=ends, limit="months(1000)", table=other),
        )
        document = FEED.format(
            name="copied",
            table=SOURCE,
            clusters="".join(clusters),
            together=together,
            pattern=PATTERN,
        )
        self.submit(document, START)
        self.schedule("copied", START)
        self.serve(START + (warm - 1) * HOUR)
        taken = self.serve(now)
        check(self.ended("copied", InstanceAction.REPLICATE), count + warm)
        rate = count / taken
        print(f"replication of {count} partitions: {taken:.1f} s, {rate:.1f} a second (target 10)")

    def evict(self, count: int) -> None:
        self.table(OLD, count)
        now = START + (count + 24) * HOUR
        cluster = ON.format(name="east", role="source", end=now, limit="hours(2)", table="")
        self.submit(feed("old", OLD, cluster, 1), now)
        self.schedule("old", now)
        taken = self.serve(now)
        check(self.ended("old", InstanceAction.EVICT), 1)
        left = self.client.get_partition_names(OLD)
        assert left == [], f"{len(left)} partitions are left"
        print(f"eviction of {count} partitions: {taken:.1f} s (target 60 for 10,000)")

    def table(self, ref: TableRef, count: int) -> None:
        """A table with a partition for each hour from START on."""
        place = self.folder / ref.db / ref.name
        began = time.perf_counter()
        table = Table.make(
            ref,
            COLUMNS,
            location=place.as_uri(),
            partition_keys=(("ds", "string"),),
            owner=getpass.getuser(),
        )
        self.client.create_table(table)
        parts = []
        for number in range(count):
            value = f"{START + number * HOUR:%Y-%m-%d-%H}"
            day = place / f"ds={value}"
            day.mkdir(parents=True)
            (day / "part").write_text(str(number))
            parts.append(Partition.make(table, (value,), day.as_uri(), {}))
        for first in range(0, count, 1000):
            self.client.add_partitions(ref, parts[first : first + 1000])
        print(f"{ref} with {count} partitions made in {time.perf_counter() - began:.1f} s")


def feed(name: str, table: TableRef, clusters: str, together: int) -> str:
    """The feed's document."""
    return FEED.format(
        name=name, table=table, clusters=clusters, together=together, pattern=PATTERN
    )


def check(states: Sequence[InstanceState], count: int) -> None:
    assert list(states) == [InstanceState.SUCCEEDED] * count, states


if __name__ == "__main__":
    main()
