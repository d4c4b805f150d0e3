"""A real HDFS in one process.

It needs hadoop-client-minicluster of Spark's own Hadoop version, from Maven Central:
`mvn dependency:get -Dartifact=org.apache.hadoop:hadoop-client-minicluster:3.3.4`.
"""

import os
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from cli.stack.java import find_java
from cli.stack.stack import spark_home

NAME = "hadoop-client-minicluster"


def minicluster() -> Path:
    """The jar that matches Spark's Hadoop; skips where it is not there."""
    client = next((spark_home() / "jars").glob("hadoop-client-api-*.jar")).stem
    version = client.rpartition("-")[2]
    home = Path.home() / ".m2/repository/org/apache/hadoop" / NAME / version
    jar = Path(os.environ.get("CAUSEWAY_MINICLUSTER", home / f"{NAME}-{version}.jar"))
    if not jar.is_file():
        pytest.skip(f"no HDFS to test with: {jar} is not there")
    return jar


@contextmanager
def running_hdfs(
    folder: Path, settings: Sequence[Path] = (), options: Sequence[str] = ()
) -> Iterator[dict[str, str]]:
    """The ports of a name node on 127.0.0.1: `port` for hdfs and `http` for webhdfs.

    `settings` are files in Hadoop's XML, `options` are Java's.
    """
    classpath = f"{minicluster()}{os.pathsep}{spark_home() / 'jars'}/*"
    source = Path(__file__).with_name("MiniHdfs.java")
    command = [str(find_java()), "-Xmx512m", f"-Dhadoop.log.dir={folder}", *options]
    command += ["-cp", classpath, "org.codehaus.janino.SimpleCompiler", str(source), "MiniHdfs"]
    command += [str(folder), *map(str, settings)]
    with (
        (folder / "log").open("wb") as log,
        subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True
        ) as process,
    ):
        assert process.stdout is not None
        assert process.stdin is not None
        ports: dict[str, str] = {}
        for line in process.stdout:
            name, _, value = line.strip().partition(" ")
            ports[name] = value
            if name == "port":
                break
        assert "port" in ports, (folder / "log").read_text()[-2000:]
        yield ports
        process.stdin.close()
        process.wait(60)
