"""`make lifecycle-demo`: runs the specification's example of feeds and processes.

Two embedded stacks, each with a metastore, are the primary and the BCP cluster. The feed's 768
instances are planned; a window of them is replicated, retained and processed.
"""

import argparse
import contextlib
import io
import shutil
import sys
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pyhive import hive

from cli.main import main as causeway
from cli.stack.plan import StackSpec
from cli.stack.stack import Stack
from conf.names import ClusterName

EXAMPLES = Path(__file__).parents[2] / "docs" / "examples" / "lifecycle"
PRIMARY, BCP = ClusterName("primary-cluster"), ClusterName("bcp-cluster")
FEED = ("feed", "customer-table-replicating-feed")
PROCESS = ("process", "table-process")
SPARK_PROCESS = ("process", "spark-process")
HOURS = 6
ROWS = 1000


class DemoFailed(Exception):
    """A result differs from the expected one."""


@dataclass(slots=True)
class Demo:
    """The two running stacks, and the store of the lifecycle in `folder`."""

    folder: Path
    stacks: dict[ClusterName, Stack]

    def sql(self, cluster: ClusterName, *statements: str) -> list[tuple[Any, ...]]:
        """The last statement's rows."""
        endpoint = self.stacks[cluster].ports.hs2[cluster]
        with closing(hive.connect(endpoint.host, endpoint.port)) as connection:
            cursor = connection.cursor()
            for statement in statements:
                cursor.execute(statement)
            asked = statements[-1].startswith(("SELECT", "SHOW"))
            return cursor.fetchall() if asked else []

    def run(self, *words: str, expect: int = 0) -> str:
        """Runs a causeway command, prints it with its output, and returns the output."""
        print(f"\n$ causeway {' '.join(words)}", flush=True)
        out, log = io.StringIO(), self.folder / "events.jsonl"
        with (
            log.open("a") as events,
            contextlib.redirect_stdout(out),
            contextlib.redirect_stderr(events if words[0] == "lifecycle" else out),
        ):
            status = causeway([*words, "--store", str(self.folder / "lifecycle.db")])
        lines = out.getvalue().splitlines()
        for line in lines if len(lines) <= 14 else [*lines[:6], "  ...", *lines[-4:]]:
            print(f"  {line}", flush=True)
        if status != expect:
            raise DemoFailed(f"causeway {words[0]} {words[1]} ended with {status}")
        return out.getvalue()


def check(what: str, found: object, expected: object) -> None:
    """Prints the result. Raises DemoFailed if it differs from the expected one."""
    if found != expected:
        raise DemoFailed(f"{what}: {found!r} instead of {expected!r}")
    print(f"  -> {what}", flush=True)


def title(text: str) -> None:
    print(f"\n== {text}", flush=True)


def hour(number: int) -> str:
    return f"2013-09-24-{number:02d}"


def make_tables(demo: Demo) -> None:
    """Creates the tables, which must exist before the feeds. Each hour is a partition."""
    columns = "(id BIGINT, name STRING, amount DECIMAL(10,2)) PARTITIONED BY (ds STRING)"
    demo.sql(
        PRIMARY,
        "CREATE DATABASE IF NOT EXISTS src_demo_db",
        f"CREATE TABLE src_demo_db.customer_raw {columns} STORED AS PARQUET",
        "CREATE DATABASE IF NOT EXISTS falcon_db",
        "CREATE TABLE falcon_db.input_table (id BIGINT, value STRING)"
        " PARTITIONED BY (ds STRING) STORED AS PARQUET",
        "CREATE TABLE falcon_db.output_table (id BIGINT, value STRING)"
        " PARTITIONED BY (ds STRING) STORED AS PARQUET",
        "INSERT INTO falcon_db.input_table PARTITION (ds='2012-04-21-00')"
        f" SELECT id, concat('value ', id) FROM range({ROWS})",
        "INSERT INTO falcon_db.input_table PARTITION (ds='2012-04-20-23')"
        " SELECT id, 'of the hour before' FROM range(7)",
    )
    demo.sql(BCP, "CREATE DATABASE IF NOT EXISTS tgt_demo_db")


