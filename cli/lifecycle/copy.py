"""`causeway copy`: makes, refreshes and verifies secondary copies, and sweeps unused files.

    causeway copy sales.orders --partition "ds >= '2024-01-01'" --to C2 [--plan]
    causeway copy sales.orders --partition-names FILE --to C2
    causeway copy verify sales.orders [--to C2]
    causeway copy sweep [sales.orders] [--to C2] [--leftovers FILE]

Exit status: 0 done, 1 something could not be copied or differs, 2 wrong usage.
"""

import argparse
import dataclasses
import json
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from cli.errors import NoClusters
from cli.lifecycle.work_observer import WorkObserver
from cli.progress import ProgressBar, ProgressEvents
from cli.target import add_target_arguments, load_settings
from conf.kinds import size
from conf.names import ClusterName, TableRef
from conf.settings.settings import Settings
from metastore.client.changes.notifying_client import notifying_client
from metastore.errors import NoSuchObject
from metastore.view.server.orphans_store import OrphanLog
from pipeline.copy.copy_catalog import CatalogTable, DataObject, ObjectCatalog, spec_of
from pipeline.copy.copy_record import RecordCopy, no_records
from pipeline.copy.copy_report import CopyReport
from pipeline.copy.endpoints import read_endpoints
from pipeline.copy.files import CopyOptions
from pipeline.copy.filter import parse_filter, parse_names
from pipeline.copy.job_context import CopyLimits, JobContext
from pipeline.copy.plan import CopyPlan, plan_copy, step_lines
from pipeline.copy.run import run_copy, used_by
from pipeline.copy.runs.orphans import CleanupResult, delete_orphans, read_orphans
from pipeline.copy.runs.staging import default_root, staging_of
from pipeline.copy.runs.sweep import SweepResult, all_staging, sweep_staging, withdraw_expired
from pipeline.copy.verify import Verification, verify_copies
from pipeline.errors import BadFilter, NotCopyable
from pipeline.replication.replica_sweep import sweep_replicas

if TYPE_CHECKING:
    from pipeline.spark.spark_files import SparkFiles

_METASTORE_TIMEOUT = 600.0  # seconds a call: altering a batch of partitions takes long


def configure(parser: argparse.ArgumentParser) -> None:
    add_target_arguments(parser)
    _add_choice(parser)
    _add_execution(parser)
    _add_cleaning(parser)
    add = parser.add_argument
    add("--master", default="local[*]", help="Spark master (%(default)s)")
    add("--spark-conf", action="append", default=[], metavar="KEY=VALUE", help="Spark setting")
    add("--hadoop-conf", default="", metavar="AUTHORITY=DIR,..", help="Hadoop settings, *: others")


