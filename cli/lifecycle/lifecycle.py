"""`causeway lifecycle`: runs the instances of scheduled feeds and processes.

    causeway lifecycle serve [--once] [--at TIME] [--workers N]
    causeway lifecycle plan [--at TIME] [--evictions]

`serve` runs the entities that its user submitted, until it is stopped; several servers may share a
store. With --once it ends when nothing is left to do. --at sets the clock, which then continues
(with --once it stops). `plan` prints what a round would do, `plan --evictions` what retention
would drop. Events go to standard error as JSON lines. --conf names settings files. The server
notifies the views in these of every change before it reports the change, as
`snapshot.writers = views` requires.
"""

import argparse
import json
import logging
import os
import signal
import socket
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

from cli.lifecycle.lifecycle_options import (
    add_pig_option,
    add_store_options,
    catalog_service,
    named_settings,
    now_of,
    open_store,
    time_option,
)
from cli.lifecycle.lifecycle_port import LifecyclePort, LifecycleServer
from cli.lifecycle.work_observer import WorkObserver
from conf.kinds import size
from conf.names import ClusterName
from conf.settings.lifecycle import Lifecycle
from conf.settings.security.metastore_login import MetastoreLogin
from conf.settings.settings import Settings
from metastore.client.changes.notifying_client import Notify
from metastore.client.changes.view_sync import ViewSync
from pipeline.copy.copy_record import RecordCopy
from pipeline.copy.endpoints import read_endpoints
from pipeline.copy.files import CopyOptions
from pipeline.copy.link_files import Link, Links
from pipeline.falcon.calendar import format_time
from pipeline.hudi.table.storage import LocalStorage, is_local
from pipeline.processes.commands import Programs, find_spark_submit
from pipeline.scheduler import entity_service
from pipeline.scheduler.actions.catalog_service import CatalogService
from pipeline.scheduler.actions.cluster_actions import ClusterActions
from pipeline.scheduler.alert_sender import AlertSender, Deliver, MailServer, mail, webhook
from pipeline.scheduler.clock import Clock, RunningClock, SetClock, SystemClock
from pipeline.scheduler.eviction_plans import eviction_plans
from pipeline.scheduler.instances import plan as planning
from pipeline.scheduler.instances.changes import Change
from pipeline.scheduler.instances.plan import CheckInputs, CreateInstances, StartRun, Step
from pipeline.scheduler.operations import Operations
from pipeline.scheduler.server import SchedulerOptions, SchedulerServer
from proxy.operations.audit.audit_events import ApiCaller

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from pipeline.copy.files import Files
    from pipeline.hudi.table.storage import HudiStorage

_STOP = (signal.SIGTERM, signal.SIGINT)


def configure(parser: argparse.ArgumentParser) -> None:
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    serve = commands.add_parser("serve", help="run scheduled feeds and processes")
    add = serve.add_argument
    add("--once", action="store_true", help="end when nothing is left to do")
    add("--workers", type=int, default=4, metavar="N", help="instances at a time (%(default)s)")
    pause = "pause between rounds (%(default)s)"
    add("--poll", type=float, default=10.0, metavar="SECONDS", help=pause)
    add("--lease", type=float, default=60.0, metavar="SECONDS", help="lease time (%(default)s)")
    add("--master", default="local[*]", help="Spark master of copies (%(default)s)")
    add("--spark-conf", action="append", default=[], metavar="KEY=VALUE", help="Spark setting")
    add("--spark-submit", default=find_spark_submit(), help="for Spark processes (%(default)s)")
    add("--hadoop-conf", default="", metavar="AUTHORITY=DIR,..", help="Hadoop settings, *: others")
    add(
        "--conf",
        type=Path,
        action="append",
        metavar="FILE",
        help="settings whose views are notified of changes (CAUSEWAY_CONF); lifecycle.* and"
        " catalog.service.impl of the first file apply to this server",
    )
    add("--default-cluster", metavar="NAME", help="hive.default.cluster.name of shared metastores")
    add(
        "--checksum",
        action=argparse.BooleanOptionalAction,
        default=True,
        help="read copied files back",
    )
    add(
        "--bandwidth",
        type=size,
        default=0,
        metavar="BYTES",
        help="limit per second, e.g. 100m",
    )
    add(
        "--link-bandwidth",
        type=_link_bandwidth,
        action="append",
        default=[],
        metavar="FROM:TO=BYTES",
        help="limit per second for all copies together from one cluster to another",
    )
    add_pig_option(serve)
    plan = commands.add_parser("plan", help="print what a round would do now")
    plan.add_argument(
        "--evictions", action="store_true", help="print what retention would drop now"
    )
    for each in (serve, plan):
        each.add_argument(
            "--at", type=time_option, metavar="TIME", help="use this time as the current time"
        )
        add_store_options(each)


