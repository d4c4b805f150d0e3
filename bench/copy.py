"""Copies against `cp -r` and DistCp, registration against bare add_partitions, reruns, retention.

    python -m bench.copy [--files 2000] [--size 2500000] [--rounds 3] [--distcp JAR]
    python -m bench.copy --metadata [--partitions 1000] [--rerun 10000]

Ways are measured in turn, round by round; ratios are medians over rounds of the same round's
pairs, since the machine's speed drifts. The Spark session is open and has carried one file before
the first measurement.
"""

import argparse
import os
import shutil
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path

from cli.stack.java import find_java
from cli.stack.plan import Service, StackSpec, jvm, metastore_service
from cli.stack.stack import Stack, spark_home
from conf.names import ClusterName, TableRef
from metastore.hms.client import HmsClient
from metastore.hms.nouns import Database, Partition, Table
from pipeline.copy.files import Effort, Order
from pipeline.copy.placing import Objects, Publication
from pipeline.copy.plan import plan_copy
from pipeline.copy.replica_plan import Replication
from pipeline.copy.replicate import read_replication, run_replication
from pipeline.copy.workshop import Limits, Tools
from pipeline.retention.dating import read_dating
from pipeline.retention.plan import Candidate, Policy, plan_retention
from pipeline.spark.carrier import SparkFiles
from pipeline.spark.session import open_session

C1, C2 = ClusterName("c1"), ClusterName("c2")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--files", type=int, default=2000)
    parser.add_argument("--size", type=int, default=2_500_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--distcp", type=Path, help="hadoop-distcp's jar")
    parser.add_argument("--metadata", action="store_true")
    parser.add_argument("--partitions", type=int, default=1000)
    parser.add_argument("--rerun", type=int, default=10_000)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="causeway-copy-bench-") as folder:
        if args.metadata:
            metadata(Path(folder), args.partitions, args.rerun)
        else:
            throughput(Path(folder), args.files, args.size, args.rounds, args.distcp)


def throughput(folder: Path, count: int, size: int, rounds: int, distcp: Path | None) -> None:
    """Bytes of `count` files through each way."""
    source, target = folder / "source", folder / "target"
    source.mkdir()
    block = os.urandom(size)
    for number in range(count):
        (source / f"part-{number:05d}").write_bytes(block[number:] + block[:number])
    session = open_session("local[2]", {"spark.driver.memory": "1g"})
    files = SparkFiles(session)
    ways: dict[str, Callable[[], object]] = {
        "cp -r": lambda: subprocess.run(["cp", "-r", source, target], check=True),
        "copy": lambda: carry(files, source, target, checksum=False),
        "copy, checksums read back": lambda: carry(files, source, target, checksum=True),
    }
    if distcp is not None:
        ways["DistCp, local mode"] = lambda: run_distcp(distcp, folder, source, target)
    carry(files, source, target, checksum=True, most=1)
    taken: dict[str, list[float]] = {way: [] for way in ways}
    for _ in range(rounds):
        for way, go in ways.items():
            shutil.rmtree(target, ignore_errors=True)
            os.sync()
            began = time.perf_counter()
            go()
            taken[way].append(time.perf_counter() - began)
    total = count * size / 1e9
    print(f"{total:.1f} GB in {count} files, {rounds} rounds, {os.cpu_count()} cores")
    for way, seconds in taken.items():
        ratios = [a / b for a, b in zip(taken["cp -r"], seconds, strict=True)]
        spread = f"{min(seconds):.2f}..{max(seconds):.2f}"
        median, ratio = statistics.median(seconds), statistics.median(ratios)
        print(f"{way:<28} {median:6.2f} s ({spread})  {ratio:.2f} x cp -r")


def carry(files: SparkFiles, source: Path, target: Path, *, checksum: bool, most: int = 0) -> None:
    [listing] = files.listings([source.as_uri()])
    assert listing is not None
    entries = listing.files[: most or None]
    orders = [Order(source.as_uri(), target.as_uri(), entry) for entry in entries]
    outcomes = files.carry(orders, Effort(checksum=checksum))
    assert {outcome.verdict.value for outcome in outcomes} == {"sent"}


def run_distcp(jar: Path, folder: Path, source: Path, target: Path) -> None:
    """Hadoop's own tool on Spark's jars, its job run in this one process."""
    java, home = find_java(), spark_home()
    words = [*jvm(java, "2g", folder), "-cp", f"{jar}{os.pathsep}{home / 'jars'}/*"]
    words += ["org.apache.hadoop.tools.DistCp", "-m", "2", source.as_uri(), target.as_uri()]
    subprocess.run(words, check=True, capture_output=True, cwd=folder)


