"""Pulls into tables that Spark writes: Hudi tables, and parquet tables of a metastore.

A Hudi target has the bookmark in the metadata of the commit with the rows, so both appear by the
rename that completes the commit. Hudi's next write rolls back a write that was killed.
"""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from pipeline.hudi.errors import StorageFault, TargetMismatch
from pipeline.hudi.folders.folder import PREFIX, PullMark, TargetFolder
from pipeline.hudi.folders.hdfs_folder import HdfsFolder
from pipeline.hudi.folders.local_folder import LocalFolder
from pipeline.hudi.folders.open_folder import open_folder
from pipeline.hudi.pull import PullMode, PullResult, PullStep, check_mark, next_step, pull
from pipeline.hudi.pull_lease import leased
from pipeline.hudi.spark_reader import (
    BUNDLE,
    SESSION_CONF,
    HadoopStorage,
    changed_rows,
    storage_for,
    table_location,
)
from pipeline.hudi.table.properties import HOODIE
from pipeline.hudi.table.storage import is_local, local_path
from pipeline.hudi.table.table import HudiTable, find_base, open_table
from pipeline.spark.jar import SPARK_MAJOR
from pipeline.spark.session import open_session
from pipeline.spark.spark_files import SparkFiles

_OPERATION = {PullMode.APPEND: "insert", PullMode.MERGE: "upsert"}


@contextmanager
def session(conf: Mapping[str, str], metastore: bool = False) -> Iterator[SparkSession]:
    """A session with Hudi, whose jar is fetched the first time. `conf` overrides its settings;
    `metastore`: tables have names.
    """
    # The executors must use the Python that has hudi-rs.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    jar = fetch_bundle(Path(os.environ.get("CAUSEWAY_CACHE", ".causeway")) / "jars")
    hudi = {**SESSION_CONF, "spark.driver.extraClassPath": str(jar)}
    if metastore:
        hudi["spark.sql.catalogImplementation"] = "hive"
    spark = open_session(conf={**hudi, **conf})
    try:
        yield spark
    finally:
        spark.stop()


def fetch_bundle(into: Path) -> Path:
    """The path of Hudi's jar for Spark, fetched from Maven Central the first time. Raises
    StorageFault; always under Spark 4, for which the jar is not.
    """
    if SPARK_MAJOR >= 4:
        raise StorageFault(f"{BUNDLE} is for Spark 3.5, not for Spark {SPARK_MAJOR}.")
    group, artifact, version = BUNDLE.split(":")
    jar = into / f"{artifact}-{version}.jar"
    if jar.exists():
        return jar
    into.mkdir(parents=True, exist_ok=True)
    command = ["mvn", "-q", "-B", "dependency:copy", f"-Dartifact={BUNDLE}"]
    try:
        # An incomplete download never has the final name.
        with TemporaryDirectory(dir=into.absolute()) as download:
            subprocess.run(
                [*command, f"-DoutputDirectory={download}"],
                check=True, capture_output=True, text=True, timeout=600,
            )  # fmt: skip
            Path(download, jar.name).replace(jar)
    except (OSError, subprocess.SubprocessError) as fault:
        raise StorageFault(f"cannot fetch {group}:{artifact}:{version}: {fault}.") from fault
    return jar


def pull_into(
    spark: SparkSession,
    source: str,
    target: str,
    mode: PullMode,
    key: tuple[str, ...],
    since: str,
    until: str | None = None,
    moved_from: str | None = None,
) -> PullResult:
    """Pulls into a Hudi table, or into the folder of a parquet table of the metastore.

    A Hudi target merges by its own record key. `moved_from` as in `pull`. Raises IncrementalError.
    """
    table = open_table(source, storage_for(spark, source))
    location = table_location(spark, target)
    if find_base(location, storage_for(spark, location)) != location:
        folder = _folder(spark, location)
        return pull(table, folder, mode, key, since, until, moved_from)
    with _locked(spark, location) as check_lock:
        mark = last_mark(open_table(location, storage_for(spark, location)))
        before = check_mark(mark, table, mode, moved_from, location)
        step = next_step(table, before, mode, since, until, location)
        if step.changes_nothing:
            return step.result(0)
        return _into_hudi(spark, step, location, mode, check_lock)


def _folder(spark: SparkSession, location: str) -> TargetFolder:
    """Raises StorageFault for a file system that may not rename in one step."""
    if location.startswith("hdfs://"):
        return HdfsFolder(location, HadoopStorage(spark), SparkFiles(spark))
    return open_folder(location, {}, dict(spark.sparkContext.getConf().getAll()))


def _into_hudi(
    spark: SparkSession, step: PullStep, target: str, mode: PullMode, check_lock: Callable[[], None]
) -> PullResult:
    rows = changed_rows(spark, step.reads)
    rows = rows.drop(*(c for c in rows.columns if c.startswith("_hoodie_"))).persist()
    try:
        count = rows.count()
        options = {
            "hoodie.datasource.write.operation": (
                "insert_overwrite_table" if step.reload else _OPERATION[mode]
            ),
            "hoodie.datasource.write.commitmeta.key.prefix": PREFIX,
            "hoodie.merge.allow.duplicate.on.inserts": "true",
            **step.mark.texts(),
        }
        check_lock()
        rows.write.format("hudi").options(**options).mode("append").save(target)
    except (PySparkException, Py4JError) as fault:
        raise StorageFault(f"cannot write {target}: {fault}") from fault
    finally:
        rows.unpersist()
    if last_mark(open_table(target, storage_for(spark, target))) != step.mark:
        raise StorageFault(f"{target}: the commit did not take place.")
    return step.result(count)


def last_mark(target: HudiTable) -> PullMark | None:
    """The mark of the newest commit with one in a Hudi target."""
    for commit in reversed(target.timeline.commits):
        mark = PullMark.of_texts(target.commit(commit).extra)
        if mark is not None:
            return mark
    if target.timeline.commits:
        raise TargetMismatch(f"{target.base} has rows, but no commit by a pull.")
    return None


@contextmanager
def _locked(spark: SparkSession, location: str) -> Iterator[Callable[[], None]]:
    """Allows one pull at a time. Yields a function that raises PullRunning when the lock was lost.
    Raises PullRunning, StorageFault.
    """
    if is_local(location):
        with LocalFolder(Path(local_path(location)) / HOODIE).locked():
            yield lambda: None
    else:
        with leased(SparkFiles(spark), location) as check:
            yield check