def run(args: argparse.Namespace) -> int:
    if args.command == "serve":
        return _serve(args)
    return _evictions(args) if args.evictions else _plan(args)


def _serve(args: argparse.Namespace) -> int:
    os.environ["HADOOP_USER_NAME"] = args.user
    logging.basicConfig(level=logging.WARNING, handlers=[_Logged()])
    name = f"{socket.gethostname()}:{os.getpid()}"
    limits = SchedulerOptions(max(1, args.workers), args.lease, args.poll, args.user)
    stop = threading.Event()
    for each in _STOP:
        signal.signal(each, lambda *_: stop.set())
    known = named_settings(args.conf or ())
    own = known[0] if known else Settings()
    clock, channels = _clock(args), _channels(own.lifecycle)
    with _views(known) as notify, WorkObserver(own, name, deletes=True) as observer:
        store = open_store(args, observer.changed)
        actions = _actions(
            _Files(args, known), args, notify, observer.record, catalog_service(known)
        )
        mails = _notify(own.lifecycle)
        with AlertSender(store, clock, channels, _emit, notify=mails):
            notifies = mails is not None
            service = SchedulerServer(
                store, actions, clock, name, limits, _emit, channels.keys(), notifies
            )
            try:
                if args.once:
                    service.until_idle(stop=stop)
                else:
                    operations = Operations(
                        store, service, clock, args.user, actions.eviction_plan, observer.queues
                    )
                    with _port(own, operations, observer) as port:
                        _emit_serving(name, args.user, port)
                        service.serve(stop)
            finally:
                service.close(give_up=stop.is_set())
    return 0


def _emit_serving(name: str, user: str, port: LifecyclePort | None) -> None:
    listening = str(port.listening) if port else None
    _emit({"event": "serving", "server": name, "user": user, "listening": listening})


def _channels(settings: Lifecycle) -> dict[str, Deliver]:
    """The functions that deliver alerts, by the name of their channel."""
    channels: dict[str, Deliver] = {}
    if settings.webhook is not None:
        channels["webhook"] = webhook(settings.webhook)
    if settings.mail_to:
        server = _mail_server(settings)
        assert server is not None, "validated with the settings"
        channels["mail"] = mail(server, settings.mail_from, settings.mail_to)
    return channels


def _mail_server(settings: Lifecycle) -> MailServer | None:
    if settings.mail_server is None:
        return None
    password = settings.mail_password if settings.mail_user else None
    return MailServer(settings.mail_server, settings.mail_tls, settings.mail_user, password)


def _notify(settings: Lifecycle) -> Callable[[Sequence[str]], Deliver] | None:
    """Sends the mails that feeds and processes ask for; None without a mail server."""
    server = _mail_server(settings)
    if server is None:
        return None
    return lambda to: mail(server, settings.mail_from, to, "causeway notification")


def _port(
    settings: Settings, operations: Operations, observer: WorkObserver
) -> AbstractContextManager[LifecyclePort | None]:
    """The port of the settings, if they have one."""
    if settings.lifecycle.port is None:
        return nullcontext()
    server = LifecycleServer(operations, _observed, settings.transports, observer.history)
    return LifecyclePort(server, settings.lifecycle, settings.operating.access)


def _observed(method: str, path: str, caller: ApiCaller, refused: bool) -> None:
    """Emits an event for a change or a refused request."""
    if method != "GET" or refused:
        event = "refused" if refused else "administered"
        user = {"by": caller.name} if caller.name else {}
        _emit({"event": event, "method": method, "path": path, "address": caller.address, **user})


def _views(known: Sequence[Settings]) -> ViewSync:
    """The views of all clusters in these settings."""
    if not known:
        _emit({"event": "untold", "message": "without --conf no view is notified of changes"})
    views = [view for each in known for view in each.view_addresses]
    logins = {view: login for each in known for view, login in each.view_logins.items()}
    timeout = max((each.metastore_timeout for each in known), default=0.0)
    return ViewSync(views, timeout, logins=logins)


def _link_bandwidth(text: str) -> tuple[Link, int]:
    """`west:east=100m`. Raises ValueError."""
    link, _, limit = text.partition("=")
    source, _, target = link.partition(":")
    most = size(limit)
    if not source or not target or most < 1:
        raise ValueError(text)
    return (source, target), most


def _clock(args: argparse.Namespace) -> Clock:
    if args.at is None:
        return SystemClock()
    return SetClock(args.at) if args.once else RunningClock(args.at)