class MetastoreAlone(Stack):
    """The embedded stack's metastore without its Thrift Servers."""

    def _plan(self) -> list[Service]:
        return [metastore_service(find_java(), spark_home(), self.layout, self.ports)]


def metadata(folder: Path, partitions: int, rerun: int) -> None:
    with MetastoreAlone(StackSpec((C1, C2)), folder / "stack") as stack:
        client = HmsClient((stack.ports.metastore,), 600.0)
        files = SparkFiles(open_session("local[2]"))
        registration(client, files, folder, partitions)
        nothing_to_do(client, folder, rerun)
    retention()


def registration(client: HmsClient, files: SparkFiles, folder: Path, count: int) -> None:
    """A bare add_partitions and a replication's registration, in turn."""
    pairs = [one_registration(client, files, folder, f"bare{n}", count) for n in range(2)]
    bare, ours = zip(*pairs, strict=True)
    print(f"bare add_partitions of {count}: {statistics.median(bare):.1f} s")
    ratio = statistics.median([b / a for a, b in pairs])
    print(f"registration by replication: {statistics.median(ours):.1f} s, {ratio:.2f} x bare")


def one_registration(
    client: HmsClient, files: SparkFiles, folder: Path, db: str, count: int
) -> tuple[float, float]:
    """Seconds of the bare call, and of the rounds' publishing in a replication of the same."""
    client.create_database(Database.make(db, (folder / db).as_uri()))
    table, parts = partitions_of(client, TableRef(db, "t"), folder, count)
    bare = seconds(lambda: client.add_partitions(table.ref, parts))
    request = Replication(table.ref, TableRef(db, "replica"))
    plan = read_replication(request, client, client, files)
    times = [(time.perf_counter(), "")]
    tools = Tools(
        files, emit=lambda event: times.append((time.perf_counter(), str(event["event"])))
    )
    total = seconds(lambda: run_replication(plan, client, client, tools, Effort(), Limits()))
    print(f"replication of {count} partitions in all: {total:.1f} s")
    steps = pairwise(times)
    return bare, sum(now - before for (before, _), (now, name) in steps if name == "published")


def nothing_to_do(client: HmsClient, folder: Path, count: int) -> None:
    """`causeway copy` of a table all of whose copies are fresh; and an estimate of publishing."""
    client.create_database(Database.make("rerun", (folder / "rerun").as_uri()))
    table, parts = partitions_of(client, TableRef("rerun", "t"), folder, count)
    client.add_partitions(table.ref, parts)
    objects = Objects(client, C1)
    state = objects.table(table.ref)
    found = objects.objects(state, objects.names(state))
    news = [Publication(e.name, e.location, e.placement.version, f"{e.location}-c2") for e in found]
    print(
        f"publishing {count} copies: {seconds(lambda: objects.publish(table.ref, C2, news)):.1f} s"
    )

    def plan() -> None:
        state = objects.table(table.ref)
        made = plan_copy(state, objects.objects(state, objects.names(state)), C2, "file:///yard")
        assert (len(made.items), made.fresh) == (0, count)

    print(f"planning a copy of {count} fresh partitions: {seconds(plan):.2f} s")


def retention(count: int = 100_000) -> None:
    dating = read_dating((("ds", "${YEAR}-${MONTH}-${DAY}-${HOUR}"), ("region", "us")))
    now = datetime(2024, 1, 1, tzinfo=UTC)
    names = [
        f"ds={now - timedelta(hours=hour):%Y-%m-%d-%H}/region={region}"
        for hour in range(count // 2)
        for region in ("us", "in")
    ]
    policy = Policy(TableRef("db", "t"), dating, timedelta(days=30))
    taken = seconds(lambda: plan_retention(policy, [Candidate(name) for name in names], now))
    print(f"planning retention over {count} partitions: {taken:.2f} s")


def partitions_of(
    client: HmsClient, ref: TableRef, folder: Path, count: int
) -> tuple[Table, list[Partition]]:
    """A new table and partitions of it that are not yet added, each with one small file."""
    place = folder / ref.db / ref.name
    table = Table.make(
        ref, (("a", "int"),), location=place.as_uri(), partition_keys=(("ds", "string"),)
    )
    client.create_table(table)
    parts = []
    for number in range(count):
        day = place / f"ds={number:05d}"
        day.mkdir(parents=True)
        (day / "part").write_text(str(number))
        parts.append(Partition.make(table, (f"{number:05d}",), f"file://{day}", {}))
    return table, parts


def seconds(go: Callable[[], object]) -> float:
    began = time.perf_counter()
    go()
    return time.perf_counter() - began


if __name__ == "__main__":
    main()
