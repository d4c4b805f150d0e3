"""A Spark job past the proxy is killed. Its mark ends when Spark's master says that it ended."""

import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from urllib.request import urlopen

import pytest

from cli.stack.java import find_java
from cli.stack.stack import free_ports
from conf.names import ClusterName, TableRef
from metastore.client.metastore_client import HmsClient
from metastore.placement.placement_store import PlacementStore
from tests.class_archive import class_path
from tests.e2e.support import own_executor, secured_metastore
from tests.e2e.support.standalone import standalone_variables

pytestmark = [pytest.mark.e2e, pytest.mark.long]
T = TableRef("default", "t")
WEST = ClusterName("west")
PROGRAM = """\
from pyspark.sql import SparkSession

spark = SparkSession.builder.enableHiveSupport().getOrCreate()
spark.sql("CREATE TABLE t (a BIGINT) USING parquet")
spark.sql("INSERT INTO t SELECT id FROM range(1) WHERE "
          "java_method('java.lang.Thread', 'sleep', 600000L) IS NULL")
"""


@contextmanager
def process(words: list[str], log: Path, **more: object) -> "Iterator[subprocess.Popen[bytes]]":
    with log.open("wb") as output:
        started = subprocess.Popen(words, stdout=output, stderr=output, **more)  # type: ignore[call-overload]
        try:
            yield started
        finally:
            started.kill()
            started.wait()


def becomes(found: Callable[[], object], seconds: float) -> None:
    end = time.monotonic() + seconds
    while not found():
        assert time.monotonic() < end
        time.sleep(0.5)


def test_the_mark_of_a_killed_job_ends_after_a_minute(tmp_path: Path) -> None:
    master, ui, listening, worker_port, worker_ui = free_ports(5)
    java = [str(find_java()), "-Xmx300m", "-cp", str(class_path())]
    deploy, url = "org.apache.spark.deploy", f"http://127.0.0.1:{ui.port}"
    own = standalone_variables()
    for name in ("hms", "view", "job"):
        (tmp_path / name).mkdir()
    settings = tmp_path / "view" / "causeway.toml"
    with ExitStack() as running:
        metastore = running.enter_context(secured_metastore.metastore(tmp_path / "hms", None))
        settings.write_text(f"""\
hive.metastore.uris = "thrift://{metastore}"
hive.default.cluster.name = "west"
[hive.cluster.properties.west]
FileSystem = "file:{tmp_path}/view/west"
JobTracker = "h:1"
MetastoreView = "{listening}"
SparkMaster = "{url}"
""")

        def start(name: str, *words: str) -> None:
            running.enter_context(process(list(words), tmp_path / f"{name}.log", env=own))

        address = ["--host", "127.0.0.1"]
        first = [*address, "--port", str(master.port), "--webui-port", str(ui.port)]
        start("master", *java, f"{deploy}.master.Master", *first)
        becomes(lambda: answers(url), 60)
        second = [*address, "--port", str(worker_port.port), "--webui-port", str(worker_ui.port)]
        second += ["--cores", "1", "--memory", "700m", "--work-dir", str(tmp_path / "work")]
        spark = f"spark://127.0.0.1:{master.port}"
        start("worker", *java, f"{deploy}.worker.Worker", *second, spark)
        serve = [sys.executable, "-m", "cli.main", "metastore", "serve", "--conf", str(settings)]
        running.enter_context(process(serve, tmp_path / "view" / "log"))
        defaults = {"spark.master": spark}
        environment = own_executor.configured(tmp_path / "job", listening, defaults=defaults)
        (tmp_path / "job" / "program.py").write_text(PROGRAM)
        client = running.enter_context(HmsClient((metastore,), 30.0))
        store = PlacementStore(client, WEST)
        with process(
            [sys.executable, "program.py"],
            tmp_path / "job" / "log",
            env=environment,
            cwd=tmp_path / "job",
            start_new_session=True,
        ) as job:
            becomes(lambda: is_written(store), 120)
            (mark,) = store.table(T)[1].open
            assert mark.application.startswith("app-")
            subprocess.run(["pkill", "-9", "-s", str(job.pid)], check=True)
        ended = time.monotonic()
        becomes(lambda: not is_written(store), 150)
        assert time.monotonic() - ended > 55
        log = (tmp_path / "view" / "log").read_text()
        assert "marks of the dead writer" in log
        assert "in default.t removed" in log


def answers(url: str) -> bool:
    try:
        with urlopen(f"{url}/json/") as reply:
            return bool(json.load(reply)["status"])
    except OSError:
        return False


def is_written(store: PlacementStore) -> bool:
    return T.name in store.client.get_all_tables(T.db) and store.table(T)[1].writing
