"""A Spark with Hudi's bundle in a process of its own: the writer and the oracle of the tests.

In a process of its own, because a JVM's class path cannot be changed once it runs and other
tests have their own. Run as a program it answers JSON lines: {"do": name, ...} -> {"ok": ...}.
"""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from pipeline.hudi.errors import StorageFault
from pipeline.hudi.spark_target import fetch_bundle
from tests.class_archive import class_path
from tests.json_lines import JsonLines

Row = list[str]
ROOT = Path(__file__).parents[3]
BUNDLES = ROOT / ".causeway" / "jars"


class HudiSpark:
    """The test's side: a call is one command to the process."""

    def __init__(self, jar: Path, scratch: Path) -> None:
        self._log = os.open(scratch / "spark.log", os.O_CREAT | os.O_WRONLY)
        process = subprocess.Popen(
            [sys.executable, __file__, str(jar), str(scratch)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._log, text=True,
            env={**os.environ, "PYSPARK_PYTHON": sys.executable, "PYTHONPATH": str(ROOT)},
        )  # fmt: skip
        self._lines = JsonLines(process, "Spark has died; its log is in the test's folder")

    def __call__(self, do: str, **how: Any) -> Any:
        self._lines.tell({"do": do, **how})
        return self._lines.ok()

    @classmethod
    def start(cls, scratch: Path) -> "HudiSpark":
        """Starts the process. Skips the test if the bundle cannot be fetched."""
        try:
            return cls(fetch_bundle(BUNDLES), scratch)
        except StorageFault as fault:
            pytest.skip(f"no Hudi bundle: {fault}")

    def close(self) -> None:
        self._lines.close()
        os.close(self._log)


def _serve(jar: str, scratch: str) -> None:
    from pipeline.hudi.spark_reader import SESSION_CONF
    from pipeline.spark.jar import guard_jar_or_none
    from pipeline.spark.session import open_session

    spark = open_session(
        "local[2]",
        {
            **SESSION_CONF,
            "spark.driver.extraClassPath": class_path(*filter(None, [jar, guard_jar_or_none()])),
            "spark.driver.memory": "1g",
            "spark.sql.shuffle.partitions": "2",
            "spark.sql.warehouse.dir": f"{scratch}/warehouse",
        },
    )
    spark.sparkContext.setLogLevel("ERROR")
    answers = _Answers(spark)
    for line in sys.stdin:
        command = json.loads(line)
        try:
            answer = {"ok": getattr(answers, command.pop("do"))(**command)}
        except Exception as error:  # any error: the test raises it
            answer = {"error": f"{type(error).__name__}: {str(error)[:2000]}"}
        print(json.dumps(answer), flush=True)
    spark.stop()


class _Answers:
    def __init__(self, spark: Any) -> None:
        self.spark = spark

    def list_status(
        self,
        paths: list[str],
        conf: dict[str, str],
        form: str = "org.apache.hudi.hadoop.HoodieParquetInputFormat",
    ) -> list[list[Any]]:
        """The files that an input format lists; Hudi's own is the oracle of HU-8."""
        jvm = self.spark._jvm
        job = jvm.org.apache.hadoop.mapred.JobConf(self.spark._jsc.hadoopConfiguration())
        for key, value in conf.items():
            job.set(key, value)
        where = self.spark.sparkContext._gateway.new_array(
            jvm.org.apache.hadoop.fs.Path, len(paths)
        )
        for number, path in enumerate(paths):
            where[number] = jvm.org.apache.hadoop.fs.Path(path)
        jvm.org.apache.hadoop.mapred.FileInputFormat.setInputPaths(job, where)
        kind = jvm.java.lang.Class.forName(form)
        found = jvm.org.apache.hadoop.util.ReflectionUtils.newInstance(kind, job).listStatus(job)
        return sorted([f.getPath().toUri().getPath(), f.getLen()] for f in found)

    def incremental(self, base: str, since: str, until: str | None) -> list[Row]:
        """Spark's own incremental query."""
        reader = self.spark.read.format("hudi")
        reader = reader.option("hoodie.datasource.query.type", "incremental")
        reader = reader.option("hoodie.datasource.read.begin.instanttime", since)
        if until is not None:
            reader = reader.option("hoodie.datasource.read.end.instanttime", until)
        return _rows(reader.load(base))

    def changed(self, base: str, since: str, until: str | None, by_tasks: bool) -> list[Row]:
        """Causeway's reader: in the driver, as for small changes, or in tasks."""
        from pipeline.hudi import spark_reader as hudi

        kept = hudi.SMALL
        hudi.SMALL = -1 if by_tasks else kept
        try:
            return _rows(hudi.read(self.spark, base, since, until))
        finally:
            hudi.SMALL = kept

    def snapshot(self, base: str) -> list[Row]:
        return _rows(self.spark.read.format("hudi").load(base))

    def sql(self, text: str) -> None:
        self.spark.sql(text)

    def write(self, base: str, rows: list[Any], schema: str, options: dict[str, str]) -> None:
        frame = self.spark.createDataFrame([tuple(row) for row in rows], schema).coalesce(1)
        frame.write.format("hudi").options(**options).mode("append").save(base)

    def undo(self, base: str, options: dict[str, str], to: str, last: str, restore: bool) -> None:
        """Rolls the commit `last` back, or restores the table as of the commit `to`."""
        jvm = self.spark._jvm
        settings = jvm.java.util.HashMap()
        for key, value in (options | {"hoodie.write.auto.upgrade": "false"}).items():
            settings.put(key, value)
        builder = jvm.org.apache.hudi.config.HoodieWriteConfig.newBuilder()
        config = builder.withPath(base).withProps(settings).build()
        context = jvm.org.apache.hudi.client.common.HoodieSparkEngineContext(self.spark._jsc)
        client = jvm.org.apache.hudi.client.SparkRDDWriteClient(context, config)
        try:
            if restore:
                client.savepoint(to, "test", "test")
                client.restoreToSavepoint(to)
            else:
                client.rollback(last)
        finally:
            client.close()

    def pull(self, source: str, target: str, mode: str) -> dict[str, Any]:
        import dataclasses

        from pipeline.hudi.pull import DEFAULT_KEY, PullMode
        from pipeline.hudi.spark_target import pull_into

        done = pull_into(self.spark, source, target, PullMode(mode), DEFAULT_KEY, "earliest")
        return dataclasses.asdict(done)


def _rows(frame: Any) -> list[Row]:
    """Every column but the file's name and sequence number, as text, in a fixed order."""
    skip = {"_hoodie_file_name", "_hoodie_commit_seqno"}
    names = sorted(name for name in frame.columns if name not in skip)
    return sorted([f"{n}={row[n]}" for n in names] for row in frame.select(names).collect())


if __name__ == "__main__":
    _serve(*sys.argv[1:])