def _actions(
    files: "_Files",
    args: argparse.Namespace,
    notify: Notify,
    record: RecordCopy,
    catalogs: CatalogService,
) -> ClusterActions:
    return ClusterActions(
        files=files,
        spark=files.session,
        storage=files.storage,
        programs=Programs(args.spark_submit, args.pig),
        options=CopyOptions(checksum=args.checksum, bandwidth=args.bandwidth),
        default=ClusterName(args.default_cluster) if args.default_cluster else None,
        notify=notify,
        spark_ends=files.spark_ends,
        publishing=threading.Lock(),
        record=record,
        catalogs=catalogs,
        links=Links(dict(args.link_bandwidth)),
    )


class _Files:
    """Spark's file systems. They are opened at the first use, and again after the JVM has ended.

    A JVM has one log-in, which the first settings name.
    """

    def __init__(self, args: argparse.Namespace, known: Sequence[Settings]) -> None:
        self._args = args
        self._login = next((each.metastore_login for each in known), MetastoreLogin())
        self._filesystems = [uri for each in known for uri in each.topology.filesystems().values()]
        self._lock = threading.Lock()
        self._ends = 0
        self._files: Files | None = None
        self._storage: HudiStorage | None = None

    def __call__(self) -> "Files":
        with self._lock:
            self._forget_ended(0.0)
            if self._files is None:
                from pipeline.spark.spark_files import SparkFiles

                self._files = SparkFiles(self._session(), self._endpoints())
            return self._files

    def session(self) -> "SparkSession":
        """Spark's session, started if necessary."""
        self()
        with self._lock:
            return self._session()

    def spark_ends(self, patience: float) -> int:
        """The number of Spark's JVMs that have ended. Waits up to `patience` seconds for the
        running one."""
        with self._lock:
            self._forget_ended(patience)
            return self._ends

    def _forget_ended(self, patience: float) -> None:
        if self._files is None and self._storage is None:
            return  # Spark was not needed yet
        from pipeline.spark.session import count_ends

        ends = count_ends(patience)
        if ends > self._ends:
            self._ends, self._files, self._storage = ends, None, None

    def storage(self, uri: str) -> "HudiStorage":
        """The storage through which Hudi tables at `uri` are read."""
        if is_local(uri):
            return LocalStorage()
        with self._lock:
            self._forget_ended(0.0)
            if self._storage is None:
                from pipeline.hudi.spark_reader import HadoopStorage

                self._storage = HadoopStorage(self._session(), self._endpoints())
            return self._storage

    def _session(self) -> "SparkSession":
        from pipeline.spark.hadoop_login import session_settings
        from pipeline.spark.session import open_session

        given = self._args.spark_conf
        conf = session_settings(self._login, self._filesystems, self._endpoints(), given)
        return open_session(self._args.master, conf, "causeway lifecycle")

    def _endpoints(self) -> Mapping[str, Mapping[str, str]]:
        return read_endpoints(self._args.hadoop_conf, Path.cwd())


class _Logged(logging.Handler):
    """Emits the log records of libraries as events."""

    def emit(self, record: logging.LogRecord) -> None:
        _emit({"event": "log", "logger": record.name, "message": record.getMessage()})


def _emit(event: Mapping[str, object]) -> None:
    print(json.dumps(event), file=sys.stderr, flush=True)


def _plan(args: argparse.Namespace) -> int:
    store, now = open_store(args), now_of(args)
    catalog = entity_service.read_catalog(store)
    for key, _ in catalog.running():
        for schedule in entity_service.schedules_of(catalog, key, now):
            for step in planning.plan(schedule, store.situation(schedule.key), now):
                print(_words(step))
    return 0


def _evictions(args: argparse.Namespace) -> int:
    actions = ClusterActions(_no_files, Programs(""), catalogs=catalog_service())
    plan_one = actions.eviction_plan
    for key, found in eviction_plans(open_store(args), plan_one, args.user, now_of(args)):
        lines = found.lines() if found else ("there is no table yet",)
        print(f"{key}:", *lines, sep="\n  ")
    return 0


def _no_files() -> "Files":
    raise AssertionError("a plan touches no files")


def _words(step: Step) -> str:
    match step:
        case CreateInstances():
            first, last = step.nominals[0], step.nominals[-1]
            span = f"{format_time(first)} .. {format_time(last)}"
            skipped = f", {len(step.skipped)} skipped" if step.skipped else ""
            return f"create {len(step.nominals)} of {step.schedule.key}: {span}{skipped}"
        case CheckInputs():
            return f"look   {step.instance.key}: {len(step.needs)} inputs"
        case Change():
            return f"change {step.before.key}: {step.what} {step.message}".rstrip()
        case StartRun():
            others = f" and {len(step.claims) - 1} others" if len(step.claims) > 1 else ""
            return f"run    {step.claims[0].before.key}{others}"
