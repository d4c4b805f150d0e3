"""Accepts TLS connections, and counts each before its handshake begins.

An asyncio server reports a connection only when its handshake is done. A client that began a
handshake and then sent nothing would not be counted, but would use a socket and memory.
"""

import asyncio
import logging
import socket
from collections.abc import Callable, Coroutine
from typing import Any

from conf.server_certificate import Certificate
from conf.topology import Endpoint
from proxy.limits import Limits
from proxy.server.client_connection import ClientConnection
from proxy.server.connection_limiter import ConnectionLimiter
from proxy.transport.sockets import tune

_BACKLOG = 100
_RETRY = 1.0  # seconds after a failed accept, which mostly means: no more file descriptors
_log = logging.getLogger(__name__)


class TlsListener:
    """Call `open` once. A handshake takes `Limits.handshake` seconds at most."""

    def __init__(
        self,
        make_connection: Callable[[], ClientConnection],
        certificate: Certificate,
        limits: Limits,
        limiter: ConnectionLimiter,
    ) -> None:
        self._make_connection = make_connection
        self._certificate = certificate
        self._limits = limits
        self._limiter = limiter
        self._sockets: list[socket.socket] = []
        self._tasks: set[asyncio.Task[None]] = set()

    def open(self, endpoint: Endpoint, shared: bool) -> Endpoint:
        """Listens on all addresses of the endpoint's host; returns the endpoint with its real port.

        Raises OSError, and then listens on no address.
        """
        addresses = socket.getaddrinfo(
            endpoint.host, endpoint.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )
        try:
            for family, *_, address in addresses:
                listening = socket.create_server(
                    address[:2], family=family, backlog=_BACKLOG, reuse_port=shared
                )
                listening.setblocking(False)
                tune((listening,))
                self._sockets.append(listening)
        except OSError:
            self.close()
            raise
        for listening in self._sockets:
            self._start(self._accept(listening))
        return Endpoint(endpoint.host, self._sockets[0].getsockname()[1])

    def close(self) -> None:
        """Accepts no more connections, and ends unfinished handshakes."""
        for task in self._tasks:
            task.cancel()
        for listening in self._sockets:
            listening.close()

    async def wait_closed(self) -> None:
        """Waits until all tasks have ended."""
        if self._tasks:
            await asyncio.wait(self._tasks)

    async def _accept(self, listening: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        while True:
            try:
                connection, address = await loop.sock_accept(listening)
            except ConnectionError:
                continue  # the client disconnected before it was accepted
            except OSError as error:
                _log.error("no connection can be accepted: %s", error)
                await asyncio.sleep(_RETRY)
                continue
            client = self._make_connection()
            if self._limiter.begin_handshake(client, str(address[0])):
                client.handshake = self._start(self._shake_hands(client, connection))
            else:
                connection.close()

    def _start(self, coroutine: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.get_running_loop().create_task(coroutine)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def _shake_hands(self, client: ClientConnection, connection: socket.socket) -> None:
        """Runs the handshake, after which asyncio calls the client's `connection_made`."""
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
            pass  # no TLS, no common version, time-out, or disconnected
        finally:
            if not done:
                self._limiter.handshake_failed(client)