def write_hours(demo: Demo, numbers: Sequence[int]) -> None:
    for number in numbers:
        demo.sql(
            PRIMARY,
            f"INSERT INTO src_demo_db.customer_raw PARTITION (ds='{hour(number)}')"
            f" SELECT id, concat('customer ', id), id + {number} FROM range({ROWS})",
        )


def content(demo: Demo, cluster: ClusterName, table: str) -> list[tuple[Any, ...]]:
    return demo.sql(
        cluster,
        f"SELECT ds, count(*), sum(hash(id, name, amount)) FROM {table} GROUP BY ds ORDER BY ds",
    )


def submit_all(demo: Demo) -> None:
    for cluster, stack in demo.stacks.items():
        values = {
            "name": cluster,
            "colo": "west-coast" if cluster == PRIMARY else "east-coast",
            "filesystem": stack.layout.filesystem(cluster),
            "hiveserver": str(stack.ports.hs2[cluster]),
            "metastore": f"thrift://{stack.ports.metastore}",
        }
        demo.run("entity", "submit", str(EXAMPLES / "cluster.xml"), *_sets(values))
    documents = [EXAMPLES / f"{name}-feed.xml" for name in ("replicating", "input", "output")]
    demo.run("entity", "submit", *map(str, documents))
    demo.run("entity", "dependency", "cluster", PRIMARY)


def _sets(values: dict[str, str]) -> list[str]:
    return [word for name, value in values.items() for word in ("--set", f"{name}={value}")]


def serve(demo: Demo, time_text: str) -> None:
    """Runs a server at that time until nothing is left to do."""
    began = time.monotonic()
    demo.run("lifecycle", "serve", "--once", "--at", time_text, "--master", "local[2]")
    print(f"  ({time.monotonic() - began:.1f} s)", flush=True)


def states(demo: Demo, *words: str) -> dict[str, int]:
    rows = [line.split() for line in demo.run("instance", "summary", *words).splitlines()]
    return {f"{action} {cluster} {state}": int(count) for action, cluster, state, count in rows}


def replicate(demo: Demo) -> None:
    title(f"Replication: {HOURS} hours are there, hour 3 is late")
    write_hours(demo, [number for number in range(HOURS) if number != 3])
    out = demo.run("entity", "schedule", *FEED, "--at", "2013-09-24T05:00Z")
    check("768 instances are planned", "768 instances" in out, True)
    serve(demo, "2013-09-24T05:00Z")
    found = states(demo, *FEED, "--planned")
    check("five hours are copied", found[f"replicate {BCP} SUCCEEDED"], 5)
    check("the late one waits for its partition", found[f"replicate {BCP} WAITING"], 1)
    check("all others are to come", found[f"replicate {BCP} PLANNED"], 762)
    write_hours(demo, [3])
    serve(demo, "2013-09-24T05:30Z")
    demo.run("instance", "list", *FEED, "--action", "replicate")
    source = content(demo, PRIMARY, "src_demo_db.customer_raw")
    check("both tables hold the same rows", content(demo, BCP, "tgt_demo_db.customer_bcp"), source)
    check("in six partitions", [row[0] for row in source], [hour(n) for n in range(HOURS)])


def retain(demo: Demo) -> None:
    title("Retention: two hours at the primary, thirty days at the BCP cluster")
    serve(demo, "2013-09-24T07:00Z")
    demo.run("instance", "list", *FEED, "--action", "evict")
    left = [row[0] for row in demo.sql(PRIMARY, "SHOW PARTITIONS src_demo_db.customer_raw")]
    check("the primary keeps 05:00 on", left, [f"ds={hour(5)}"])
    kept = demo.sql(BCP, "SHOW PARTITIONS tgt_demo_db.customer_bcp")
    check("the copy keeps everything", len(kept), HOURS)
    warehouse = demo.stacks[PRIMARY].layout.warehouse(PRIMARY)
    folders = sorted(path.name for path in warehouse.rglob("ds=2013-*"))
    check("what was evicted is gone from the disk", folders, [f"ds={hour(5)}"])


