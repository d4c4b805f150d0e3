"""Changes of a Hudi table: planning and reading against listing, Spark, hudi-rs and full scans.

    python -m bench.incremental [--partitions 2000,10000] [--rows 20] [--rounds 5] [--no-spark]

Each table is written by Hudi itself: one bulk insert into all partitions, then an upsert of ten
rows in each of two. Ways are measured in turn, round by round, after one round that does not
count; a ratio is the median over rounds of the same round's pairs.
"""

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from hudi import HudiQueryType, HudiReadOptions, HudiTableBuilder
from pyspark.sql import SparkSession

from pipeline.incremental.archive import open_for_changes
from pipeline.incremental.plan import plan
from pipeline.incremental.read import changed_rows
from pipeline.incremental.storage import Counted, LocalStorage
from pipeline.spark.hudi import read
from pipeline.spark.hudi_target import session

CHANGED = 20  # rows of the second commit, half of them in each of two partitions
Way = Callable[[], int]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--partitions", default="2000,10000")
    parser.add_argument("--rows", type=int, default=20, help="in each partition")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--no-spark", action="store_true", help="write with Spark, measure without")
    args = parser.parse_args()
    sizes = [int(size) for size in args.partitions.split(",")]
    conf = {"spark.master": "local[2]", "spark.driver.memory": "2g"}
    with tempfile.TemporaryDirectory(prefix="causeway-bench-") as folder, session(conf) as spark:
        spark.sparkContext.setLogLevel("ERROR")
        for size in sizes:
            base = f"{folder}/t{size}"
            make(spark, base, size, args.rows)
            report(size, measure(ways(spark, base, args.no_spark), args.rounds))
            costs(base)


def make(spark: SparkSession, base: str, partitions: int, rows: int) -> None:
    """A copy-on-write table of the newest version, and a second commit in two partitions."""
    options = {
        "hoodie.table.name": Path(base).name,
        "hoodie.datasource.write.recordkey.field": "id",
        "hoodie.datasource.write.precombine.field": "ts",
        "hoodie.datasource.write.partitionpath.field": "p",
        "hoodie.datasource.write.hive_style_partitioning": "true",
        "hoodie.metadata.enable": "false",
        "hoodie.index.bloom.num_entries": "100",
        "hoodie.embed.timeline.server": "false",
        "hoodie.write.markers.type": "DIRECT",
        "hoodie.bulkinsert.shuffle.parallelism": "2",
        "hoodie.upsert.shuffle.parallelism": "2",
    }
    all_rows = spark.range(partitions * rows).selectExpr(
        "cast(id as string) id", f"concat('p', cast(id % {partitions} as string)) p",
        "1L ts", "concat('v', cast(id as string)) v",
    )  # fmt: skip
    write = all_rows.write.format("hudi").options(**options).mode("overwrite")
    write.option("hoodie.datasource.write.operation", "bulk_insert").save(base)
    changed = all_rows.where("p in ('p1', 'p7')").orderBy("p", "id")
    changed = changed.where(f"cast(id as bigint) < {partitions * CHANGED // 2}")
    write = changed.selectExpr("id", "p", "2L ts", "'new' v").write.format("hudi")
    write.options(**options).option("hoodie.datasource.write.operation", "upsert").mode(
        "append"
    ).save(base)


def ways(spark: SparkSession, base: str, without_spark: bool) -> dict[str, Way]:
    """Name -> a call that gives rows, or files, for the last commit's changes."""
    since = first_key(base)
    opened = open_for_changes(base, LocalStorage())

    def light() -> int:
        return int(changed_rows(plan(open_for_changes(base, LocalStorage()), since)).num_rows)

    def hudi_rs() -> int:
        options = HudiReadOptions().with_query_type(HudiQueryType.Incremental)
        table = HudiTableBuilder.from_base_uri(base).build()
        return sum(b.num_rows for b in table.read(options.with_start_timestamp(since)))

    def query() -> int:
        reader = spark.read.format("hudi").option("hoodie.datasource.query.type", "incremental")
        return len(
            reader.option("hoodie.datasource.read.begin.instanttime", since).load(base).collect()
        )

    def scan() -> int:
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
    if not without_spark:
        found |= {
            "our read on Spark": lambda: len(read(spark, base, since).collect()),
            "Spark's incremental query": query,
            "Spark's full scan and filter": scan,
        }
    return found


def first_key(base: str) -> str:
    timeline = open_for_changes(base, LocalStorage()).timeline
    return timeline.key(timeline.commits[0])


def full_listing(base: str) -> tuple[int, int]:
    """Files and list calls of looking into every partition."""
    storage = Counted()
    table = open_for_changes(base, storage)
    before = storage.lists
    return sum(len(files) for _, files in table.walk()), storage.lists - before


def measure(every: dict[str, Way], rounds: int) -> dict[str, tuple[int, list[float]]]:
    """Answer and seconds of each way in each round."""
    taken: dict[str, tuple[int, list[float]]] = {name: (0, []) for name in every}
    for number in range(rounds + 1):
        for name, way in every.items():
            began = time.perf_counter()
            answer = way()
            if number:
                taken[name][1].append(time.perf_counter() - began)
            taken[name] = (answer, taken[name][1])
    return taken


def report(partitions: int, taken: dict[str, tuple[int, list[float]]]) -> None:
    print(f"\n{partitions} partitions, {CHANGED} rows changed in 2 of them")
    ours = taken["pull without Spark"][1]
    for name, (answer, seconds) in taken.items():
        ratio = statistics.median(s / o for s, o in zip(seconds, ours, strict=True))
        middle = statistics.median(seconds) * 1000
        print(f"  {name:<30} {middle:>10.1f} ms {answer:>8} {ratio:>10.2f} x our pull", flush=True)


def costs(base: str) -> None:
    storage = Counted()
    table = open_for_changes(base, storage)
    before = storage.lists
    planned = plan(table, first_key(base))
    lists = storage.lists - before
    print(f"  list calls: plan {lists}, full {full_listing(base)[1]}; fallback {planned.fallback}")


if __name__ == "__main__":
    main()
