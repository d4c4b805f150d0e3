"""The listening server."""

import asyncio
import logging
import secrets
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from itertools import count
from typing import TYPE_CHECKING

from conf.log_fields import add_log_fields
from conf.settings.operating import Operating
from conf.settings.settings import Settings
from proxy.auth.authenticator import Authenticator, identified
from proxy.auth.authenticators import made
from proxy.auth.cookies import KEY_BYTES
from proxy.auth.metered_authenticator import Counted
from proxy.limits import DEFAULT, Limits
from proxy.operations.admin import Admin
from proxy.operations.admin_server import AdminServer
from proxy.operations.audit_store import Audit
from proxy.operations.discovery import nodes
from proxy.operations.incidents import internal_error
from proxy.operations.metrics import Metrics
from proxy.operations.observer import Observer
from proxy.operations.peers import ALONE, WorkerGroup
from proxy.server.client_connection import ClientConnection
from proxy.server.connection_limiter import Turnstile
from proxy.server.handler import HiveServer2Handler
from proxy.server.listeners import Doors, Listening, Porter
from proxy.server.server_state import ServerState
from proxy.statement.statement_router import Loader, Snapshot, StatementRouter
from proxy.statement.statement_runner import Copier
from proxy.upstream.health_runner import watch

if TYPE_CHECKING:
    from proxy.operations.zookeeper_client import Registration

_log = logging.getLogger(__name__)
_connections = count(1)
_SWEEP_EVERY = 10.0


async def serve(
    settings: Settings,
    snapshot: Snapshot,
    loader: Loader,
    ready: Callable[[Listening], None] | None = None,
    limits: Limits = DEFAULT,
    copier: Copier | None = None,
    authenticator: Authenticator | None = None,
    cookie_key: bytes | None = None,
    managed: Callable[[Admin], None] | None = None,
    read: Callable[[], Settings] | None = None,
    workers: WorkerGroup = ALONE,
) -> None:
    """Serves until cancelled. `ready` gets the addresses once connections are accepted; before
    that `managed` gets what operators may do. `cookie_key` is shared by servers that clients see
    as one. `read` reads the settings for a reload. A member of `workers` shares its addresses with
    the others, and its supervisor answers operators.

    Raises OSError when an address cannot be had, BadCertificate, and BadSetting.
    """
    known = authenticator or made(settings.identity, workers.throttle)
    async with _audited(settings.operating) as audit, asyncio.TaskGroup() as group:
        router = StatementRouter(settings, snapshot, loader)
        server = ServerState(router, limits, group, copier, Observer(Metrics(), audit), workers)
        turnstile = Turnstile(limits, server.observer.metrics, workers.counters)
        who = Counted(known, server.observer)

        def connected(client: ClientConnection) -> None:
            if turnstile.admit(client):
                group.create_task(_serve_client(server, client, turnstile, who))

        def called(peer: ClientConnection) -> None:
            group.create_task(_serve_peer(server, peer))

        key = cookie_key or secrets.token_bytes(KEY_BYTES)
        doors = await Doors.opened(
            Porter(settings, limits, who, key, connected, turnstile),
            shared=bool(workers.sockets),
        )
        _look_after(server, group)
        registration = _registration(settings, doors.listening, workers)
        leave = registration.stop if registration is not None else None
        admin = Admin(server, turnstile, doors, read, leave)
        desk = AdminServer(admin.ask, server.observer.administered, settings.transports)
        try:
            if workers.sockets:
                await server.peers.listen(called)
            else:
                await desk.listen(settings.operating)
            if registration is not None:
                registration.start()
            if managed is not None:
                managed(admin)
            if ready is not None:
                ready(doors.listening)
            while True:
                await asyncio.sleep(_SWEEP_EVERY)
                server.pool.sweep()
                doors.refresh()
        finally:
            desk.close()
            server.peers.close()
            doors.close()
            await doors.wait_closed()
            if registration is not None:
                await asyncio.to_thread(registration.stop)
            server.pool.close()
            await router.close()


def _look_after(server: ServerState, group: asyncio.TaskGroup) -> None:
    """What is idle is closed, and the clusters are asked how they are, now and then."""
    group.create_task(_now_and_then(server.close_idle, lambda: server.limits.check_interval))
    if server.limits.health_interval:
        interval = lambda: server.limits.health_interval  # noqa: E731
        group.create_task(watch(server.pool, server.clusters, interval))


def _registration(
    settings: Settings, listening: Listening, workers: WorkerGroup
) -> "Registration | None":
    """One for all of a server's processes, where it is to be found by ZooKeeper."""
    zookeeper = settings.operating.zookeeper
    if zookeeper is None or workers.number != 0:
        return None
    from proxy.operations.zookeeper_client import Registration  # its library is a large one

    told = nodes(settings, listening.binary, listening.http, socket.getfqdn())
    return Registration(zookeeper, told)


@asynccontextmanager
async def _audited(operating: Operating) -> AsyncIterator[Audit | None]:
    """The audit log, which has all that was before when this ends."""
    if operating.audit_file is None:
        yield None
        return
    audit = Audit(operating.audit_file, operating.audit_size)
    try:
        yield audit
    finally:
        await asyncio.to_thread(audit.close)


async def _now_and_then(act: Callable[[], None], interval: Callable[[], float]) -> None:
    while True:
        await asyncio.sleep(interval())
        act()


async def _serve_peer(server: ServerState, peer: ClientConnection) -> None:
    """Another worker's connection to its end; it says of each call whose it is."""
    add_log_fields(connection=f"peer-{next(_connections)}")
    try:
        await HiveServer2Handler(server, peer).serve()
    except Exception:
        internal_error(_log, "answering another worker")
        peer.abort()


async def _serve_client(
    server: ServerState, client: ClientConnection, turnstile: Turnstile, who: Authenticator
) -> None:
    """One client to its end; whatever happens to it happens to nobody else."""
    add_log_fields(connection=str(next(_connections)), address=client.peer)
    loop = asyncio.get_running_loop()
    patience = loop.call_later(server.limits.negotiation, client.let_go_if_nobody)
    try:
        if await identified(client, who):
            await HiveServer2Handler(server, client).serve()
    except Exception:
        internal_error(_log, "serving a connection")
    finally:
        patience.cancel()
        client.close()  # the last word of a negotiation may still be on its way
        turnstile.leave(client)
