"""`causeway serve`: runs the proxy for existing clusters."""

import argparse
import asyncio
import signal
import sys
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path

import uvloop

from cli.errors import CannotListen, NoClusters
from cli.server import workers
from cli.server.change_sizes import ChangeSizesByChild
from cli.server.copier import CopierByChild
from cli.server.garbage import collect_when_quiet, shorten_pauses
from cli.server.malloc import limit_malloc_arenas
from cli.server.settings_history import newest, replay
from cli.server.signals import install_sighup_handler, sighup_blocked
from cli.target import add_target_arguments, load_settings
from conf.logs.log_fields import add_log_fields
from conf.logs.logs import configure_logs
from conf.settings.load import load
from conf.settings.settings import Settings
from metastore.snapshot.change_follower import follow
from metastore.snapshot.loader_client import SnapshotLoader
from metastore.snapshot.snapshot import Snapshot
from proxy.administration.admin import Admin
from proxy.limits import DEFAULT
from proxy.server.listeners import ListenAddresses
from proxy.server.peers import WorkerGroup
from proxy.workers.supervisor import WorkerConfig, answer_supervisor
from proxy.workers.worker import serve

SWITCH = 0.001  # seconds that another thread may hold the interpreter before the event loop


def configure(parser: argparse.ArgumentParser) -> None:
    add_target_arguments(parser)
    parser.add_argument(workers.WORKER, action="store_true", help=argparse.SUPPRESS)


def run(args: argparse.Namespace) -> int:
    limit_malloc_arenas()
    with sighup_blocked():
        configure_logs()
        return _run(args)


def _run(args: argparse.Namespace) -> int:
    sys.setswitchinterval(SWITCH)
    settings = replay(args.target) if args.worker else load_settings(args)
    configure_logs(settings.operating.log_format, settings.operating.log_level)
    if not settings.topology.in_use and not settings.upstream:
        raise NoClusters("the settings name no cluster to run statements in.")
    try:
        if args.worker:
            uvloop.run(_work(settings, args.target))
        elif workers.worker_count(settings) > 1:
            uvloop.run(workers.supervise(settings, args.target, _announce))
        else:
            uvloop.run(_serve(settings, args.target, _announce))
    except OSError as error:
        raise CannotListen(f"{settings.listen}: {error}.") from error
    except BaseExceptionGroup as group:
        if not any(isinstance(error, OSError) for error in group.exceptions):
            raise
        raise CannotListen(f"{settings.listen}: {group.exceptions[0]}.") from group
    return 0


async def _work(settings: Settings, path: Path) -> None:
    """Serves as one of several workers of a supervisor."""
    requests, config = await workers.connect_supervisor()
    add_log_fields(worker=str(config.number))
    settings = workers.with_ports(settings, config)
    await _serve(settings, path, workers.announce, config, requests)


async def _serve(
    settings: Settings,
    path: Path,
    announce: Callable[[ListenAddresses], None],
    worker: WorkerConfig | None = None,
    requests: asyncio.StreamReader | None = None,
) -> None:
    """Serves until SIGINT, or until SIGTERM and the end of the running statements. A worker answers
    the `requests` of its supervisor, and ends with it."""
    snapshot = Snapshot(settings.snapshot_ttl, settings.snapshot_limit)
    with closing(SnapshotLoader(settings, snapshot)) as loader:
        signals = _Signals(requests)
        limits = DEFAULT.of(settings.operating)
        signals.serving = asyncio.ensure_future(
            serve(
                settings,
                snapshot,
                loader,
                announce,
                limits,
                copier=CopierByChild(path),
                on_admin=signals.manage,
                read_settings=lambda: newest(path) if worker else load(path),
                workers=worker.workers() if worker else WorkerGroup(used_before=True),
                cookie_key=worker.cookie_key if worker else None,
                change_sizes=ChangeSizesByChild(),
            )
        )
        shorten_pauses()
        background = [
            asyncio.ensure_future(each)
            for each in (follow(settings, snapshot), collect_when_quiet())
        ]
        try:
            with suppress(asyncio.CancelledError):
                await signals.serving
        finally:
            for each in background:
                each.cancel()
            await asyncio.gather(*background, return_exceptions=True)


class _Signals:
    """Handles signals. SIGHUP reloads the settings. The first SIGTERM ends the process when the
    running statements have ended; a second one, and SIGINT, end it at once. A worker ends at once
    when its supervisor has ended.
    """

    serving: "asyncio.Future[None]"

    def __init__(self, requests: asyncio.StreamReader | None) -> None:
        self._requests = requests
        self._answering: asyncio.Future[None] | None = None
        self._finishing: asyncio.Future[None] | None = None
        self._stop_on(signal.SIGTERM, signal.SIGINT)

    def manage(self, admin: Admin) -> None:
        loop = asyncio.get_running_loop()
        install_sighup_handler(admin.reload_at_signal)
        loop.add_signal_handler(signal.SIGTERM, self._finish, admin)
        if self._requests is not None:
            self._answering = asyncio.ensure_future(
                answer_supervisor(self._requests, admin.run_action)
            )
            self._answering.add_done_callback(lambda _: self.serving.cancel())

    def _finish(self, admin: Admin) -> None:
        self._stop_on(signal.SIGTERM)
        self._finishing = asyncio.ensure_future(admin.finish())
        self._finishing.add_done_callback(lambda _: self.serving.cancel())

    def _stop_on(self, *numbers: int) -> None:
        for number in numbers:
            asyncio.get_running_loop().add_signal_handler(number, lambda: self.serving.cancel())


def _announce(listening: ListenAddresses) -> None:
    for endpoint in (listening.binary, listening.http):
        if endpoint is not None:
            print(f"listening {endpoint}", flush=True)
