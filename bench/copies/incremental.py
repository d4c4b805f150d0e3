"""Changes of a Hudi table: planning and reading against listing, Spark, hudi-rs and full scans.
Replication of the table.

    python -m bench.copies.incremental [--partitions 2000,10000] [--versions 6,9] [--rows 20]
                                [--rounds 5] [--no-spark | --no-scan]

Each table is copy-on-write. Its first commit writes all partitions, the second changes ten rows in
each of two. --no-scan omits the full scan, which takes minutes. Each round measures all ways in
turn, after one round that does not count. A ratio is the median of the rounds' own ratios.
"""

import argparse
import json
import resource
import shutil
import statistics
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack
from itertools import product
from pathlib import Path

import fastavro
import pyarrow as pa
import pyarrow.parquet as pq
from hudi import HudiQueryType, HudiReadOptions, HudiTableBuilder
from pyspark.sql import SparkSession

from pipeline.copy.files import CopyOptions
from pipeline.hudi.plan import plan
from pipeline.hudi.read import changed_rows
from pipeline.hudi.replicas.replica_plan import plan_replication
from pipeline.hudi.replicas.replicate import run_replication
from pipeline.hudi.spark_reader import HadoopStorage, read
from pipeline.hudi.spark_target import session
from pipeline.hudi.table.properties import properties_checksum
from pipeline.hudi.table.storage import CountingStorage, LocalStorage
from pipeline.hudi.table.table import open_for_changes, open_table
from pipeline.spark.spark_files import SparkFiles

SCAN = "Spark's full scan and filter"
CHANGED = 20  # rows of the second commit, half of them in each of two partitions
Way = Callable[[], int]


FIRST, SECOND, THIRD = (f"2026010{day}000000000" for day in (1, 2, 3))
META = ("_hoodie_commit_time", "_hoodie_commit_seqno", "_hoodie_record_key",
        "_hoodie_partition_path", "_hoodie_file_name")  # fmt: skip
COLUMNS = ("id", "p", "v")
SCHEMA = pa.schema([(name, pa.string()) for name in (*META, *COLUMNS)])
PROPERTIES = {
    "hoodie.table.type": "COPY_ON_WRITE",
    "hoodie.table.recordkey.fields": "id",
    "hoodie.table.partition.fields": "p",
    "hoodie.table.keygenerator.class": "org.apache.hudi.keygen.SimpleKeyGenerator",
    "hoodie.datasource.write.hive_style_partitioning": "true",
    "hoodie.table.base.file.format": "PARQUET",
}
STAT = {
    "type": "record",
    "name": "HoodieWriteStat",
    "fields": [
        {"name": "fileId", "type": ["null", "string"]},
        {"name": "path", "type": ["null", "string"]},
        {"name": "numWrites", "type": ["null", "long"]},
        {"name": "partitionPath", "type": ["null", "string"]},
        {"name": "fileSizeInBytes", "type": ["null", "long"]},
    ],
}
METADATA = {
    "type": "record",
    "name": "HoodieCommitMetadata",
    "namespace": "org.apache.hudi.avro.model",
    "fields": [
        {
            "name": "partitionToWriteStats",
            "type": ["null", {"type": "map", "values": {"type": "array", "items": STAT}}],
        },
        {"name": "extraMetadata", "type": ["null", {"type": "map", "values": "string"}]},
        {"name": "operationType", "type": ["null", "string"]},
    ],
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--partitions", default="2000,10000")
    parser.add_argument("--versions", default="6,9", help="of the table format")
    parser.add_argument("--rows", type=int, default=20, help="in each partition")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--no-spark", action="store_true")
    parser.add_argument("--no-scan", action="store_true")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="causeway-bench-") as folder, ExitStack() as stack:
        spark = None if args.no_spark else stack.enter_context(session(SPARK))
        sizes, versions = args.partitions.split(","), args.versions.split(",")
        for size, version in product(map(int, sizes), map(int, versions)):
            base = Path(folder) / f"t{size}_{version}"
            make(base, size, args.rows, version)
            every = ways(spark, str(base))
            if args.no_scan:
                every.pop(SCAN, None)
            report(size, version, measure(every, args.rounds))
            costs(str(base))
            if spark is not None:
                replicas(spark, base, version)
            shutil.rmtree(base)


