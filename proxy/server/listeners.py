"""The listeners of both transports, binary and HTTP, with or without TLS."""

import asyncio
import socket
from collections.abc import Callable
from dataclasses import dataclass

from conf.server_certificate import Certificate
from conf.settings.security.authentication import Auth
from conf.settings.settings import Settings
from conf.topology import Endpoint
from proxy.auth.authenticator import Authenticator
from proxy.auth.cookies import Cookies
from proxy.limits import Limits
from proxy.protocol.framing import BareInbound, SaslInbound
from proxy.protocol.request_guard import guard_of
from proxy.server.client_connection import ClientConnection
from proxy.server.connection_limiter import ConnectionLimiter
from proxy.server.http_connection import HttpConnection, HttpListener
from proxy.server.tls_listener import TlsListener
from proxy.transport.sockets import tune

Connected = Callable[[ClientConnection], None]
MakeConnection = Callable[[], ClientConnection]


@dataclass(frozen=True, slots=True)
class ListenAddresses:
    """The addresses in use; None for a transport that is not served."""

    binary: Endpoint | None
    http: Endpoint | None


@dataclass(frozen=True, slots=True)
class ConnectionFactory:
    """Makes the connections of both transports; each calls `connected` when it is made.

    The `limiter` counts TLS connections before their handshake. `cookie_key` is the same in all
    workers of a server, so that each accepts the others' cookies.
    """

    settings: Settings
    limits: Limits
    authenticator: Authenticator
    cookie_key: bytes
    connected: Connected
    limiter: ConnectionLimiter

    def binary(self) -> MakeConnection:
        bare = Auth.NOSASL in self.settings.identity.methods
        budget, frame_time = self.limiter.receive_budget, self.limits.request

        def make_connection() -> ClientConnection:
            inbound = BareInbound() if bare else SaslInbound(self.authenticator.mechanisms)
            return ClientConnection(inbound, self.connected, budget, frame_time)

        return make_connection

    def http(self) -> MakeConnection:
        transports = self.settings.transports
        secure = transports.tls is not None
        cookies = None
        if transports.cookies:
            cookies = Cookies(self.cookie_key, transports.cookie_age, secure)
        host, own_name = self.settings.listen.host, socket.gethostname()
        guard = guard_of(transports.allowed_hosts, transports.xsrf, host, own_name)
        listener = HttpListener(
            transports.path, transports.http_idle, self.authenticator, cookies, self.limits, guard
        )
        return lambda: HttpConnection(listener, self.connected, self.limiter.receive_budget)


class Listeners:
    """All listeners of one process, made by `open`."""

    def __init__(self, certificate: Certificate | None, shared: bool) -> None:
        self._shared = shared
        self.addresses = ListenAddresses(None, None)
        self._certificate = certificate
        self._servers: list[asyncio.Server | TlsListener] = []
        self._http: asyncio.Server | TlsListener | None = None

    @classmethod
    async def open(cls, connections: ConnectionFactory, shared: bool = False) -> "Listeners":
        """Listens on the addresses of the settings; `shared`: other processes listen there, too.

        Raises OSError if an address is in use, and BadCertificate.
        """
        settings = connections.settings
        tls = settings.transports.tls
        listeners = cls(Certificate(tls) if tls is not None else None, shared)
        host, binary, http = settings.listen.host, None, None
        try:
            if settings.transports.binary:
                make_connection = connections.binary()
                binary = await listeners._listen(connections, make_connection, settings.listen)
            if settings.transports.http:
                endpoint = Endpoint(host, settings.transports.http_port)
                http = await listeners._listen(connections, connections.http(), endpoint)
                listeners._http = listeners._servers[-1]
        except BaseException:
            listeners.close()
            raise
        listeners.addresses = ListenAddresses(binary, http)
        return listeners

    async def _listen(
        self, connections: ConnectionFactory, make_connection: MakeConnection, endpoint: Endpoint
    ) -> Endpoint:
        if self._certificate is not None:
            listener = TlsListener(
                make_connection, self._certificate, connections.limits, connections.limiter
            )
            address = listener.open(endpoint, self._shared)
            self._servers.append(listener)
            return address
        server = await asyncio.get_running_loop().create_server(
            make_connection, endpoint.host, endpoint.port, reuse_port=self._shared or None
        )
        self._servers.append(server)
        tune(server.sockets)
        return Endpoint(endpoint.host, server.sockets[0].getsockname()[1])

    def refresh(self) -> None:
        """Loads the certificate again if its file changed."""
        if self._certificate is not None:
            self._certificate.refresh()

    def close_binary(self) -> None:
        """Accepts only HTTP connections from now on: over HTTP an open session may use a new
        connection for each call."""
        for server in self._servers:
            if server is not self._http:
                server.close()

    def close(self) -> None:
        """Accepts no more connections."""
        for server in self._servers:
            server.close()

    async def wait_closed(self) -> None:
        """Waits until all TLS handshakes have ended; accepted connections stay open."""
        for server in self._servers:
            if isinstance(server, TlsListener):
                await server.wait_closed()
