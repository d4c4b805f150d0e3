"""Runs the server of one process: listeners, connections, administration and periodic tasks."""

import asyncio
import logging
import secrets
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from itertools import count
from typing import TYPE_CHECKING

from conf.errors import BadSetting
from conf.logs.log_fields import add_log_fields
from conf.settings.operating import Operating
from conf.settings.settings import ClusterChoice, Settings
from proxy.administration.admin import Admin
from proxy.administration.admin_server import AdminServer
from proxy.auth.authenticator import Authenticator
from proxy.auth.build_authenticator import build_authenticator
from proxy.auth.cookies import KEY_BYTES
from proxy.auth.metered_authenticator import MeteredAuthenticator
from proxy.discovery.nodes import nodes
from proxy.limits import DEFAULT, Limits
from proxy.operations.audit.audit_store import AuditLog
from proxy.operations.metrics import Metrics
from proxy.operations.observer import Observer
from proxy.record.incidents import internal_error
from proxy.server.calls.handler import HiveServer2Handler
from proxy.server.client_connection import ClientConnection
from proxy.server.connection_limiter import ConnectionLimiter
from proxy.server.listeners import ConnectionFactory, ListenAddresses, Listeners
from proxy.server.login import authenticate
from proxy.server.peers import ALONE, WorkerGroup
from proxy.server.server_state import ServerState
from proxy.statement.change_sizes import ChangeSizes
from proxy.statement.copies.copier import Copier
from proxy.statement.metastore_access import Loader, SnapshotAccess
from proxy.statement.running_writes.journal_store import WriteJournal
from proxy.statement.statement_router import StatementRouter
from proxy.upstream.cluster_load import ClusterLoad
from proxy.upstream.health_runner import watch

if TYPE_CHECKING:
    from proxy.discovery.zookeeper_client import Registration
    from proxy.operations.history.history_runner import HistoryRunner
    from proxy.operations.telemetry_thread import Telemetry

_log = logging.getLogger(__name__)
_connections = count(1)
_SWEEP_INTERVAL = 10.0  # seconds


async def serve(
    settings: Settings,
    snapshot: SnapshotAccess,
    loader: Loader,
    ready: Callable[[ListenAddresses], None] | None = None,
    limits: Limits = DEFAULT,
    copier: Copier | None = None,
    authenticator: Authenticator | None = None,
    cookie_key: bytes | None = None,
    on_admin: Callable[[Admin], None] | None = None,
    read_settings: Callable[[], Settings] | None = None,
    workers: WorkerGroup = ALONE,
    change_sizes: ChangeSizes | None = None,
) -> None:
    """Serves until it is cancelled.

    Once connections are accepted, `on_admin` is called with the operators' requests and then
    `ready` with the addresses. `cookie_key` is the same in all processes of a server.
    `read_settings` reads the settings for a reload. The processes of a group of `workers` listen on
    the same addresses, and their supervisor serves the operators.

    Raises OSError when an address is in use, BadCertificate, and BadSetting.
    """
    authenticator = authenticator or build_authenticator(settings.identity, workers.throttle)
    async with (
        _audit_log(settings.operating) as audit,
        _history(settings.operating, workers) as history,
        _telemetry(settings) as telemetry,
        asyncio.TaskGroup() as group,
    ):
        by_cost = settings.cluster_choice is ClusterChoice.COST
        load = ClusterLoad(workers.counters) if by_cost else None
        router = StatementRouter(settings, snapshot, loader, load=load)
        observer = Observer(Metrics(), audit, history, telemetry)
        journal = WriteJournal(settings.operating.writes_folder)
        state = ServerState(router, limits, group, copier, observer, workers, journal, change_sizes)
        limiter = ConnectionLimiter(
            limits, state.observer.metrics, workers.counters, max(1, len(workers.sockets))
        )
        clients = _Clients(state, limiter, MeteredAuthenticator(authenticator, state.observer))
        key = cookie_key or secrets.token_bytes(KEY_BYTES)
        listeners = await Listeners.open(
            ConnectionFactory(
                settings, limits, clients.authenticator, key, clients.connected, limiter
            ),
            shared=bool(workers.sockets),
        )
        state.services.write_recovery.take_over()
        _start_periodic_tasks(state)
        async with _administered(clients, listeners, settings, read_settings, workers) as admin:
            if on_admin is not None:
                on_admin(admin)
            if ready is not None:
                ready(listeners.addresses)
            await _sweep(state, listeners)


@dataclass(frozen=True, slots=True)
class _Clients:
    """Starts a task for each connection."""

    state: ServerState
    limiter: ConnectionLimiter
    authenticator: Authenticator

    def connected(self, client: ClientConnection) -> None:
        if self.limiter.admit(client):
            self.state.group.create_task(self._serve(client))

    def peer_connected(self, peer: ClientConnection) -> None:
        self.state.group.create_task(self._serve_peer(peer))

    async def _serve(self, client: ClientConnection) -> None:
        """Serves one client until it disconnects. Errors end only this connection."""
        add_log_fields(connection=str(next(_connections)), address=client.peer)
        loop = asyncio.get_running_loop()
        login_timer = loop.call_later(self.state.limits.negotiation, client.abort_unless_logged_in)
        try:
            if await authenticate(client, self.authenticator):
                await HiveServer2Handler(self.state, client).serve()
        except Exception:
            internal_error(_log, "serving a connection")
        finally:
            login_timer.cancel()
            client.close()  # not `abort`: the negotiation's last reply may not be sent yet
            self.limiter.leave(client)

    async def _serve_peer(self, peer: ClientConnection) -> None:
        """Serves the calls that another worker forwards. Each call has its user."""
        add_log_fields(connection=f"peer-{next(_connections)}")
        try:
            await HiveServer2Handler(self.state, peer).serve()
        except Exception:
            internal_error(_log, "answering another worker")
            peer.abort()


