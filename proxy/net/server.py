"""The listening server."""

import asyncio
import logging
from collections.abc import Callable

from conf.settings import Auth, Settings
from conf.topology import Endpoint
from proxy.net.client import ClientConnection
from proxy.net.facts import Decider, Loader, Snapshot
from proxy.net.hub import Hub
from proxy.net.identity import Anyone, Authenticator, identified
from proxy.net.limits import DEFAULT, Limits
from proxy.net.service import Service
from proxy.net.statement import Copier
from proxy.wire.framing import BareInbound, SaslInbound

_log = logging.getLogger(__name__)
_SWEEP_EVERY = 10.0


async def serve(
    settings: Settings,
    snapshot: Snapshot,
    loader: Loader,
    ready: Callable[[Endpoint], None] | None = None,
    limits: Limits = DEFAULT,
    copier: Copier | None = None,
    authenticator: Authenticator | None = None,
) -> None:
    """Serves until cancelled. `ready` is told the address once connections are taken.

    Raises OSError when the address cannot be had.
    """
    async with asyncio.TaskGroup() as group:
        decider = Decider(settings, snapshot, loader)
        hub = Hub(decider, limits, group, copier)
        clients: set[ClientConnection] = set()
        who = authenticator or Anyone()

        def connected(client: ClientConnection) -> None:
            if len(clients) >= limits.client_connections:
                client.abort()
                return
            clients.add(client)
            group.create_task(_serve_client(hub, client, clients, who))

        def protocol() -> ClientConnection:
            bare = settings.auth is Auth.NOSASL
            inbound = BareInbound() if bare else SaslInbound(who.mechanisms)
            return ClientConnection(inbound, connected)

        loop = asyncio.get_running_loop()
        server = await loop.create_server(protocol, settings.listen.host, settings.listen.port)
        try:
            if ready is not None:
                ready(Endpoint(settings.listen.host, server.sockets[0].getsockname()[1]))
            while True:
                await asyncio.sleep(_SWEEP_EVERY)
                hub.lines.sweep()
        finally:
            server.close()
            hub.lines.close()
            await decider.close()


async def _serve_client(
    hub: Hub, client: ClientConnection, clients: set[ClientConnection], who: Authenticator
) -> None:
    """One client to its end; whatever happens to it happens to nobody else."""
    loop = asyncio.get_running_loop()
    patience = loop.call_later(hub.limits.negotiation, client.let_go_if_nobody)
    try:
        if await identified(client, who):
            await Service(hub, client).serve()
    except Exception:
        _log.exception("a connection failed for a reason of ours")
    finally:
        patience.cancel()
        client.close()  # the last word of a negotiation may still be on its way
        clients.discard(client)
