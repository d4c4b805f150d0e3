"""A JVM with the agent that executes a test's commands (`file_writes.py`)."""

import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from cli.stack.java import find_java
from cli.stack.stack import spark_home
from tests.class_archive import class_path

PROGRAM = Path(__file__).with_name("file_writes.py")


class Program:
    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self._process = process

    def __call__(self, *words: Any) -> str:
        """Executes a command. Returns its error, empty without one, or its result."""
        assert self._process.stdin is not None
        print(*words, file=self._process.stdin, flush=True)
        return self.reply()

    def reply(self) -> str:
        assert self._process.stdout is not None
        return next(line for line in self._process.stdout if line.startswith(":"))[1:].strip()


@contextmanager
def program(
    folder: Path,
    jar: Path,
    *ports: int,
    classpath: Sequence[Path] = (),
    settings: Sequence[str] = (),
) -> Iterator[Program]:
    (folder / "conf").mkdir()
    (folder / "conf" / "spark-defaults.conf").write_text(
        f"spark.driver.extraClassPath {class_path(jar, *classpath)}\n"
        f"spark.driver.extraJavaOptions -javaagent:{jar}\n" + "\n".join(settings)
    )
    environment = os.environ | {
        "SPARK_CONF_DIR": str(folder / "conf"),
        "SPARK_HOME": str(spark_home()),
        "JAVA_HOME": str(find_java().parents[1]),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "PYSPARK_PYTHON": sys.executable,
    }
    uris = ",".join(f"thrift://127.0.0.1:{port}" for port in ports)
    with (
        (folder / "log").open("w") as log,
        subprocess.Popen(
            [sys.executable, str(PROGRAM), uris, str(folder)],
            env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True,
        ) as process,
    ):  # fmt: skip
        running = Program(process)
        assert running.reply() == ""
        yield running