def process(demo: Demo) -> None:
    title("Process: its one day, from input to output")
    script = ["--set", f"script={EXAMPLES / 'table-id.hql'}"]
    path = str(EXAMPLES / "process.xml")
    demo.run("entity", "submit", path, *script, "--set", "engine=pig")
    try:
        demo.run("entity", "schedule", *PROCESS, expect=1)
    except DemoFailed as error:
        raise DemoFailed(f"a Pig process was accepted without a pig command: {error}") from error
    demo.run("entity", "update", *PROCESS, path, *script, "--set", "engine=hive")
    demo.run("entity", "schedule", *PROCESS, "--at", "2012-04-21T00:00Z")
    demo.run("instance", "params", *PROCESS, "--start", "2012-04-21T00:00Z")
    serve(demo, "2012-04-21T00:00Z")
    demo.run("instance", "list", *PROCESS)
    demo.run("instance", "logs", *PROCESS, "--start", "2012-04-21T00:00Z")
    rows = demo.sql(PRIMARY, "SELECT ds, count(*) FROM falcon_db.output_table GROUP BY ds")
    check("the day's partition is written", rows, [("2012-04-21-00", ROWS)])


def spark_process(demo: Demo) -> None:
    title("The same by a PySpark application")
    demo.sql(PRIMARY, "ALTER TABLE falcon_db.output_table DROP PARTITION (ds='2012-04-21-00')")
    path = str(EXAMPLES / "spark-process.xml")
    demo.run("entity", "submit", path, "--set", f"folder={EXAMPLES}")
    demo.run("entity", "schedule", *SPARK_PROCESS, "--at", "2012-04-21T00:00Z")
    serve(demo, "2012-04-21T00:00Z")
    demo.run("instance", "list", *SPARK_PROCESS)
    demo.sql(PRIMARY, "REFRESH TABLE falcon_db.output_table")
    rows = demo.sql(PRIMARY, "SELECT ds, count(*) FROM falcon_db.output_table GROUP BY ds")
    check("the day's partition is written again", rows, [("2012-04-21-00", ROWS)])


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--dir", type=Path, help="keep everything there (a temporary folder)")
    args = parser.parse_args(argv)
    folder = args.dir or Path(tempfile.mkdtemp(prefix="causeway-lifecycle-"))
    folder.mkdir(parents=True, exist_ok=True)
    began = time.monotonic()
    try:
        with ExitStack() as running:
            title("Two clusters, two metastores")
            stacks = {name: _stack(folder, name) for name in (PRIMARY, BCP)}
            with ThreadPoolExecutor(len(stacks)) as pool:
                for each in [pool.submit(running.enter_context, s) for s in stacks.values()]:
                    each.result()
            demo = Demo(folder, stacks)
            make_tables(demo)
            submit_all(demo)
            replicate(demo)
            retain(demo)
            process(demo)
            spark_process(demo)
        print(f"\nDone in {time.monotonic() - began:.0f} s.")
        return 0
    except DemoFailed as error:
        print(f"\nlifecycle-demo: {error}; see {folder}", file=sys.stderr)
        return 1
    finally:
        if args.dir is None:
            shutil.rmtree(folder, ignore_errors=True)


def _stack(folder: Path, name: ClusterName) -> Stack:
    def report(service: str, seconds: float) -> None:
        print(f"  {name}: {service} ready after {seconds:.0f} s", flush=True)

    return Stack(StackSpec((name,), views=False), folder / name, report)


if __name__ == "__main__":
    sys.exit(main())
