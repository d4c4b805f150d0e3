"""`causeway serve` on several cores: a supervisor process and its workers."""

import asyncio
import logging
import os
import signal
import socket
import sys
import tempfile
from collections.abc import Callable
from contextlib import ExitStack, suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cli.server.settings_history import SettingsHistory
from cli.server.signals import install_sighup_handler
from conf.errors import CausewayError
from conf.logs.logs import set_log_level
from conf.settings.settings import Settings
from conf.topology import Endpoint
from proxy.administration.admin import ENDING
from proxy.administration.admin_server import AdminServer
from proxy.administration.operator_requests import RELOAD
from proxy.operations.audit.audit_events import ApiCaller
from proxy.operations.audit.audit_store import AuditLog
from proxy.operations.observer import administration
from proxy.server.listeners import ListenAddresses
from proxy.workers.supervisor import Supervisor, WorkerConfig, send_to_supervisor

if TYPE_CHECKING:
    from proxy.operations.history.history_runner import HistoryRunner

_log = logging.getLogger(__name__)
WORKER = "--worker"  # the option with which the supervisor starts `causeway serve` as a worker


def worker_count(settings: Settings) -> int:
    """The number of worker processes for the settings."""
    return settings.operating.workers or len(os.sched_getaffinity(0))


async def supervise(
    settings: Settings, path: Path, announce: Callable[[ListenAddresses], None]
) -> None:
    """Runs the workers until SIGINT, or until SIGTERM and the end of their statements.

    Raises OSError, WorkerFailed, UnreadableSettings, BadSetting.
    """
    with ExitStack() as exits:
        folder = exits.enter_context(tempfile.TemporaryDirectory(prefix="causeway-"))
        listening = _reserved(settings, exits)
        history = SettingsHistory(path, Path(folder) / "settings")
        argv = (sys.executable, "-m", "cli.main", "serve", "--conf", str(history.latest), WORKER)
        ports = _port(listening.binary), _port(listening.http)
        supervisor = Supervisor(argv, worker_count(settings), Path(folder), ports)

        async def run_action(action: str, argument: str) -> Any:
            if action == RELOAD:
                _reload(history)
            return await supervisor.run_action(action, argument)

        audit = _audit(settings, exits)

        def observed(action: str, argument: str, caller: ApiCaller, refused: bool) -> None:
            if audit is not None:
                audit.put(administration(action, argument, caller, refused))

        admin = AdminServer(run_action, observed, settings.transports, _history(settings))
        serving = asyncio.ensure_future(_serve(supervisor, admin, settings, announce, listening))
        _install_handlers(supervisor, history, serving)
        try:
            with suppress(asyncio.CancelledError):
                await serving
        finally:
            admin.close()
            await supervisor.end(history.settings.operating.drain_timeout + ENDING)


def _audit(settings: Settings, exits: ExitStack) -> AuditLog | None:
    """The supervisor's audit log, closed by `exits`; None without an audit file."""
    operating = settings.operating
    if operating.audit_file is None:
        return None
    audit = AuditLog(operating.audit_file, operating.audit_size)
    exits.callback(audit.close)
    return audit


def _history(settings: Settings) -> "HistoryRunner | None":
    """The history, for reading; None without history.store."""
    if not settings.operating.history_store:
        return None
    from proxy.operations.history.history_runner import HistoryRunner  # SQLAlchemy is large

    return HistoryRunner(settings.operating.history_store, "")


async def _serve(
    supervisor: Supervisor,
    admin: AdminServer,
    settings: Settings,
    announce: Callable[[ListenAddresses], None],
    listening: ListenAddresses,
) -> None:
    await admin.listen(settings.operating)
    await supervisor.start()
    announce(listening)
    await supervisor.watch()


def _install_handlers(
    supervisor: Supervisor, history: SettingsHistory, serving: "asyncio.Future[None]"
) -> None:
    """SIGHUP reloads the settings in all workers or in none. SIGTERM and SIGINT are forwarded to
    all workers."""
    loop = asyncio.get_running_loop()

    def stop(number: int) -> None:
        supervisor.stop(number)
        serving.cancel()

    def reload() -> None:
        try:
            _reload(history)
        except CausewayError as error:
            _log.error("settings not reloaded: %s", error)
        else:
            supervisor.reload()

    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop, number)
    install_sighup_handler(reload)


def _reload(history: SettingsHistory) -> None:
    """Records the settings for the workers, and applies the log level in this process.

    Raises as `SettingsHistory.record`.
    """
    history.record()
    set_log_level(history.settings.operating.log_level)


def _reserved(settings: Settings, exits: ExitStack) -> ListenAddresses:
    """The addresses of the listeners, reserved until `exits` close. Raises OSError if one is in
    use."""
    host, transports = settings.listen.host, settings.transports
    binary, http = None, None
    if transports.binary:
        binary = exits.enter_context(_reserve(settings.listen))
    if transports.http:
        http = exits.enter_context(_reserve(Endpoint(host, transports.http_port)))
    return ListenAddresses(_endpoint(host, binary), _endpoint(host, http))


def _reserve(endpoint: Endpoint) -> socket.socket:
    """A bound socket that never listens. It keeps other programs from the address.

    Raises OSError.
    """
    family = socket.AF_INET6 if ":" in endpoint.host else socket.AF_INET
    with socket.socket(family) as probe:  # without SO_REUSEPORT: fails if the address is in use
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        probe.bind((endpoint.host, endpoint.port))
        port = probe.getsockname()[1]
    reserved = socket.socket(family)
    try:
        reserved.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        reserved.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        reserved.bind((endpoint.host, port))
    except OSError:
        reserved.close()
        raise
    return reserved


def _endpoint(host: str, reserved: socket.socket | None) -> Endpoint | None:
    return None if reserved is None else Endpoint(host, reserved.getsockname()[1])


def _port(endpoint: Endpoint | None) -> int:
    return 0 if endpoint is None else endpoint.port


def with_ports(settings: Settings, config: WorkerConfig) -> Settings:
    """A worker's settings, with the ports that its supervisor reserved."""
    binary, http = config.ports
    return replace(
        settings,
        listen=Endpoint(settings.listen.host, binary or settings.listen.port),
        transports=replace(settings.transports, http_port=http or settings.transports.http_port),
    )


async def connect_supervisor() -> tuple[asyncio.StreamReader, WorkerConfig]:
    """The stream of the supervisor's requests, and the configuration in its first line."""
    reader = asyncio.StreamReader()
    loop = asyncio.get_running_loop()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    return reader, WorkerConfig.read(await reader.readline())


def announce(_: ListenAddresses) -> None:
    """Reports to the supervisor that this worker serves."""
    send_to_supervisor({"ready": True})
