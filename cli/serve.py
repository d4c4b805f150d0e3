"""`causeway serve`: the proxy alone, against existing clusters."""

import argparse
import asyncio
import signal
import sys
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path

import uvloop

from cli import arenas, hangup, workers
from cli.copier import Copier
from cli.errors import CannotListen, NoClusters
from cli.held import taken
from cli.target import add_target_arguments, load_settings
from conf.log_fields import add_log_fields
from conf.logs import configure_logs
from conf.settings.load import load
from conf.settings.settings import Settings
from metastore.snapshot.change_follower import follow
from metastore.snapshot.loader_client import Loader
from metastore.snapshot.snapshot import Snapshot
from proxy.limits import DEFAULT
from proxy.operations.admin import Admin
from proxy.operations.peers import ALONE
from proxy.operations.worker_group import Brief, answer_supervisor
from proxy.server.listeners import Listening
from proxy.server.server import serve

_SWITCH = 0.001  # seconds


def configure(parser: argparse.ArgumentParser) -> None:
    add_target_arguments(parser)
    parser.add_argument(workers.WORKER, action="store_true", help=argparse.SUPPRESS)


def run(args: argparse.Namespace) -> int:
    configure_logs()
    arenas.few()
    with hangup.held_back():
        return _run(args)


def _run(args: argparse.Namespace) -> int:
    # What threads work out takes the interpreter from the event loop for no longer than this.
    sys.setswitchinterval(_SWITCH)
    settings = taken(args.target) if args.worker else load_settings(args)
    configure_logs(settings.operating.log_format, settings.operating.log_level)
    if not settings.topology.in_use and not settings.upstream:
        raise NoClusters("the settings name no cluster to run statements in.")
    try:
        if args.worker:
            uvloop.run(_work(settings, args.target))
        elif workers.size(settings) > 1:
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
    """As one of several, which a supervisor started."""
    orders, brief = await workers.orders()
    add_log_fields(worker=str(brief.number))
    settings = workers.told(settings, brief)
    await _serve(settings, path, workers.announce, brief, orders)


async def _serve(
    settings: Settings,
    path: Path,
    announce: Callable[[Listening], None],
    brief: Brief | None = None,
    orders: asyncio.StreamReader | None = None,
) -> None:
    """Until Ctrl-C, or TERM and what runs has ended, or the supervisor's `orders`; HUP reads the
    settings anew."""
    snapshot = Snapshot(settings.snapshot_ttl, settings.snapshot_limit)
    with closing(Loader(settings, snapshot)) as loader:
        signals = _Signals(orders)
        limits = DEFAULT.of(settings.operating)
        signals.serving = asyncio.ensure_future(
            serve(
                settings,
                snapshot,
                loader,
                announce,
                limits,
                copier=Copier(path),
                managed=signals.manage,
                read=lambda: load(path),
                crew=brief.crew() if brief else ALONE,
                cookie_key=brief.cookie_key if brief else None,
            )
        )
        following = asyncio.ensure_future(follow(settings, snapshot))
        try:
            with suppress(asyncio.CancelledError):
                await signals.serving
        finally:
            following.cancel()
            await asyncio.gather(following, return_exceptions=True)


class _Signals:
    """HUP reloads, the first TERM lets what runs come to its end, another one and INT do not.

    Without its supervisor a worker ends at once.
    """

    serving: "asyncio.Future[None]"

    def __init__(self, orders: asyncio.StreamReader | None) -> None:
        self._orders = orders
        self._obeying: asyncio.Future[None] | None = None
        self._finishing: asyncio.Future[None] | None = None
        self._stop_on(signal.SIGTERM, signal.SIGINT)

    def manage(self, admin: Admin) -> None:
        loop = asyncio.get_running_loop()
        hangup.heed(admin.reload_or_say)
        loop.add_signal_handler(signal.SIGTERM, self._finish, admin)
        if self._orders is not None:
            self._obeying = asyncio.ensure_future(answer_supervisor(self._orders, admin.ask))
            self._obeying.add_done_callback(lambda _: self.serving.cancel())

    def _finish(self, admin: Admin) -> None:
        self._stop_on(signal.SIGTERM)
        self._finishing = asyncio.ensure_future(admin.finish())
        self._finishing.add_done_callback(lambda _: self.serving.cancel())

    def _stop_on(self, *numbers: int) -> None:
        for number in numbers:
            asyncio.get_running_loop().add_signal_handler(number, lambda: self.serving.cancel())


def _announce(listening: Listening) -> None:
    for endpoint in (listening.binary, listening.http):
        if endpoint is not None:
            print(f"listening {endpoint}", flush=True)
