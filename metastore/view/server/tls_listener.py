"""Accepts clients of the view that use TLS.

An asyncio server reports a connection only after its handshake, so the limits of clients would not
count unfinished handshakes. This listener reports each connection at once.

A client that speaks Thrift without TLS gets a Thrift exception with the reason.
"""

import asyncio
import logging
import socket
import ssl
from collections.abc import Callable, Coroutine
from contextlib import suppress
from time import monotonic

from conf.server_certificate import Certificate
from conf.topology import Endpoint
from metastore.client.streams import CHUNK
from metastore.view.outbound.replies import internal_error

_BACKLOG = 100
_NO_TLS = "WRONG_VERSION_NUMBER"  # OpenSSL's reason if the first bytes are none of TLS
_TLS_ONLY = "This metastore view speaks TLS only: set hive.metastore.use.SSL and its truststore."
_LOOK = 1.0  # seconds between checks for a new certificate
_CLOSE = 5.0  # seconds that a client has to answer the end of TLS
_RETRY = 1.0  # seconds after a failed accept, mostly for lack of file descriptors

log = logging.getLogger("causeway.view")
Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]
Serve = Callable[[socket.socket, str], Coroutine[None, None, None]]


class ServerTls:
    """The server's side of TLS handshakes, with the certificate as it is in its file now."""

    def __init__(self, certificate: Certificate, patience: float) -> None:
        """`patience` is the time-out of a handshake in seconds."""
        self._certificate = certificate
        self._patience = patience
        self._looked = monotonic()

    async def shake_hands(self, connection: socket.socket) -> Streams:
        """The streams of an accepted connection. Raises ConnectionError if the client has gone, or
        the handshake fails, with the reason in its message."""
        if monotonic() - self._looked >= _LOOK:
            self._looked = monotonic()
            self._certificate.refresh()
        loop = asyncio.get_running_loop()
        reader = asyncio.StreamReader(limit=CHUNK, loop=loop)
        protocol = asyncio.StreamReaderProtocol(reader, loop=loop)
        again = connection.dup()  # a failed handshake closes the connection itself
        try:
            async with asyncio.timeout(self._patience):
                transport, _ = await loop.connect_accepted_socket(
                    lambda: protocol,
                    connection,
                    ssl=self._certificate.context,
                    ssl_shutdown_timeout=_CLOSE,
                )
        except TimeoutError:
            message = f"no TLS handshake within {self._patience:g} s"
            raise ConnectionAbortedError(message) from None
        except ConnectionError:
            raise
        except OSError as error:
            if isinstance(error, ssl.SSLError) and error.reason == _NO_TLS:
                with suppress(OSError):
                    again.send(internal_error("", 0, _TLS_ONLY))
            raise ConnectionAbortedError(f"no TLS handshake: {error}") from None
        finally:
            again.close()
        return reader, asyncio.StreamWriter(transport, protocol, reader, loop)


class TlsListener:
    """Calls `serve` with each connection and the client's address, in a task of its own."""

    def __init__(self, serve: Serve) -> None:
        self._serve = serve
        self._sockets: list[socket.socket] = []
        self._tasks: set[asyncio.Task[None]] = set()

    def open(self, endpoint: Endpoint) -> Endpoint:
        """Listens at all addresses of the endpoint's host; returns the first one with its port.

        Raises OSError, and then listens nowhere.
        """
        addresses = socket.getaddrinfo(
            endpoint.host, endpoint.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )
        try:
            for family, *_, address in dict.fromkeys(addresses):
                listening = socket.create_server(address[:2], family=family, backlog=_BACKLOG)
                listening.setblocking(False)
                self._sockets.append(listening)
        except OSError:
            self.close()
            raise
        for listening in self._sockets:
            self._start(self._accept(listening))
        return Endpoint(*self._sockets[0].getsockname()[:2])

    def close(self) -> None:
        """Accepts no more connections, and cancels the tasks that serve them."""
        for task in self._tasks:
            task.cancel()
        for listening in self._sockets:
            listening.close()

    async def _accept(self, listening: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        while True:
            try:
                connection, address = await loop.sock_accept(listening)
            except ConnectionError:
                continue  # the client disconnected before it was accepted
            except OSError as error:
                log.error("no client can be accepted: %s", error)
                await asyncio.sleep(_RETRY)
                continue
            self._start(self._serve(connection, str(address[0])))

    def _start(self, coroutine: Coroutine[None, None, None]) -> None:
        task = asyncio.get_running_loop().create_task(coroutine)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
