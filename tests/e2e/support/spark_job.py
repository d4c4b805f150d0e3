"""A user's Spark program in one cluster, in a JVM with the cluster's settings and the guard:
DataFrame writers, streams and RDDs instead of SQL through a Thrift Server.

As a program it replies to JSON lines: {"do": name, ...} -> {"ok": ...} or {"error": ...}.
"""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from types import MappingProxyType
from typing import Any

from cli.stack.java import find_java
from cli.stack.stack import Stack, spark_home
from conf.names import ClusterName
from pipeline.spark.jar import guard_jar
from tests.class_archive import class_path
from tests.json_lines import JsonLines


class SparkJob:
    """The test's side: a call is one command. Raises RuntimeError with Spark's error."""

    def __init__(
        self,
        stack: Stack,
        cluster: ClusterName,
        scratch: Path,
        master: str = "local[2]",
        settings: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        scratch.mkdir(parents=True, exist_ok=True)
        jars = [str(each) for each in (guard_jar(), *stack.spec.jars)]
        self._log = os.open(scratch / "spark.log", os.O_CREAT | os.O_WRONLY)
        environment = {
            "PYSPARK_PYTHON": sys.executable,
            "PYTHONPATH": str(Path(__file__).parents[3]),
            "SPARK_HOME": str(spark_home()),
            "SPARK_CONF_DIR": str(stack.layout.conf(cluster)),
            "SPARK_LOCAL_IP": "127.0.0.1",
            "SPARK_WORKER_DIR": str(scratch),
            "JAVA_HOME": str(find_java().parents[1]),
        }
        self._process = subprocess.Popen(
            [sys.executable, __file__, os.pathsep.join(jars), str(scratch), master,
             json.dumps(dict(settings))],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._log, text=True,
            env={**os.environ, **environment}, start_new_session=True,
        )  # fmt: skip
        ended = "Spark has died; its log is in the test's folder"
        self._lines = JsonLines(self._process, ended)

    def begin(self, do: str, **how: Any) -> None:
        """Sends a command and does not wait for its reply."""
        self._lines.tell({"do": do, **how})

    def kill(self) -> None:
        """Ends Spark and its driver as a crash does."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait(60)
        with suppress(BrokenPipeError):
            self._process.stdin.close()
        self._process.stdout.close()
        os.close(self._log)

    def __call__(self, do: str, **how: Any) -> Any:
        self.begin(do, **how)
        return self._lines.ok()

    def close(self) -> None:
        self._lines.close()
        os.close(self._log)


class _SlowListener:
    """A slow listener of Spark, whose queue calls all listeners one after the other."""

    seconds = 0.0

    def onOtherEvent(self, event: object) -> None:
        time.sleep(self.seconds)

    def __getattr__(self, name: str) -> Callable[[object], None]:
        if name.startswith("on"):
            return lambda event: None
        raise AttributeError(name)

    class Java:
        implements = ("org.apache.spark.scheduler.SparkListenerInterface",)


class _Answers:
    def __init__(self, spark: Any, scratch: str) -> None:
        self._spark = spark
        self._scratch = scratch
        self._streams = 0
        self._stream: Any = None
        self._listener: _SlowListener | None = None

    def sql(self, text: str) -> list[list[Any]]:
        return [list(row) for row in self._spark.sql(text).collect()]

    def save(self, path: str, mode: str, rows: list[list[Any]], columns: list[str]) -> None:
        self._frame(rows, columns).write.mode(mode).parquet(path)

    def save_hudi(self, path: str, options: dict[str, str], row: list[Any]) -> None:
        kinds = "id int, v string, ts bigint"
        frame = self._spark.createDataFrame([tuple(row)], kinds).coalesce(1)
        frame.write.format("hudi").options(**options).mode("append").save(path)

    def insert_into(self, table: str, rows: list[list[Any]], columns: list[str]) -> None:
        self._frame(rows, columns).write.insertInto(table)

    def save_as_table(self, table: str, rows: list[list[Any]], columns: list[str]) -> None:
        self._frame(rows, columns).write.mode("append").format("parquet").saveAsTable(table)

    def save_as_text(self, path: str) -> None:
        self._spark.sparkContext.parallelize(["1"], 1).saveAsTextFile(path)

    def save_as_hadoop(self, path: str) -> None:
        self._spark.sparkContext.parallelize([("1", "1")], 1).saveAsNewAPIHadoopFile(
            path, "org.apache.hadoop.mapreduce.lib.output.TextOutputFormat"
        )

    def slow_listeners(self, seconds: float) -> None:
        """From now on Spark's listeners receive the ends of commands later by so many seconds."""
        if self._listener is None:
            from pyspark.java_gateway import ensure_callback_server_started

            ensure_callback_server_started(self._spark.sparkContext._gateway)
            self._listener = _SlowListener()
            self._spark.sparkContext._jsc.sc().addSparkListener(self._listener)
        self._listener.seconds = seconds

    def create(self, path: str) -> None:
        """Opens a new file, which `close` closes."""
        self._stream = self._file_system(path).create(self._path(path))
        self._stream.writeBytes("1")

    def close(self) -> None:
        self._stream.close()

    def create_in_context(self, path: str) -> None:
        """Creates a file by FileContext."""
        jvm = self._spark.sparkContext._jvm
        flags = jvm.java.util.EnumSet.of(jvm.org.apache.hadoop.fs.CreateFlag.CREATE)
        options = self._spark.sparkContext._gateway.new_array(
            jvm.org.apache.hadoop.fs.Options.CreateOpts, 0
        )
        jvm.org.apache.hadoop.fs.FileContext.getFileContext().create(
            self._path(path), flags, options
        ).close()

    def delete(self, path: str) -> None:
        assert self._file_system(path).delete(self._path(path), True)

    def rename(self, path: str, to: str) -> None:
        assert self._file_system(path).rename(self._path(path), self._path(to))

    def _path(self, path: str) -> Any:
        return self._spark.sparkContext._jvm.org.apache.hadoop.fs.Path(path)

    def _file_system(self, path: str) -> Any:
        settings = self._spark.sparkContext._jsc.hadoopConfiguration()
        return self._path(path).getFileSystem(settings)

    def stream(self, rows: list[int], path: str | None = None, table: str | None = None) -> None:
        """Copies a folder of rows into a path or a table, by a stream that ends."""
        self._streams += 1
        source = f"{self._scratch}/stream{self._streams}"
        self._frame([[row] for row in rows], ["a"]).write.parquet(f"{source}/in")
        stream = self._spark.readStream.schema("a int").parquet(f"{source}/in")
        writer = stream.writeStream.format("parquet").trigger(availableNow=True)
        writer = writer.option("checkpointLocation", f"{source}/checkpoint")
        query = writer.toTable(table) if table else writer.start(path)
        query.awaitTermination(60)

    def _frame(self, rows: list[list[Any]], columns: list[str]) -> Any:
        kinds = ", ".join(f"{name} {'int' if name == 'a' else 'string'}" for name in columns)
        return self._spark.createDataFrame([tuple(row) for row in rows], kinds).coalesce(1)


def _serve(jars: str, scratch: str, master: str, settings: str) -> None:
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master(master)
    builder = builder.config("spark.driver.extraClassPath", class_path(jars))
    builder = builder.config("spark.driver.memory", "1g").config("spark.local.dir", scratch)
    builder = builder.config("spark.executor.memory", "512m")
    for name, value in json.loads(settings).items():
        builder = builder.config(name, value)
    spark = builder.enableHiveSupport().getOrCreate()
    spark.sparkContext.setLogLevel("WARN")
    answers = _Answers(spark, scratch)
    for line in sys.stdin:
        question = json.loads(line)
        try:
            answer = {"ok": getattr(answers, question.pop("do"))(**question)}
        except Exception as error:  # the test raises it
            answer = {"error": f"{type(error).__name__}: {str(error)[:20_000]}"}
        print(json.dumps(answer), flush=True)
    spark.stop()


if __name__ == "__main__":
    _serve(*sys.argv[1:])
