"""Compares listing a Hudi table by the guard jar's input format and by Hudi's own, for Hive.

    python -m bench.copies.input_format [--partitions 10000] [--versions 6,9] [--rounds 5]

The job's paths are all partitions, as for a statement over the whole table. One commit wrote all of
them, another changed two. In each round both formats list in turn, as new objects; the first round
does not count. A ratio is the median of the rounds' own ratios.
"""

import argparse
import os
import shutil
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

from bench.copies.incremental import FIRST, make
from pipeline.hudi.spark_reader import SESSION_CONF
from pipeline.hudi.spark_target import fetch_bundle
from pipeline.spark.jar import guard_jar
from pipeline.spark.session import open_session

OURS = "causeway.hudi.HudiParquetInputFormat"
HUDIS = "org.apache.hudi.hadoop.HoodieParquetInputFormat"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--partitions", type=int, default=10_000)
    parser.add_argument("--versions", default="6,9", help="of the table format")
    parser.add_argument("--rounds", type=int, default=5)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="causeway-bench-") as folder:
        jars = [str(fetch_bundle(Path(".causeway/jars"))), str(guard_jar())]
        settings = {"spark.driver.extraClassPath": os.pathsep.join(jars)}
        spark = open_session("local[2]", {**SESSION_CONF, **settings, "spark.log.level": "ERROR"})
        for version in map(int, args.versions.split(",")):
            base = Path(folder) / f"t{version}"
            make(base, args.partitions, 1, version)
            for what, settings in cases(base.name).items():
                job = job_over(spark, base, args.partitions, settings)
                report(f"{what}, version {version}", measure(spark, job, args.rounds))
            shutil.rmtree(base)
        spark.stop()


def cases(table: str) -> dict[str, dict[str, str]]:
    prefix = f"hoodie.{table}.consume"
    changed = {f"{prefix}.mode": "INCREMENTAL", f"{prefix}.start.timestamp": FIRST}
    return {"changes of 2 partitions": changed, "all rows": {}}


def job_over(spark: Any, base: Path, partitions: int, settings: dict[str, str]) -> Any:
    """A job whose paths are the partitions."""
    jvm = spark._jvm
    job = jvm.org.apache.hadoop.mapred.JobConf(spark._jsc.hadoopConfiguration())
    for key, value in settings.items():
        job.set(key, value)
    paths = ",".join(f"{base}/p=p{n}" for n in range(partitions))
    jvm.org.apache.hadoop.mapred.FileInputFormat.setInputPaths(job, paths)
    return job


def measure(spark: Any, job: Any, rounds: int) -> dict[str, tuple[int, list[float]]]:
    """The number of files, and the seconds of each round, by input format."""
    taken: dict[str, tuple[int, list[float]]] = {}
    jvm = spark._jvm
    for number in range(rounds + 1):
        for name in (OURS, HUDIS):
            kind = jvm.java.lang.Class.forName(name)
            form = jvm.org.apache.hadoop.util.ReflectionUtils.newInstance(kind, job)
            began = time.perf_counter()
            files = form.listStatus(job)
            seconds = time.perf_counter() - began
            known = taken.get(name, (0, []))[1]
            taken[name] = (len(files), [*known, seconds] if number else known)
    return taken


def report(what: str, taken: dict[str, tuple[int, list[float]]]) -> None:
    (files, ours), (theirs_files, theirs) = taken[OURS], taken[HUDIS]
    if files != theirs_files:
        raise SystemExit(f"{what}: {files} files, and {theirs_files} by Hudi")
    ratio = statistics.median(t / o for o, t in zip(ours, theirs, strict=True))
    ours_ms, theirs_ms = statistics.median(ours) * 1000, statistics.median(theirs) * 1000
    print(
        f"{what:36} {files:6} files {ours_ms:10.1f} ms, Hudi's {theirs_ms:10.1f} ms,"
        f" {ratio:6.1f} x ours",
        flush=True,
    )


if __name__ == "__main__":
    main()
