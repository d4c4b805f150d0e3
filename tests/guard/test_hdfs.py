"""The agent protects a real HDFS by all its names and schemes, and from FileContext."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from cli.stack.java import find_java
from cli.stack.stack import spark_home
from tests.class_archive import class_path
from tests.pipeline.spark.minihdfs import running_hdfs

pytestmark = pytest.mark.slow
PROGRAM = Path(__file__).with_name("hdfs_writes.py")


def test_hdfs_of_another_cluster_is_not_written_by_any_name(tmp_path: Path, jar: Path) -> None:
    (tmp_path / "hdfs").mkdir()
    with running_hdfs(tmp_path / "hdfs") as ports:
        output = run_attempts(tmp_path, jar, ports)
    assert output["left"] == 0
    results = output["results"]
    assert len(results) > 15
    reads = {name for name in results if name.startswith("read")}
    assert {name: results[name] for name in reads if results[name]} == {}
    not_refused = {n: text for n, text in results.items() if n not in reads and "CW350" not in text}
    assert not not_refused, not_refused


def run_attempts(folder: Path, jar: Path, ports: dict[str, str]) -> dict[str, object]:
    """Runs `hdfs_writes.py` and returns its output."""
    (folder / "conf").mkdir()
    (folder / "conf" / "spark-defaults.conf").write_text(
        f"spark.driver.extraClassPath {class_path(jar)}\n"
        f"spark.driver.extraJavaOptions -javaagent:{jar}\n"
    )
    environment = os.environ | {
        "SPARK_CONF_DIR": str(folder / "conf"),
        "SPARK_HOME": str(spark_home()),
        "JAVA_HOME": str(find_java().parents[1]),
        "SPARK_LOCAL_IP": "127.0.0.1",
    }
    argv = [sys.executable, str(PROGRAM), str(folder), ports["port"], ports["http"]]
    done = subprocess.run(
        argv, env=environment, capture_output=True, text=True, timeout=240, check=False
    )
    assert done.returncode == 0, done.stderr[-3000:]
    output: dict[str, object] = json.loads(done.stdout.splitlines()[-1])
    return output
