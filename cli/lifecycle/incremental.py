"""`causeway incremental plan`, `pull` and `replicate`: reads the changes of Hudi tables (002)."""

import argparse
import dataclasses
import json
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

from conf.kinds import positive
from pipeline.copy.endpoints import read_endpoints, session_settings
from pipeline.copy.files import CopyOptions
from pipeline.errors import BadEndpoints
from pipeline.hudi.changes import EARLIEST, end_of_first
from pipeline.hudi.errors import MissingPath, StorageFault
from pipeline.hudi.folders.open_folder import open_folder
from pipeline.hudi.plan import Plan, plan, snapshot
from pipeline.hudi.pull import DEFAULT_KEY, PullMode, PullResult, pull
from pipeline.hudi.replicas.replica_plan import check_target, plan_replication
from pipeline.hudi.replicas.replicate import run_replication
from pipeline.hudi.table.open_storage import open_storage, open_writable
from pipeline.hudi.table.properties import HOODIE
from pipeline.hudi.table.storage import CountingStorage, HudiStorage, is_local, local_path
from pipeline.hudi.table.table import open_for_changes, open_table


def configure(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    planning = actions.add_parser("plan", help="print what a pull would read, and its cost")
    planning.add_argument("path", help="base path of the Hudi table")
    planning.add_argument("--since", required=True, metavar="INSTANT", help=_SINCE)
    planning.add_argument(
        "--until", metavar="INSTANT", help="last instant, inclusive (default: the newest)"
    )
    planning.add_argument(
        "--max-commits", type=positive, metavar="N", help="end after N commits (default: all)"
    )
    planning.add_argument("--json", action="store_true", help="print one JSON object")
    planning.add_argument(
        "--whole",
        action="store_true",
        help="print the size of the whole table too, with --json as a second object",
    )
    planning.add_argument(
        "--without-spark", action="store_true", help="refuse a path that only Spark can read"
    )  # fmt: skip
    _add_access(planning, "Spark setting, where Spark is needed: a table on HDFS")

    pulling = actions.add_parser("pull", help="write the changes since the last pull to a target")
    pulling.add_argument("source", help="base path of the Hudi table")
    pulling.add_argument("target", help="folder for parquet files, Hudi table, or metastore table")
    pulling.add_argument(
        "--mode",
        choices=[each.value for each in PullMode],
        default=PullMode.APPEND.value,
        help="append: a log of changes; merge: one row a key (%(default)s)",
    )
    pulling.add_argument(
        "--key", metavar="COLUMNS", help="columns of the merge key (default: the record key)"
    )
    pulling.add_argument(
        "--since", default=EARLIEST, metavar="INSTANT", help="where the first pull begins"
    )
    pulling.add_argument(
        "--until", metavar="INSTANT", help="last instant, inclusive (default: the newest)"
    )
    pulling.add_argument(
        "--moved-from", metavar="SOURCE", help="path that the source had in earlier pulls"
    )
    _add_access(
        pulling,
        "Spark setting, where Spark is needed: a source on HDFS; a Hudi table or a metastore table"
        " as target",
    )
    pulling.add_argument("--json", action="store_true", help="print one JSON object")

    copying = actions.add_parser("replicate", help="copy a table's new commits to its replica")
    copying.add_argument("source", help="base path or URI of the Hudi table")
    copying.add_argument("target", help="base path or URI of the replica")
    _add_access(copying, "Spark setting; Spark copies the files")


def _add_access(command: argparse.ArgumentParser, conf_help: str) -> None:
    command.add_argument(
        "--conf", action="append", default=[], metavar="KEY=VALUE", type=_setting, help=conf_help
    )
    command.add_argument(
        "--hadoop-conf", default="", metavar="AUTHORITY=DIR,..",
        help="Hadoop settings of a bucket or name node, *: others",
    )  # fmt: skip


_SINCE = "bookmark, exclusive: a completion time (table version 8 and later) or a commit time"


def run(args: argparse.Namespace) -> int:
    return {"plan": _plan, "pull": _pull, "replicate": _replicate}[args.action](args)


def _plan(args: argparse.Namespace) -> int:
    source = _absolute(args.path)
    with _source_storage(source, args, may_start_spark=not args.without_spark) as storage:
        return _print_plan(args, CountingStorage(storage))


def _print_plan(args: argparse.Namespace, storage: CountingStorage) -> int:
    table = open_for_changes(_absolute(args.path), storage)
    opened = storage.lists
    began = time.perf_counter()
    until = args.until
    if args.max_commits is not None:
        until = end_of_first(table, args.since, until, args.max_commits)
    planned = plan(table, args.since, until)
    seconds = time.perf_counter() - began
    if args.json:
        print(json.dumps(plan_facts(planned)), flush=True)
        if args.whole:
            print(json.dumps(_size(snapshot(table))))
        return 0
    print(f"since      {planned.since}  (next time: --since {planned.bookmark})")
    print(f"commits    {len(planned.commits)}  {_some([c.requested for c in planned.commits])}")
    print(f"partitions {len(planned.partitions)}  {_some(planned.partitions)}")
    print(f"files      {len(planned.files)}  {planned.bytes:,} bytes")
    if args.whole:
        whole = _size(snapshot(table))
        partitions = "" if whole["partitions"] is None else f"{whole['partitions']} partitions, "
        print(f"of         {partitions}{whole['files']} files, {whole['bytes']:,} bytes")
    print(f"fallback   {planned.fallback or 'no'}")
    if planned.removes_rows:
        print("removals   yes: rows were deleted or replaced, which changed rows do not show")
    if planned.held_back_by:
        print(f"held back  commits after {planned.held_back_by}, which still runs")
    print(f"cost       {storage.lists - opened} list calls, {seconds * 1000:.1f} ms")
    if is_local(table.base):  # on other storage this listing would be slow
        calls, files, full = _full_listing(table.base)
        print(f"in full    {calls} list calls, {full * 1000:.1f} ms, {files} files")
    return 0


@contextmanager
def _source_storage(
    source: str, args: argparse.Namespace, may_start_spark: bool = True
) -> Iterator[HudiStorage]:
    """The storage of the source. Starts Spark if the source needs Hadoop's file systems, and stops
    it at the end. Raises StorageFault if Spark is needed and may not start.
    """
    conf, endpoints = dict(args.conf), _endpoints(args)
    with ExitStack() as exits:

        def hadoop() -> HudiStorage:
            if not may_start_spark:
                raise StorageFault(f"{source} can only be read through Spark.")
            from pipeline.hudi.spark_reader import HadoopStorage
            from pipeline.spark.hadoop_login import jvm_settings
            from pipeline.spark.session import open_session

            spark = open_session(conf=jvm_settings(endpoints) | conf)
            exits.callback(spark.stop)
            return HadoopStorage(spark, endpoints)

        yield open_storage(source, endpoints, conf, hadoop)


def plan_facts(planned: Plan) -> dict[str, Any]:
    """The plan as a JSON object."""
    return {
        "since": planned.since,
        "bookmark": planned.bookmark,
        "commits": [commit.requested for commit in planned.commits],
        "partitions": list(planned.partitions),
        "files": [file.path for file in planned.files],
        "bytes": planned.bytes,
        "fallback": planned.fallback,
        "removes_rows": planned.removes_rows,
        "held_back_by": planned.held_back_by,
    }


def _size(planned: Plan) -> dict[str, int | None]:
    """The size of the whole table. `partitions` is None for a table without partition columns."""
    has_partitions = bool(planned.table.partition_fields)
    return {
        "partitions": len(planned.partitions) if has_partitions else None,
        "files": len(planned.files),
        "bytes": planned.bytes,
    }


def _full_listing(base: str) -> tuple[int, int, float]:
    """The list calls, files and seconds of listing every folder of the table."""
    storage, files, waiting = CountingStorage(), 0, [base]
    began = time.perf_counter()
    while waiting:
        for entry in storage.list(waiting.pop()):
            if not entry.is_dir:
                files += 1
            elif entry.name != HOODIE:
                waiting.append(entry.path)
    return storage.lists, files, time.perf_counter() - began


def _pull(args: argparse.Namespace) -> int:
    mode = PullMode(args.mode)
    key = tuple(args.key.split(",")) if args.key else DEFAULT_KEY
    source = _absolute(args.source)
    if _needs_spark(args):
        if args.hadoop_conf and "/" not in args.target:
            reason = "is not for tables of a metastore; use --conf spark.hadoop.KEY=VALUE"
            raise BadEndpoints(f"--hadoop-conf {reason}.")
        done = _pull_with_spark(source, mode, key, args)
    else:
        target = open_folder(args.target, _endpoints(args), dict(args.conf))
        with _source_storage(source, args) as storage:
            table = open_table(source, storage)
            done = pull(table, target, mode, key, args.since, args.until, _moved_from(args))
    _show(done, args.json)
    return 0


def _replicate(args: argparse.Namespace) -> int:
    from pipeline.hudi.pull_lease import leased
    from pipeline.hudi.spark_reader import storage_for
    from pipeline.spark.hadoop_login import jvm_settings
    from pipeline.spark.session import open_session
    from pipeline.spark.spark_files import SparkFiles

    endpoints = _endpoints(args)
    spark = open_session(conf=jvm_settings(endpoints) | dict(args.conf))
    try:
        source, target = _uri(args.source), _uri(args.target)
        storage, files = storage_for(spark, target, endpoints), SparkFiles(spark, endpoints)
        check_target(source, target, storage)
        with leased(files, target) as check_lease:
            table = open_table(source, storage_for(spark, source, endpoints))
            planned = plan_replication(table, target, storage)
            check_lease()
            done = run_replication(planned, files, CopyOptions())
    finally:
        spark.stop()
    print(f"{done.commits} commits, {done.files} files, {done.bytes:,} bytes sent")
    return 0


def _pull_with_spark(
    source: str, mode: PullMode, key: tuple[str, ...], args: argparse.Namespace
) -> PullResult:
    from pipeline.hudi.spark_target import pull_into, session

    # Hudi's writer and Spark's tasks use the settings of the session.
    conf = dict(args.conf) | session_settings(_endpoints(args), [source, args.target])
    with session(conf, metastore="/" not in args.target) as spark:
        return pull_into(
            spark, source, args.target, mode, key, args.since, args.until, _moved_from(args)
        )


def _moved_from(args: argparse.Namespace) -> str | None:
    return None if args.moved_from is None else _absolute(args.moved_from)


def _needs_spark(args: argparse.Namespace) -> bool:
    """Whether the target is a Hudi table or metastore table, which only Spark writes."""
    target = args.target.rstrip("/")
    if "/" not in target:
        return True
    if is_local(target):
        return Path(local_path(target), HOODIE).is_dir()
    opened = open_writable(target, _endpoints(args), dict(args.conf))
    if opened is None:
        return True
    with suppress(MissingPath):
        return HOODIE in opened[0].names(target)
    return False


def _endpoints(args: argparse.Namespace) -> Mapping[str, Mapping[str, str]]:
    return read_endpoints(args.hadoop_conf, Path.cwd())


def _show(done: PullResult, as_json: bool) -> None:
    if as_json:
        print(json.dumps(dataclasses.asdict(done)))
        return
    print(f"{done.rows} rows of {done.commits} commits, {done.since} to {done.bookmark}")
    if done.fallback:
        print(f"the whole table was read: {done.fallback}")
    if done.reloaded:
        print(f"the target was reloaded: {done.reloaded}")
    if done.held_back_by:
        print(f"held back: commits after {done.held_back_by}, which still runs")


def _setting(text: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not equals:
        raise argparse.ArgumentTypeError(f"{text!r} is not KEY=VALUE")
    return key, value


def _some(names: Sequence[str], most: int = 5) -> str:
    return ", ".join(names[:most]) + (", ..." if len(names) > most else "")


def _uri(path: str) -> str:
    return Path(local_path(path)).absolute().as_uri() if is_local(path) else path


def _absolute(path: str) -> str:
    return path if not is_local(path) or path.startswith("file:") else str(Path(path).absolute())
