"""The doors: what listens, for which transport, under which certificate."""

import asyncio
import socket
from collections.abc import Callable
from dataclasses import dataclass

from conf.settings.authentication import Auth
from conf.settings.settings import Settings
from conf.topology import Endpoint
from proxy.auth.authenticator import Authenticator
from proxy.auth.cookies import Cookies
from proxy.limits import Limits
from proxy.protocol.framing import BareInbound, SaslInbound
from proxy.protocol.request_guard import guard_of
from proxy.server.client_connection import ClientConnection
from proxy.server.connection_limiter import Turnstile
from proxy.server.http_connection import HttpConnection, HttpDoor
from proxy.server.sockets import tune
from proxy.server.tls import Certificate
from proxy.server.tls_listener import TlsDoor

Connected = Callable[[ClientConnection], None]


@dataclass(frozen=True, slots=True)
class Listening:
    """Where clients are taken; None: that transport is not served."""

    binary: Endpoint | None
    http: Endpoint | None


@dataclass(frozen=True, slots=True)
class Porter:
    """Makes the connection of each client that comes in, and tells `connected`; who comes over TLS
    passes the `turnstile` before.

    `cookie_key` is the same for all workers of a server, so that each takes the others' cookies.
    """

    settings: Settings
    limits: Limits
    authenticator: Authenticator
    cookie_key: bytes
    connected: Connected
    turnstile: Turnstile

    def binary(self) -> ClientConnection:
        bare = Auth.NOSASL in self.settings.identity.methods
        inbound = BareInbound() if bare else SaslInbound(self.authenticator.mechanisms)
        buffers = self.turnstile.buffers
        return ClientConnection(inbound, self.connected, buffers, self.limits.request)

    def http(self) -> Callable[[], ClientConnection]:
        transports = self.settings.transports
        secure = transports.tls is not None
        cookies = None
        if transports.cookies:
            cookies = Cookies(self.cookie_key, transports.cookie_age, secure)
        host, own = self.settings.listen.host, socket.gethostname()
        guard = guard_of(transports.allowed_hosts, transports.xsrf, host, own)
        door = HttpDoor(
            transports.path, transports.http_idle, self.authenticator, cookies, self.limits, guard
        )
        return lambda: HttpConnection(door, self.connected, self.turnstile.buffers)


class Doors:
    """Use `opened`."""

    def __init__(self, certificate: Certificate | None, shared: bool) -> None:
        self._shared = shared
        self.listening = Listening(None, None)
        self._certificate = certificate
        self._servers: list[asyncio.Server | TlsDoor] = []

    @classmethod
    async def opened(cls, porter: Porter, shared: bool = False) -> "Doors":
        """`shared`: other processes of ours listen at the same addresses.

        Raises OSError when an address cannot be had, and BadCertificate.
        """
        settings = porter.settings
        tls = settings.transports.tls
        doors = cls(Certificate(tls) if tls is not None else None, shared)
        host, binary, http = settings.listen.host, None, None
        try:
            if settings.transports.binary:
                binary = await doors._listen(porter, porter.binary, settings.listen)
            if settings.transports.http:
                endpoint = Endpoint(host, settings.transports.http_port)
                http = await doors._listen(porter, porter.http(), endpoint)
        except BaseException:
            doors.close()
            raise
        doors.listening = Listening(binary, http)
        return doors

    async def _listen(
        self, porter: Porter, factory: Callable[[], ClientConnection], endpoint: Endpoint
    ) -> Endpoint:
        if self._certificate is not None:
            door = TlsDoor(factory, self._certificate, porter.limits, porter.turnstile)
            where = door.open(endpoint, self._shared)
            self._servers.append(door)
            return where
        server = await asyncio.get_running_loop().create_server(
            factory, endpoint.host, endpoint.port, reuse_port=self._shared or None
        )
        self._servers.append(server)
        tune(server.sockets)
        return Endpoint(endpoint.host, server.sockets[0].getsockname()[1])

    def refresh(self) -> None:
        """Looks whether there is a new certificate."""
        if self._certificate is not None:
            self._certificate.refresh()

    def close(self) -> None:
        """Takes no more connections."""
        for server in self._servers:
            server.close()

    async def wait_closed(self) -> None:
        """Until nobody is at a door any more; those who are in stay."""
        for server in self._servers:
            if isinstance(server, TlsDoor):
                await server.wait_closed()
