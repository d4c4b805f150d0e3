"""Where clients come in over TLS: each is counted before its handshake begins.

A server of asyncio's tells of a connection only when the handshake is over. Whoever began it and
said no more would be in nobody's count, with a socket and some memory of ours.
"""

import asyncio
import logging
import socket
from collections.abc import Callable, Coroutine
from typing import Any

from conf.topology import Endpoint
from proxy.limits import Limits
from proxy.server.client_connection import ClientConnection
from proxy.server.connection_limiter import Turnstile
from proxy.server.sockets import tune
from proxy.server.tls import Certificate

_BACKLOG = 100
_REST = 1.0  # seconds after a connection could not be taken: no descriptors are left, mostly
_log = logging.getLogger(__name__)


class TlsDoor:
    """`open` it once. A handshake takes `Limits.handshake` at most."""

    def __init__(
        self,
        factory: Callable[[], ClientConnection],
        certificate: Certificate,
        limits: Limits,
        turnstile: Turnstile,
    ) -> None:
        self._factory = factory
        self._certificate = certificate
        self._limits = limits
        self._turnstile = turnstile
        self._listening: list[socket.socket] = []
        self._tasks: set[asyncio.Task[None]] = set()

    def open(self, endpoint: Endpoint, shared: bool) -> Endpoint:
        """Takes connections at all that the host's name stands for; the address in use. Raises
        OSError, and then nobody listens."""
        found = socket.getaddrinfo(
            endpoint.host, endpoint.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )
        try:
            for family, *_, address in found:
                listening = socket.create_server(
                    address[:2], family=family, backlog=_BACKLOG, reuse_port=shared
                )
                listening.setblocking(False)
                tune((listening,))
                self._listening.append(listening)
        except OSError:
            self.close()
            raise
        for listening in self._listening:
            self._begin(self._take(listening))
        return Endpoint(endpoint.host, self._listening[0].getsockname()[1])

    def close(self) -> None:
        """Takes no more connections, and lets go of those whose handshake is not over."""
        for task in self._tasks:
            task.cancel()
        for listening in self._listening:
            listening.close()

    async def wait_closed(self) -> None:
        """Until nothing of it is left."""
        if self._tasks:
            await asyncio.wait(self._tasks)

    async def _take(self, listening: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        while True:
            try:
                connection, address = await loop.sock_accept(listening)
            except ConnectionError:
                continue  # it went before it was taken
            except OSError as error:
                _log.error("no connection can be taken: %s", error)
                await asyncio.sleep(_REST)
                continue
            client = self._factory()
            if self._turnstile.expect(client, str(address[0])):
                client.handshake = self._begin(self._shake_hands(client, connection))
            else:
                connection.close()

    def _begin(self, what: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.get_running_loop().create_task(what)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def _shake_hands(self, client: ClientConnection, connection: socket.socket) -> None:
        """Once it is done the client is told of the connection, and tells its server."""
        done = False
        try:
            await asyncio.get_running_loop().connect_accepted_socket(
                lambda: client,
                connection,
                ssl=self._certificate.context,
                ssl_handshake_timeout=self._limits.handshake,
                ssl_shutdown_timeout=self._limits.close,
            )
            done = True
        except OSError:
            pass  # not TLS, not ours, too late, or gone
        finally:
            if not done:
                self._turnstile.give_up(client)
