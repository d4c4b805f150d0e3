"""Measures registering partitions against bare add_partitions, reruns with nothing to do, and
planning of retention.

    python -m bench.copies.copy_metadata [--partitions 1000] [--rerun 10000] [--postgresql JDBC_JAR]

The metastore is the embedded one on Derby. With PostgreSQL's JDBC driver, it uses a PostgreSQL
server that this program starts instead (`initdb` and `pg_ctl` on PATH).
"""

import argparse
import os
import shutil
import statistics
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path

from bench.copies.copy import seconds
from cli.stack.java import find_java
from cli.stack.plan import Service, StackSpec, metastore_service
from cli.stack.stack import Stack, free_ports, spark_home
from conf.names import ClusterName, TableRef
from conf.placement import Copy, Placement, replace_placement
from metastore.client.metastore_client import HmsClient
from metastore.client.types import Database, Partition, Table
from pipeline.copy.copy_catalog import DataObject, ObjectCatalog, Publication
from pipeline.copy.files import CopyOptions
from pipeline.copy.job_context import CopyLimits, JobContext
from pipeline.copy.plan import plan_copy
from pipeline.replication.plan import ReplicationRequest
from pipeline.replication.run import read_replication, run_replication
from pipeline.retention.partition_dates import read_date_pattern
from pipeline.retention.plan import Candidate, RetentionPolicy, plan_retention
from pipeline.spark.jar import guard_jar
from pipeline.spark.session import open_session
from pipeline.spark.spark_files import SparkFiles

C1, C2 = ClusterName("c1"), ClusterName("c2")
PUBLISHED = 500


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--partitions", type=int, default=1000)
    parser.add_argument("--rerun", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--postgresql", type=Path, metavar="JAR", help="PostgreSQL's JDBC driver")
    args = parser.parse_args()
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f} before the start")
    with tempfile.TemporaryDirectory(prefix="causeway-copy-bench-") as folder:
        with database(args.postgresql) as options:
            metadata(Path(folder), options, args.partitions, args.rerun, args.rounds)
        retention()


@contextmanager
def database(driver: Path | None) -> Iterator[tuple[str, ...]]:
    """The options of the metastore's JVM for its database; none for Derby, the default."""
    if driver is None:
        yield ()
        return
    home = Path(tempfile.mkdtemp(prefix="causeway-pg-"))
    as_user: list[str] = []
    if os.geteuid() == 0:  # PostgreSQL refuses to run as root
        as_user = ["runuser", "-u", "nobody", "--"]
        home.chmod(0o777)
    port = free_ports(1)[0].port
    control = [*as_user, "pg_ctl", "-D", f"{home}/data", "-w"]
    quiet = subprocess.DEVNULL
    made = [*as_user, "initdb", "-D", f"{home}/data", "-U", "causeway", "-A", "trust"]
    subprocess.run(made, check=True, stdout=quiet)
    options = f"-k {home} -p {port} -c listen_addresses=127.0.0.1"
    started = [*control, "-o", options, "-l", f"{home}/data/log", "start"]
    subprocess.run(started, check=True, stdout=quiet)
    try:
        prefix = "-Djavax.jdo.option.Connection"
        yield (
            str(driver),
            f"{prefix}URL=jdbc:postgresql://127.0.0.1:{port}/postgres",
            f"{prefix}DriverName=org.postgresql.Driver",
            f"{prefix}UserName=causeway",
        )
    finally:
        subprocess.run([*control, "-m", "immediate", "stop"], stdout=quiet)
        shutil.rmtree(home, ignore_errors=True)


class MetastoreAlone(Stack):
    """The embedded stack's metastore without its Thrift Servers, on the given database."""

    def __init__(self, folder: Path, database: tuple[str, ...]) -> None:
        super().__init__(StackSpec((C1, C2)), folder)
        self._database = database

    def _plan(self) -> list[Service]:
        service = metastore_service(find_java(), spark_home(), guard_jar(), self.layout, self.ports)
        if not self._database:
            return [service]
        driver, *options = self._database
        java, *rest = service.argv
        place = rest.index("-cp") + 1
        rest[place] += f"{os.pathsep}{driver}"
        return [replace(service, argv=(java, *options, *rest))]