SPARK = {"spark.master": "local[2]", "spark.driver.memory": "2g", "spark.log.level": "ERROR"}


def make(base: Path, partitions: int, rows: int, version: int) -> None:
    """Writes the table file by file, because Hudi's writer takes minutes for many partitions."""
    timeline_of(base, version).mkdir(parents=True)
    properties = {
        "hoodie.table.name": base.name,
        "hoodie.table.version": str(version),
        "hoodie.timeline.layout.version": "1" if version < 8 else "2",
        **PROPERTIES,
    }
    properties["hoodie.table.checksum"] = str(properties_checksum(properties))
    lines = "".join(f"{key}={value}\n" for key, value in properties.items())
    (base / ".hoodie" / "hoodie.properties").write_text(lines)
    every = [f"p=p{n}" for n in range(partitions)]
    complete(base, version, FIRST, written(base, FIRST, every, rows, 0))
    two = written(base, SECOND, ["p=p1", "p=p7"], rows, CHANGED // 2)
    complete(base, version, SECOND, two)


def timeline_of(base: Path, version: int) -> Path:
    return base / ".hoodie" / ("" if version < 8 else "timeline")


def written(
    base: Path, instant: str, partitions: list[str], rows: int, changed: int
) -> dict[str, list[dict[str, object]]]:
    """Writes the files of one commit; returns the commit's metadata of them, by partition."""
    stats: dict[str, list[dict[str, object]]] = {}
    for partition in partitions:
        name = f"{partition[2:]}-0_0-0-0_{instant}.parquet"
        folder = base / partition
        folder.mkdir(exist_ok=True)
        mark = folder / ".hoodie_partition_metadata"
        mark.write_text(f"commitTime={FIRST}\npartitionDepth=1\n")
        data = [
            (FIRST if n >= changed else instant, "0", f"{partition[2:]}-{n}", partition, name,
             f"{partition[2:]}-{n}", partition[2:], "v")
            for n in range(rows)
        ]  # fmt: skip
        columns = [pa.array(column) for column in zip(*data, strict=True)]
        pq.write_table(pa.Table.from_arrays(columns, schema=SCHEMA), folder / name)
        stat: dict[str, object] = {
            "fileId": f"{partition[2:]}-0",
            "path": f"{partition}/{name}",
            "numWrites": rows,
            "partitionPath": partition,
            "fileSizeInBytes": (folder / name).stat().st_size,
        }
        stats[partition] = [stat]
    return stats


def complete(
    base: Path, version: int, instant: str, stats: dict[str, list[dict[str, object]]]
) -> None:
    fields = [{"name": name, "type": ["null", "string"], "default": None} for name in COLUMNS]
    schema = {"type": "record", "name": "row", "fields": fields}
    content = {
        "partitionToWriteStats": stats,
        "extraMetadata": {"schema": json.dumps(schema)},
        "operationType": "UPSERT",
    }
    timeline = timeline_of(base, version)
    for state in (".commit.requested", ".inflight"):
        (timeline / f"{instant}{state}").touch()
    if version < 8:
        (timeline / f"{instant}.commit").write_text(json.dumps({**content, "compacted": False}))
        return
    with open(timeline / f"{instant}_{int(instant) + 1000}.commit", "wb") as file:
        fastavro.writer(file, fastavro.parse_schema(METADATA), [content])


def ways(spark: SparkSession | None, base: str) -> dict[str, Way]:
    """Maps the name of each way to a function that reads the rows, or files, of the last commit."""
    since = first_key(base)
    opened = open_for_changes(base, LocalStorage())

    def light() -> int:
        return int(changed_rows(plan(open_for_changes(base, LocalStorage()), since)).num_rows)

    def hudi_rs() -> int:
        options = HudiReadOptions().with_query_type(HudiQueryType.Incremental)
        table = HudiTableBuilder.from_base_uri(base).build()
        return sum(b.num_rows for b in table.read(options.with_start_timestamp(since)))

    def query(spark: SparkSession) -> int:
        reader = spark.read.format("hudi").option("hoodie.datasource.query.type", "incremental")
        return len(
            reader.option("hoodie.datasource.read.begin.instanttime", since).load(base).collect()
        )

    def scan(spark: SparkSession) -> int:
        rows = spark.read.format("hudi").load(base)
        return len(rows.where(f"_hoodie_commit_time > '{since}'").collect())

    def fresh_plan() -> int:
        opened._commits.clear()
        return len(plan(opened, since).files)

    found: dict[str, Way] = {
        "plan, client open": fresh_plan,
        "open and plan": lambda: len(plan(open_for_changes(base, LocalStorage()), since).files),
        "full listing": lambda: full_listing(base)[0],
        "pull without Spark": light,
        "hudi-rs incremental": hudi_rs,
    }
    if spark is not None:
        found |= {
            "our read on Spark": lambda: len(read(spark, base, since).collect()),
            "Spark's incremental query": lambda: query(spark),
            SCAN: lambda: scan(spark),
        }
    return found


def first_key(base: str) -> str:
    timeline = open_for_changes(base, LocalStorage()).timeline
    return timeline.key(timeline.commits[0])


def full_listing(base: str) -> tuple[int, int]:
    """The files and list calls of listing every partition."""
    storage = CountingStorage()
    table = open_for_changes(base, storage)
    before = storage.lists
    return sum(len(files) for _, files in table.walk()), storage.lists - before


def measure(every: dict[str, Way], rounds: int) -> dict[str, tuple[int, list[float]]]:
    """The result of each way, and its seconds in each round."""
    taken: dict[str, tuple[int, list[float]]] = {name: (0, []) for name in every}
    for number in range(rounds + 1):
        for name, way in every.items():
            began = time.perf_counter()
            answer = way()
            if number:
                taken[name][1].append(time.perf_counter() - began)
            taken[name] = (answer, taken[name][1])
    return taken


def report(partitions: int, version: int, taken: dict[str, tuple[int, list[float]]]) -> None:
    print(f"\n{partitions} partitions, version {version}, {CHANGED} rows changed in 2 of them")
    ours = taken["pull without Spark"][1]
    for name, (answer, seconds) in taken.items():
        ratio = statistics.median(s / o for s, o in zip(seconds, ours, strict=True))
        middle = statistics.median(seconds) * 1000
        print(f"  {name:<30} {middle:>10.1f} ms {answer:>8} {ratio:>10.2f} x our pull", flush=True)


def costs(base: str) -> None:
    storage = CountingStorage()
    table = open_for_changes(base, storage)
    before = storage.lists
    planned = plan(table, first_key(base))
    lists = storage.lists - before
    print(f"  list calls: plan {lists}, full {full_listing(base)[1]}; fallback {planned.fallback}")


def replicas(spark: SparkSession, base: Path, version: int) -> None:
    """Measures a first replication, one without changes, and one after a change of two partitions,
    through Hadoop's file systems, as on HDFS.
    """
    source, target, storage = base.as_uri(), f"{base.as_uri()}-replica", HadoopStorage(spark)
    for what in ("first", "nothing new", "two partitions"):
        if what == "two partitions":
            complete(base, version, THIRD, written(base, THIRD, ["p=p1", "p=p7"], 20, 1))
        counting = CountingStorage(storage)
        began = time.perf_counter()
        planned = plan_replication(open_table(source, counting), target, counting)
        planning = time.perf_counter() - began
        done = run_replication(planned, SparkFiles(spark), CopyOptions())
        seconds = time.perf_counter() - began
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10
        print(
            f"  replicate, {what:<15} {seconds:>6.1f} s, {planning:.1f} of them planning with"
            f" {counting.lists} list calls; {done.files} files sent; {memory} MiB resident"
        )


if __name__ == "__main__":
    main()
