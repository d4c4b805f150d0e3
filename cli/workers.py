"""`causeway serve` on several cores: the supervisor, and each of its workers."""

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
from typing import Any

from cli import hangup
from cli.held import Held
from conf.errors import CausewayError
from conf.settings.settings import Settings
from conf.topology import Endpoint
from proxy.operations.admin_server import AdminServer
from proxy.operations.administration import RELOAD
from proxy.operations.audit_store import Audit
from proxy.operations.observer import administration
from proxy.operations.worker_group import Brief, Supervisor, say
from proxy.server.listeners import Listening

_log = logging.getLogger(__name__)
WORKER = "--worker"  # what makes `causeway serve` one of several


def size(settings: Settings) -> int:
    """How many processes the settings ask for."""
    return settings.operating.workers or len(os.sched_getaffinity(0))


async def supervise(settings: Settings, path: Path, announce: Callable[[Listening], None]) -> None:
    """Until TERM and what runs has ended, or INT. Raises OSError, WorkerFailed, and as `Held`."""
    with ExitStack() as exits:
        folder = exits.enter_context(tempfile.TemporaryDirectory(prefix="causeway-"))
        listening = _reserved(settings, exits)
        held = Held(path, Path(folder) / "settings")
        argv = (sys.executable, "-m", "cli.main", "serve", "--conf", str(held.latest), WORKER)
        ports = _port(listening.binary), _port(listening.http)
        supervisor = Supervisor(argv, size(settings), Path(folder), ports)

        async def ask(action: str, argument: str) -> Any:
            if action == RELOAD:
                held.take()
            return await supervisor.ask(action, argument)

        audit = _audit(settings, exits)

        def observed(action: str, argument: str, caller: str, refused: bool) -> None:
            if audit is not None:
                audit.put(administration(action, argument, caller, refused))

        desk = AdminServer(ask, observed, settings.transports)
        serving = asyncio.ensure_future(_serve(supervisor, desk, settings, announce, listening))
        _heed_signals(supervisor, held, serving)
        try:
            with suppress(asyncio.CancelledError):
                await serving
        finally:
            desk.close()
            await supervisor.end(settings.operating.drain_timeout)


def _audit(settings: Settings, exits: ExitStack) -> Audit | None:
    """The supervisor's end of the audit log, which has all lines once `exits` are left."""
    operating = settings.operating
    if operating.audit_file is None:
        return None
    audit = Audit(operating.audit_file, operating.audit_size)
    exits.callback(audit.close)
    return audit


async def _serve(
    supervisor: Supervisor,
    desk: AdminServer,
    settings: Settings,
    announce: Callable[[Listening], None],
    listening: Listening,
) -> None:
    await desk.listen(settings.operating)
    await supervisor.start()
    announce(listening)
    await supervisor.watch()


def _heed_signals(supervisor: Supervisor, held: Held, serving: "asyncio.Future[None]") -> None:
    """HUP reloads everywhere or nowhere; TERM and INT, and each one more, go on to all workers."""
    loop = asyncio.get_running_loop()

    def stop(number: int) -> None:
        supervisor.stop(number)
        serving.cancel()

    def reload() -> None:
        try:
            held.take()
        except CausewayError as error:
            _log.error("settings not reloaded: %s", error)
        else:
            supervisor.reload()

    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop, number)
    hangup.heed(reload)


def _reserved(settings: Settings, exits: ExitStack) -> Listening:
    """The addresses, held until the end. Raises OSError when one is somebody else's."""
    host, by = settings.listen.host, settings.transports
    binary = exits.enter_context(_held(settings.listen)) if by.binary else None
    http = exits.enter_context(_held(Endpoint(host, by.http_port))) if by.http else None
    return Listening(_at(host, binary), _at(host, http))


def _held(endpoint: Endpoint) -> socket.socket:
    """A socket that keeps others' from the address, and never listens itself."""
    family = socket.AF_INET6 if ":" in endpoint.host else socket.AF_INET
    with socket.socket(family) as probe:  # fails even for one that would share its address
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        probe.bind((endpoint.host, endpoint.port))
        port = probe.getsockname()[1]
    held = socket.socket(family)
    try:
        held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        held.bind((endpoint.host, port))
    except OSError:
        held.close()
        raise
    return held


def _at(host: str, held: socket.socket | None) -> Endpoint | None:
    return None if held is None else Endpoint(host, held.getsockname()[1])


def _port(endpoint: Endpoint | None) -> int:
    return 0 if endpoint is None else endpoint.port


def told(settings: Settings, brief: Brief) -> Settings:
    """A worker's settings: the addresses that its supervisor holds."""
    binary, http = brief.ports
    return replace(
        settings,
        listen=Endpoint(settings.listen.host, binary or settings.listen.port),
        transports=replace(settings.transports, http_port=http or settings.transports.http_port),
    )


async def orders() -> tuple[asyncio.StreamReader, Brief]:
    """What the supervisor says to this worker, and what it said first."""
    reader = asyncio.StreamReader()
    loop = asyncio.get_running_loop()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    return reader, Brief.read(await reader.readline())


def announce(_: Listening) -> None:
    """This worker serves."""
    say({"ready": True})