def metadata(
    folder: Path, database: tuple[str, ...], partitions: int, rerun: int, rounds: int
) -> None:
    with MetastoreAlone(folder / "stack", database) as stack:
        client = HmsClient((stack.ports.metastore,), 600.0)
        files = SparkFiles(open_session("local[2]"))
        registration(client, files, folder, partitions, rounds)
        nothing_to_do(client, folder, rerun)


def registration(
    client: HmsClient, files: SparkFiles, folder: Path, count: int, rounds: int
) -> None:
    """Measures a bare add_partitions and a replication's registration, in turn."""
    one_registration(client, files, folder, "first", min(count, 100))
    pairs = [one_registration(client, files, folder, f"bare{n}", count) for n in range(rounds)]
    bare, ours = zip(*pairs, strict=True)
    print(f"bare add_partitions of {count}: {statistics.median(bare):.1f} s")
    ratio = statistics.median([b / a for a, b in pairs])
    print(f"registration by replication: {statistics.median(ours):.1f} s, {ratio:.2f} x bare")


def one_registration(
    client: HmsClient, files: SparkFiles, folder: Path, db: str, count: int
) -> tuple[float, float]:
    """The seconds of the bare call, and of publishing the same partitions in a replication."""
    client.create_database(Database.make(db, (folder / db).as_uri()))
    table, parts = partitions_of(client, TableRef(db, "t"), folder, count)
    bare = seconds(lambda: client.add_partitions(table.ref, parts))
    request = ReplicationRequest(table.ref, TableRef(db, "replica"))
    plan = read_replication(request, client, client, files)
    times = [(time.perf_counter(), "")]
    context = JobContext(
        files, emit=lambda event: times.append((time.perf_counter(), str(event["event"])))
    )
    total = seconds(
        lambda: run_replication(plan, client, client, context, CopyOptions(), CopyLimits())
    )
    print(f"replication of {count} partitions in all: {total:.1f} s")
    steps = pairwise(times)
    return bare, sum(now - before for (before, _), (now, name) in steps if name == "published")


def nothing_to_do(client: HmsClient, folder: Path, count: int) -> None:
    """Measures publishing some copies, and `causeway copy` of a table with only fresh copies."""
    client.create_database(Database.make("rerun", (folder / "rerun").as_uri()))
    table, parts = partitions_of(client, TableRef("rerun", "t"), folder, count)
    objects = ObjectCatalog(client, C1)
    client.add_partitions(table.ref, parts[:PUBLISHED])
    news = [
        Publication(e.name, e.location, e.placement.version, f"{e.location}-c2")
        for e in all_of(objects, table.ref)
    ]
    taken = seconds(lambda: objects.publish(table.ref, C2, news))
    print(f"publishing {len(news)} copies: {taken:.1f} s")
    [version] = {each.of for each in news}
    for part in parts[PUBLISHED:]:
        copied = Placement(C1).with_copy(Copy(C2, f"{part.location}-c2", version))
        part.parameters = replace_placement({}, copied)
    client.add_partitions(table.ref, parts[PUBLISHED:])

    def plan() -> None:
        made = plan_copy(
            objects.table(table.ref), all_of(objects, table.ref), C2, "file:///staging"
        )
        assert (len(made.items), made.fresh) == (0, count)

    times = [seconds(plan) for _ in range(3)]
    print(f"a rerun with nothing to do over {count}: {statistics.median(times):.2f} s")


def all_of(objects: ObjectCatalog, ref: TableRef) -> list[DataObject]:
    state = objects.table(ref)
    return objects.objects(state, objects.names(state))


def retention(count: int = 100_000) -> None:
    dating = read_date_pattern((("ds", "${YEAR}-${MONTH}-${DAY}-${HOUR}"), ("region", "us")))
    now = datetime(2024, 1, 1, tzinfo=UTC)
    names = [
        f"ds={now - timedelta(hours=hour):%Y-%m-%d-%H}/region={region}"
        for hour in range(count // 2)
        for region in ("us", "in")
    ]
    policy = RetentionPolicy(TableRef("db", "t"), dating, timedelta(days=30))
    taken = seconds(lambda: plan_retention(policy, [Candidate(name) for name in names], now))
    print(f"planning retention over {count} partitions: {taken:.2f} s")


def partitions_of(
    client: HmsClient, ref: TableRef, folder: Path, count: int
) -> tuple[Table, list[Partition]]:
    """A new table, and partitions that are not added yet, each with one small file."""
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


if __name__ == "__main__":
    main()