async def _sweep(state: ServerState, listeners: Listeners) -> None:
    """Closes idle connections to clusters and loads a changed certificate, until cancelled."""
    while True:
        await asyncio.sleep(_SWEEP_INTERVAL)
        state.pool.sweep()
        listeners.refresh()


@asynccontextmanager
async def _administered(
    clients: _Clients,
    listeners: Listeners,
    settings: Settings,
    read_settings: Callable[[], Settings] | None,
    workers: WorkerGroup,
) -> AsyncIterator[Admin]:
    """Registers the server in service discovery, and listens for operators or, in a worker, for the
    other workers. At the end it closes these, the clients' listeners and the clusters' connections.
    """
    state = clients.state
    registration = _registration(settings, listeners.addresses, workers)
    deregister = registration.stop if registration is not None else None
    admin = Admin(state, clients.limiter, listeners, read_settings, deregister)
    observer = state.observer
    admin_server = AdminServer(
        admin.run_action, observer.administered, settings.transports, observer.history
    )
    try:
        if workers.sockets:
            await state.peers.listen(clients.peer_connected)
        else:
            await admin_server.listen(settings.operating)
        if registration is not None:
            registration.start()
        yield admin
    finally:
        admin_server.close()
        state.peers.close()
        listeners.close()
        await listeners.wait_closed()
        if registration is not None:
            await asyncio.to_thread(registration.stop)
        state.pool.close()
        state.services.write_recovery.close()
        await state.router.analysis.close()


def _start_periodic_tasks(state: ServerState) -> None:
    """Starts the tasks that close idle sessions and operations and check the clusters' health."""
    state.group.create_task(_repeat(state.close_idle, lambda: state.limits.check_interval))
    if state.limits.health_interval:
        interval = lambda: state.limits.health_interval  # noqa: E731
        state.group.create_task(watch(state.pool, state.clusters, interval))


async def _repeat(act: Callable[[], None], interval: Callable[[], float]) -> None:
    while True:
        await asyncio.sleep(interval())
        act()


def _registration(
    settings: Settings, addresses: ListenAddresses, workers: WorkerGroup
) -> "Registration | None":
    """The registration in ZooKeeper; None without ZooKeeper, and in all workers but the first,
    which registers the whole server."""
    zookeeper = settings.operating.zookeeper
    if zookeeper is None or workers.number != 0:
        return None
    from proxy.discovery.zookeeper_client import Registration  # kazoo is large

    entries = nodes(settings, addresses.binary, addresses.http, socket.getfqdn())
    return Registration(zookeeper, entries)


@asynccontextmanager
async def _audit_log(operating: Operating) -> AsyncIterator[AuditLog | None]:
    """The audit log, or None. Queued entries are written at the end."""
    if operating.audit_file is None:
        yield None
        return
    audit = AuditLog(operating.audit_file, operating.audit_size)
    try:
        yield audit
    finally:
        await asyncio.to_thread(audit.close)


@asynccontextmanager
async def _telemetry(settings: Settings) -> AsyncIterator["Telemetry | None"]:
    """The thread that sends statements to OpenTelemetry and OpenLineage, or None.

    Raises BadSetting.
    """
    if not settings.telemetry.traces and not settings.telemetry.lineage:
        yield None
        return
    try:
        from proxy.operations.telemetry_thread import Telemetry  # its libraries are an extra
    except ModuleNotFoundError as error:
        raise BadSetting(
            f"telemetry.* needs {error.name}: pip install 'causeway[telemetry]'"
        ) from None
    try:
        telemetry = Telemetry(settings.telemetry, settings.metastores, socket.gethostname())
    except (OSError, UnicodeDecodeError) as error:
        raise BadSetting(f"telemetry.openlineage.token.file: {error}") from None
    telemetry.start()
    try:
        yield telemetry
    finally:
        await asyncio.to_thread(telemetry.close)


@asynccontextmanager
async def _history(
    operating: Operating, workers: WorkerGroup
) -> AsyncIterator["HistoryRunner | None"]:
    """The history, or None. Queued rows are written at the end, within some seconds. Only the first
    worker deletes old rows."""
    if not operating.history_store:
        yield None
        return
    from database.history.history_thread import Retention  # SQLAlchemy is large
    from proxy.operations.history.history_runner import HistoryRunner

    retention = Retention(operating.history_age, operating.history_size)
    history = HistoryRunner(
        operating.history_store, socket.gethostname(), retention if workers.number == 0 else None
    )
    history.start()
    try:
        yield history
    finally:
        await asyncio.to_thread(history.close)
