"""Copies and replicas with real metastores, files and Spark, also of runs that are killed."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from cli.main import main
from cli.stack.java import find_java
from cli.stack.plan import jvm
from cli.stack.stack import free_ports, spark_home
from conf.names import TableRef
from conf.placement import read_partition_placement, read_placement
from metastore.client.types import Database, Partition, Table
from metastore.errors import AlreadyExists
from metastore.view.inbound.ownership import OrphanFolder
from metastore.view.server.orphans_store import OrphanLog
from pipeline.copy.copy_catalog import ObjectCatalog
from pipeline.copy.files import CopyOptions
from pipeline.copy.job_context import CopyLimits, JobContext
from pipeline.replication.plan import ReplicationRequest
from pipeline.replication.run import read_replication, run_replication
from pipeline.spark.jar import guard_jar
from tests.e2e.support.metastores import C1, C2, MetastoreAlone
from tests.e2e.support.standalone import standalone_variables

pytestmark = pytest.mark.e2e

FILES = 40
SIZE = 200_000


@pytest.fixture
def west(alone: MetastoreAlone) -> MetastoreAlone:
    return alone


@pytest.fixture(scope="module")
def east(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MetastoreAlone]:
    with MetastoreAlone(tmp_path_factory.mktemp("east")) as running:
        yield running


@pytest.fixture(scope="module")
def files() -> Any:
    from pipeline.spark.session import open_session
    from pipeline.spark.spark_files import SparkFiles

    return SparkFiles(open_session("local[2]"))


def table(stack: MetastoreAlone, ref: TableRef, days: dict[str, int]) -> Path:
    """A table of `days` partitions with that many files each; its directory."""
    folder = stack.layout.warehouse(C1) / f"{ref.db}.db" / ref.name
    with stack.client() as client:
        with contextlib.suppress(AlreadyExists):
            client.create_database(Database.make(ref.db, folder.parent.as_uri()))
        made = Table.make(
            ref, (("a", "string"),), location=folder.as_uri(), partition_keys=(("ds", "string"),)
        )
        client.create_table(made)
        parts = []
        for day, count in days.items():
            place = folder / f"ds={day}"
            place.mkdir(parents=True)
            for number in range(count):
                (place / f"part-{number:03d}").write_bytes(os.urandom(SIZE))
            parts.append(Partition.make(made, (day,), f"file://{place}", {}))
        client.add_partitions(ref, parts)
    return folder


def fresh(stack: MetastoreAlone, ref: TableRef) -> dict[str, Path]:
    """The folders of the fresh copies in C2, by partition."""
    found = {}
    with stack.client() as client:
        described = client.get_table(ref)
        placed = read_placement(described.parameters, C1)
        for partition in client.get_all_partitions(ref):
            name = partition.name(described)
            placement = read_partition_placement(partition.parameters, placed, name)
            copy = placement.copy_in(C2)
            if copy is not None and placement.is_fresh(copy):
                found[name] = Path(urlsplit(copy.location).path)
    return found


def content(folder: Path) -> dict[str, bytes]:
    return {each.name: each.read_bytes() for each in folder.iterdir()}


def causeway(*words: str) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, "-m", "cli.main", *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_killed_again_and_again_it_sends_no_file_twice(west: MetastoreAlone) -> None:
    ref = TableRef("killed", "t")
    source = table(west, ref, {"1": FILES, "2": FILES})
    words = ["copy", str(ref), "--conf", str(west.layout.settings), "--to", C2, "--json"]
    # Slow, so that it dies in the middle: 16 MB at 1 MB a second. The JVM outlives its Python
    # for a moment and writes on, in a directory that the next run has taken from it.
    sent: list[int] = []
    yard = west.layout.warehouse(C2) / "causeway-copies" / "killed.db" / "t"
    for files_there in (5, 45):
        run = causeway(*words, "--bandwidth", "1m", "--master", "local[2]")
        deadline = time.monotonic() + 120
        while len(done(yard)) < files_there and time.monotonic() < deadline and run.poll() is None:
            assert fresh(west, ref) == {}, "nothing is published before all is there"
            time.sleep(0.05)
        assert run.poll() is None, "it must die in the middle"
        os.kill(run.pid, signal.SIGKILL)
        run.communicate()
        sent.append(len(done(yard)))
    last = causeway(*words)
    out, problem = last.communicate(timeout=300)
    assert last.returncode == 0, problem
    report = json.loads(out.splitlines()[-1])
    assert report["files_kept"] >= sent[-1]
    assert report["files_sent"] == 2 * FILES - report["files_kept"]
    for name, folder in fresh(west, ref).items():
        assert content(folder) == content(source / name)
    assert len(fresh(west, ref)) == 2
    assert main(["copy", "verify", str(ref), "--conf", str(west.layout.settings)]) == 0


def done(yard: Path) -> list[Path]:
    return [each for each in yard.glob("*/*/part-*") if each.is_file()]


def test_a_copy_that_differs_is_found(west: MetastoreAlone, capsys: Any) -> None:
    ref = TableRef("differs", "t")
    table(west, ref, {"1": 2})
    conf = ["--conf", str(west.layout.settings)]
    assert main(["copy", str(ref), "--to", C2, *conf]) == 0
    assert main(["copy", "verify", str(ref), *conf]) == 0
    copy = fresh(west, ref)["ds=1"] / "part-000"
    body = bytearray(copy.read_bytes())
    body[1000] ^= 1
    copy.write_bytes(bytes(body))
    capsys.readouterr()
    assert main(["copy", "verify", str(ref), "--no-checksum", *conf]) == 0
    assert main(["copy", "verify", str(ref), *conf]) == 1
    assert "differs: part-000" in capsys.readouterr().out
    assert main(["copy", str(ref), "--to", C2, "--again", *conf]) == 0
    assert main(["copy", "verify", str(ref), *conf]) == 0


def test_a_sweep_deletes_what_was_replaced(west: MetastoreAlone) -> None:
    ref = TableRef("swept", "t")
    table(west, ref, {"1": 2})
    conf = ["--conf", str(west.layout.settings)]
    assert main(["copy", str(ref), "--to", C2, *conf]) == 0
    old = fresh(west, ref)["ds=1"]
    assert main(["copy", str(ref), "--to", C2, "--again", *conf]) == 0
    assert old.exists()
    assert main(["copy", "sweep", str(ref), "--to", C2, "--grace", "0", *conf]) == 0
    assert not old.exists()
    assert fresh(west, ref)["ds=1"].exists()


def test_a_sweep_deletes_what_drops_left(
    west: MetastoreAlone, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ref = TableRef("left", "t")
    table(west, ref, {"1": 2})
    conf = ["--conf", str(west.layout.settings)]
    assert main(["copy", str(ref), "--to", C2, *conf]) == 0
    used, gone = fresh(west, ref)["ds=1"], west.layout.warehouse(C2) / "elsewhere" / "gone"
    gone.mkdir(parents=True)
    (gone / "file").write_text("rows")
    log = OrphanLog(tmp_path / "leftovers.jsonl")
    for what, place in (("left.old", used), ("left.gone", gone)):
        entry = log.begin((OrphanFolder(what, C2, f"file://{place}"),))
        log.end(entry, dropped=True)
    capsys.readouterr()
    sweep = ["copy", "sweep", "--grace", "0", "--leftovers", str(tmp_path / "leftovers.jsonl")]
    assert main([*sweep, *conf]) == 0
    out = capsys.readouterr().out
    assert "orphans of drops: 1 deleted, 1 kept" in out
    assert f"{ref}@ds=1 uses it" in out
    assert not gone.exists()
    assert used.exists()


def test_replication_between_two_metastores(
    west: MetastoreAlone, east: MetastoreAlone, files: Any
) -> None:
    source, target = (
        TableRef("src_demo_db", "customer_raw"),
        TableRef("tgt_demo_db", "customer_bcp"),
    )
    folder = table(west, source, {"2013-09-24-00": 3, "2013-09-24-01": 2})
    (folder / "ds=2013-09-24-00").chmod(0o751)
    there = east.layout.warehouse(C1) / "tgt_demo_db.db"
    with west.client() as one, east.client() as other:
        other.create_database(Database.make("tgt_demo_db", there.as_uri()))
        spec = (("ds", "2013-09-24-00"),)
        request = ReplicationRequest(source, target, ((spec, spec),))
        tools, limits = JobContext(files), CopyLimits(grace=0)
        report = run_replication(
            read_replication(request, one, other, files), one, other, tools, CopyOptions(), limits
        )
        assert report.published == ["ds=2013-09-24-00"]
        [partition] = other.get_all_partitions(target)
        place = Path(urlsplit(partition.location).path)
        assert content(place) == content(folder / "ds=2013-09-24-00")
        assert place.stat().st_mode & 0o777 == 0o751
        assert not read_replication(request, one, other, files).items
        (folder / "ds=2013-09-24-00" / "late").write_bytes(b"late")
        run_replication(
            read_replication(request, one, other, files), one, other, tools, CopyOptions(), limits
        )
        [partition] = other.get_all_partitions(target)
        assert content(Path(urlsplit(partition.location).path))["late"] == b"late"
        assert [each.name for each in there.glob("customer_bcp/_causeway/*/ds=*")] == [
            "ds=2013-09-24-00"
        ]


def test_eviction_on_a_real_metastore(west: MetastoreAlone, files: Any) -> None:
    from datetime import UTC, datetime, timedelta

    from pipeline.retention.partition_dates import read_date_pattern
    from pipeline.retention.plan import RetentionPolicy, plan_retention
    from pipeline.retention.run import candidates, run_retention

    ref = TableRef("evicted", "t")
    folder = table(west, ref, {"2014-01-01": 1, "2014-01-09": 1})
    assert main(["copy", str(ref), "--to", C2, "--conf", str(west.layout.settings)]) == 0
    copies = fresh(west, ref)
    policy = RetentionPolicy(
        ref, read_date_pattern((("ds", "${YEAR}-${MONTH}-${DAY}"),)), timedelta(days=5)
    )
    with west.client() as client:
        objects = ObjectCatalog(client, C1)
        plan = plan_retention(
            policy, candidates(objects, policy), datetime(2014, 1, 10, tzinfo=UTC)
        )
        events: list[Any] = []
        run_retention(plan, client, objects, files, events.extend)
        assert client.get_partition_names(ref) == ["ds=2014-01-09"]
    assert sorted(each.name for each in folder.glob("ds=*")) == ["ds=2014-01-09"]
    assert [copies[name].exists() for name in ("ds=2014-01-01", "ds=2014-01-09")] == [False, True]
    assert len(events) == 2


@pytest.fixture
def standalone(tmp_path: Path) -> Iterator[str]:
    """A standalone Spark master with two workers of one core; its URL."""
    port = free_ports(1)[0].port
    base = "org.apache.spark.deploy"
    java = [*jvm(find_java(), "300m", tmp_path), "-cp", f"{spark_home() / 'jars'}/*"]
    url = f"spark://127.0.0.1:{port}"
    commands = [["master.Master", "--host", "127.0.0.1", "--port", str(port), "--webui-port", "0"]]
    worker = ["worker.Worker", "--cores", "1", "--memory", "600m", "--webui-port", "0"]
    commands += [[*worker, "--work-dir", str(tmp_path / f"w{n}"), url] for n in (1, 2)]
    running = []
    environment = os.environ | standalone_variables()
    try:
        for number, (name, *rest) in enumerate(commands):
            with (tmp_path / f"{number}.log").open("wb") as log:
                words = [*java, f"{base}.{name}", *rest]
                running.append(subprocess.Popen(words, stdout=log, stderr=log, env=environment))
        yield url
    finally:
        for process in running:
            process.terminate()
        for process in running:
            process.wait(30)


def test_on_a_standalone_master_with_two_workers(
    west: MetastoreAlone, standalone: str, tmp_path: Path
) -> None:
    ref = TableRef("standalone", "t")
    source = table(west, ref, {"1": FILES})
    words = ["--conf", str(west.layout.settings), "--json", "--master", standalone]
    words += ["--spark-conf", "spark.executor.memory=470m", "--spark-conf", "spark.cores.max=2"]
    words += ["--spark-conf", "spark.driver.host=127.0.0.1", "--parallelism", "8"]
    # No task before both workers' executors are there: one alone may do all of them.
    words += ["--spark-conf", "spark.scheduler.minRegisteredResourcesRatio=1.0"]
    words += ["--spark-conf", "spark.scheduler.maxRegisteredResourcesWaitingTime=200s"]
    run = causeway("copy", str(ref), "--to", C2, *words)
    out, problem = run.communicate(timeout=300)
    assert run.returncode == 0, problem
    assert json.loads(out.splitlines()[-1])["files_sent"] == FILES
    assert content(fresh(west, ref)["ds=1"]) == content(source / "ds=1")
    fetched = list(tmp_path.glob(f"w*/app-*/*/{guard_jar().name}"))
    assert len(fetched) == 2, "executors of both workers ran tasks"