def _add_choice(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments that choose the table, its partitions and the clusters."""
    add = parser.add_argument
    add(
        "words",
        nargs="+",
        metavar="[verify|sweep] DB.TABLE",
        help="copy the table, or verify or sweep its copies; sweep alone: of every table",
    )
    add("--to", metavar="CLUSTER", help="cluster that gets the copy")
    add("--from", dest="source", metavar="CLUSTER", help="fail unless this is the primary cluster")
    chosen = parser.add_mutually_exclusive_group().add_argument
    chosen(
        "--partition", metavar="FILTER", help="only these partitions, e.g. \"ds >= '2024-01-01'\""
    )
    chosen(
        "--partition-names",
        metavar="FILE",
        help="only the partitions in FILE, named as by SHOW PARTITIONS (-: standard input)",
    )


def _add_execution(parser: argparse.ArgumentParser) -> None:
    """Adds the options that control how files are copied, and what is printed."""
    add = parser.add_argument
    add("--plan", action="store_true", help="print the steps without executing them")
    add("--again", action="store_true", help="copy also what has a fresh copy already")
    add(
        "--checksum",
        action=argparse.BooleanOptionalAction,
        default=True,
        help="read copied files back",
    )
    add("--json", action="store_true", help="print events and the result as JSON lines")
    add("--root", metavar="URI", help="folder of copies (<FileSystem>/causeway-copies)")
    add(
        "--parallelism", type=int, default=0, metavar="N", help="files at a time (0: Spark's cores)"
    )
    add("--bandwidth", type=size, default=0, metavar="BYTES", help="limit per second, e.g. 100m")
    add("--attempts", type=int, default=3, metavar="N", help="attempts for each file and object")
    add(
        "--wait",
        type=float,
        default=60.0,
        metavar="SECONDS",
        help="wait for a running write to end",
    )


def _add_cleaning(parser: argparse.ArgumentParser) -> None:
    """Adds the options for how long copies and replaced files are kept, and the size limit."""
    add = parser.add_argument
    add(
        "--grace",
        type=float,
        default=3600.0,
        metavar="SECONDS",
        help="keep replaced copies this long",
    )
    add("--most", type=size, metavar="BYTES", help="fail rather than copy more than this")
    add(
        "--keep",
        type=float,
        metavar="SECONDS",
        help="a sweep removes the copy after this time (default: never)",
    )
    add("--leftovers", type=Path, metavar="FILE", help="sweep: the view's record of orphans")


def run(args: argparse.Namespace) -> int:
    settings = load_settings(args)
    if not settings.topology.in_use or settings.topology.default is None:
        raise NoClusters("the settings name no cluster, so there is nothing to copy to.")
    action = args.words[0] if args.words[0] in ("verify", "sweep") else "make"
    names = args.words if action == "make" else args.words[1:]
    if len(names) > 1 or (action != "sweep" and not names):
        print("causeway copy: name one table", file=sys.stderr)
        return 2
    ref = TableRef.parse(names[0]) if names else None
    with (
        notifying_client(settings, _METASTORE_TIMEOUT) as client,
        WorkObserver(settings) as observer,
    ):
        objects = ObjectCatalog(client, settings.topology.default)
        command = CopyCommand(args, settings, objects, record=observer.record)
        if action == "sweep":
            return command.sweep(ref)
        assert ref is not None
        return command.make(ref) if action == "make" else command.verify(ref)


def _read_names(file: str) -> str:
    """The text of the file, or of standard input for `-`. Raises BadFilter."""
    try:
        data = sys.stdin.buffer.read() if file == "-" else Path(file).read_bytes()
        return data.decode()
    except (OSError, UnicodeDecodeError) as error:
        raise BadFilter(f"the list of partitions cannot be read: {error}.") from None


@dataclasses.dataclass(slots=True)
class CopyCommand:
    """`causeway copy` with its arguments. Its methods return the exit status and raise
    CausewayError."""

    args: argparse.Namespace
    settings: Settings
    objects: ObjectCatalog
    _files: "SparkFiles | None" = None
    record: RecordCopy = no_records
    absent: tuple[str, ...] = ()  # partitions in the filter that the table lacks

    @property
    def files(self) -> "SparkFiles":
        """Spark's file systems. Starts Spark at the first use, because often nothing is to copy."""
        if self._files is None:
            from pipeline.spark.hadoop_login import session_settings
            from pipeline.spark.session import open_session
            from pipeline.spark.spark_files import SparkFiles

            endpoints = read_endpoints(self.args.hadoop_conf, Path.cwd())
            filesystems = self.settings.topology.filesystems().values()
            login, given = self.settings.metastore_login, self.args.spark_conf
            conf = session_settings(login, filesystems, endpoints, given)
            session = open_session(self.args.master, conf, "causeway copy")
            self._files = SparkFiles(session, endpoints)
        return self._files

    @property
    def options(self) -> CopyOptions:
        args = self.args
        return CopyOptions(
            checksum=args.checksum,
            parallelism=args.parallelism,
            bandwidth=args.bandwidth,
            attempts=args.attempts,
        )

    def make(self, ref: TableRef) -> int:
        clusters = self._clusters()
        if len(clusters) != 1:
            raise NotCopyable("say with --to which cluster gets the copy.")
        plan = self._plan(ref, clusters[0])
        if self.args.plan:
            self._show_plan(plan)
            return 0
        report = self._execute(plan) if plan.items else CopyReport(fresh=plan.fresh)
        lines = [as_text(report, plan), *_absent_lines(self.absent)]
        self._print(as_json(report) | {"absent": self.absent}, "\n".join(lines))
        return 1 if report.failed else 0

    def _plan(self, ref: TableRef, cluster: ClusterName) -> CopyPlan:
        table = self.objects.table(ref)
        chosen = self._chosen(table)
        source = self.args.source
        for each in chosen if source else ():
            if each.placement.primary != source:
                what = f"{ref} {each.name}".rstrip()
                raise NotCopyable(f"the primary of {what} is {each.placement.primary}.")
        staging = staging_of(self._root(cluster), ref)
        return plan_copy(
            table, chosen, cluster, staging, checksum=self.args.checksum, again=self.args.again
        )

    def _chosen(self, table: CatalogTable) -> list[DataObject]:
        names = self.objects.names(table)
        condition, listed = self.args.partition, self.args.partition_names
        if condition is not None or listed is not None:
            if not table.partitioned:
                raise NotCopyable(f"{table.ref} has no partitions to choose from.")
            if listed is None:
                wanted = parse_filter(condition, table.keys)
            else:
                wanted = parse_names(_read_names(listed), table.keys)
            names = [name for name in names if wanted.accepts(spec_of(name))]
            self.absent = wanted.absent(map(spec_of, names))
            if self.absent and not names:
                some = _some(self.absent)
                raise NotCopyable(f"{table.ref} has no partition that is named: {some}.")
        return self.objects.objects(table, names)

    def _execute(self, plan: CopyPlan) -> CopyReport:
        with ProgressBar(sys.stderr, shown=not self.args.json) as bar:
            args = self.args
            progress = ProgressEvents(self._emit) if args.json else bar
            context = JobContext(self.files, self._emit, self.record, progress=progress)
            limits = CopyLimits(args.wait, args.attempts, grace=args.grace, most=args.most)
            return run_copy(plan, self.objects, context, self.options, limits, args.keep)

    def verify(self, ref: TableRef) -> int:
        table = self.objects.table(ref)
        chosen = self._chosen(table)
        bad = 0
        for cluster in self._clusters():
            if all(each.placement.copy_in(cluster) is None for each in chosen):
                continue
            with ProgressBar(sys.stderr, shown=not self.args.json) as bar:
                found = verify_copies(
                    self.files, self.objects, table, chosen, cluster, self.options, bar
                )
            bad += len(found.findings)
            result = dataclasses.asdict(found) | {"cluster": cluster}
            self._print(result, _differences(found, cluster))
        for line in () if self.args.json else _absent_lines(self.absent):
            print(line, flush=True)
        return 1 if bad else 0

    def sweep(self, ref: TableRef | None) -> int:
        expired = withdraw_expired(self.objects, self._tables(ref), self._clusters(), time.time())
        swept = SweepResult()
        for cluster in self._clusters():
            root = self._root(cluster)
            where = (
                [staging_of(root, ref)] if ref is not None else list(all_staging(self.files, root))
            )
            used = partial(used_by, self.objects, cluster)
            for staging in where:
                swept += sweep_staging(self.files, used, staging, time.time, self.args.grace)
        states = self._tables(ref) if self.args.to is None else ()
        replicas = sweep_replicas(self.files, self.objects, states, time.time, self.args.grace)
        swept += replicas.swept
        summary = f"{swept.deleted} deleted, {swept.condemned} newly unused, {swept.kept} left"
        if expired:
            summary = f"{expired} expired, {summary}"
        result = dataclasses.asdict(swept) | {"expired": expired}
        result |= {"unreadable": replicas.unreadable}
        lines = [summary, *(f"  {where}: {why}" for where, why in replicas.unreadable.items())]
        if self.args.leftovers is not None:
            cleaned = self._clean(self.args.leftovers)
            result["leftovers"] = dataclasses.asdict(cleaned)
            lines.append(
                f"orphans of drops: {len(cleaned.deleted)} deleted, {len(cleaned.kept)} kept"
            )
            lines += [f"  {where}: {why}" for where, why in cleaned.kept.items()]
        self._print(result, "\n".join(lines))
        return 0

    def _tables(self, ref: TableRef | None) -> Iterator[CatalogTable]:
        """Yields the table, if it exists; for None, all tables of the metastore."""
        if ref is not None:
            with suppress(NoSuchObject):
                yield self.objects.table(ref)
            return
        for database, _ in self.objects.databases():
            yield from self.objects.tables(database)

    def _clean(self, record: Path) -> CleanupResult:
        """Deletes the orphans in the view's record, which may not exist yet
        (docs/guide/metastore-view.md)."""
        text = record.read_text(encoding="utf-8") if record.exists() else ""
        clusters = self._clusters()
        left = [each for each in read_orphans(text) if each.cluster in clusters]
        before = time.time() - self.args.grace
        topology, log = self.settings.topology, OrphanLog(record)
        return delete_orphans(self.files, self.objects, topology, left, log, before)

    def _clusters(self) -> list[ClusterName]:
        clusters = self.settings.topology.clusters
        if self.args.to is None:
            return list(clusters)
        if self.args.to not in clusters:
            raise NotCopyable(f"there is no cluster {self.args.to} ({', '.join(clusters)}).")
        return [ClusterName(self.args.to)]

    def _root(self, cluster: ClusterName) -> str:
        root: str | None = self.args.root
        return root or default_root(self.settings.topology.clusters[cluster].filesystem)

    def _show_plan(self, plan: CopyPlan) -> None:
        about: dict[str, object] = {
            "table": str(plan.ref),
            "cluster": plan.cluster,
            "fresh": plan.fresh,
        }
        items = [dataclasses.asdict(item) | {"why": item.why.value} for item in plan.items]
        steps = list(step_lines(plan.steps))
        about |= {"items": items, "steps": steps, "absent": self.absent}
        self._print(about, "\n".join([*plan.lines(), *_absent_lines(self.absent)]))

    def _emit(self, event: Mapping[str, object]) -> None:
        if self.args.json:
            print(json.dumps(event), flush=True)

    def _print(self, result: Mapping[str, object], text: str) -> None:
        print(json.dumps(result) if self.args.json else text, flush=True)


def as_json(report: CopyReport) -> dict[str, object]:
    """The report as a JSON object."""
    facts = dataclasses.asdict(report)
    del facts["copied"], facts["sent"]  # lists by object; the history has their sums
    return facts | {"failed": {name: str(error) for name, error in report.failed.items()}}


def as_text(report: CopyReport, plan: CopyPlan) -> str:
    """The report as text for a terminal."""
    lines = [
        f"{plan.ref} to {plan.cluster}: {len(report.published)} copied, {report.fresh} fresh,"
        f" {len(report.failed)} failed; {report.files_sent} files sent,"
        f" {report.files_kept} were there, {report.bytes_sent:,} bytes in {report.seconds:.1f} s"
    ]
    lines += [str(error) for error in report.failed.values()]
    return "\n".join(lines)


def _absent_lines(absent: Sequence[str]) -> Iterator[str]:
    if absent:
        noun = "partition is" if len(absent) == 1 else "partitions are"
        yield f"warning: {len(absent)} named {noun} not in the table: {_some(absent)}"


def _some(names: Sequence[str]) -> str:
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return ", ".join(names[:3]) + more


def _differences(found: Verification, cluster: ClusterName) -> str:
    head = (
        f"{cluster}: {found.compared} compared, {len(found.findings)} differ,"
        f" {found.stale} stale, {found.missing} without a copy"
    )
    return "\n".join(
        [head, *(f"  {f.name or 'the table'}: {f.difference}" for f in found.findings)]
    )
