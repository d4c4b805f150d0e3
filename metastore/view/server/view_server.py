"""The view's server: an endpoint for each cluster in front of one unmodified Hive Metastore."""

import asyncio
import logging
import socket
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Iterator, Mapping
from contextlib import AsyncExitStack, contextmanager, suppress
from pathlib import Path

from conf.errors import CausewayError
from conf.names import ClusterName
from conf.server_certificate import Certificate
from conf.settings.settings import Settings, Writers
from conf.topology import Endpoint
from metastore.client.changes.view_sync import GRACE
from metastore.client.streams import CHUNK
from metastore.client.user_streams import UserStreams
from metastore.errors import MetastoreDown
from metastore.view.locations import ClusterView
from metastore.view.locks.peer_client import PeerClient
from metastore.view.lookups import Lookup, T
from metastore.view.server.clients.caller_login import CallerLogin
from metastore.view.server.clients.caller_tokens import CallerTokens
from metastore.view.server.clients.callers import ViewCaller
from metastore.view.server.clients.client_connection import ClientConnection
from metastore.view.server.clients.client_limits import ClientLimits, ClientSlot
from metastore.view.server.clients.requests import Requests
from metastore.view.server.clients.token_calls import TokenCalls
from metastore.view.server.clients.upstream_connection import Upstream, UpstreamSlots, check_answers
from metastore.view.server.direct_writes import DirectWriter
from metastore.view.server.ended_applications import EndedApplications
from metastore.view.server.lookup_runner import LookupRunner
from metastore.view.server.mutation import new_context
from metastore.view.server.orphans_store import OrphanLog
from metastore.view.server.reply_cache import TableCache
from metastore.view.server.shared import Shared
from metastore.view.server.tls_listener import ServerTls, Streams, TlsListener
from saslauth.errors import SaslFailed
from saslauth.framed_streams import Reader, Writer
from thriftcodec.errors import MalformedMessage

DEFAULT = "default"  # the endpoint of the default cluster under its own name (DC-A1)
_RETRY = 0.2  # seconds

log = logging.getLogger("causeway.view")
Announce = Callable[[str, Endpoint], None]


class ViewServer:
    """All endpoints of a process of the view, and their clients."""

    def __init__(
        self,
        settings: Settings,
        orphans: Path | None = None,
        cache: float = 0.0,
        grace: float = GRACE,
    ) -> None:
        """`orphans` is the file of the record of orphans, `cache` the seconds for which replies to
        get_table are kept. Clients are answered `grace` seconds after the process listens. Raises
        BadCertificate, BadSetting."""
        self._settings = settings
        self._grace = grace
        self._shared = Shared(
            OrphanLog(orphans),
            TableCache(cache, settings.writers is Writers.VIEWS),
            (PeerClient(each, login=login) for each, login in settings.view_logins.items()),
        )
        limits = settings.view_limits
        self._streams = UserStreams(settings.metastore_login)
        access, rules = settings.view_access, settings.identity.auth_to_local
        self._tokens = (
            CallerTokens(access.token_keys, access.token_lifetime) if access.token_keys else None
        )
        self._login = (
            CallerLogin(access, rules, self._tokens) if access.kerberos is not None else None
        )
        self._clients: set[asyncio.Task[None]] = set()
        self._client_limits = ClientLimits(limits)
        self._slots = UpstreamSlots(limits.upstream)
        tls = settings.view_tls.tls
        self._tls = ServerTls(Certificate(tls), limits.handshake) if tls is not None else None

    async def run(
        self,
        listen: Mapping[str, Endpoint],
        announce: Announce,
        stop: asyncio.Event,
        own: Iterable[Endpoint] = (),
    ) -> None:
        """Listens until `stop` is set; calls `announce` with each endpoint's name and address.
        `own` are the addresses of these endpoints in the settings.

        It listens only after the metastore has answered, because clients repeat a failed connection
        and not a failed call.
        """
        if not await self._metastore_answers(stop):
            return
        addresses = [str(each) for each in own]
        async with AsyncExitStack() as stack:
            for name, endpoint in listen.items():
                listening = await self._listen(self._view(name), endpoint, stack)
                addresses += [str(endpoint), str(listening)]
                announce(name, listening)
            self._shared.locks.listens_at(addresses)
            # Changes that began before this process listened are not locked here: wait for them.
            with suppress(TimeoutError):
                await asyncio.wait_for(stop.wait(), self._grace)
            self._shared.ready.set()
            ended = EndedApplications(self._shared, self._settings.topology, self._own_writer)
            async with asyncio.TaskGroup() as group:
                watching = group.create_task(ended.run())
                await stop.wait()
                watching.cancel()
            self._shared.locks.close()
            await self._end_clients()  # before another process can listen at an endpoint
        await self._end_clients()

    @contextmanager
    def _own_writer(self, view: ClusterView) -> Iterator[DirectWriter]:
        """A DirectWriter with its own connection, for changes that no client asked for."""
        upstream = Upstream(self._settings.metastores, self._slots, self._streams)
        lookups = LookupRunner(upstream, self._shared)

        def run(lookup: Lookup[T]) -> Awaitable[T]:
            return lookups.run(lookup, view)

        try:
            yield DirectWriter(run, self._shared, new_context(view))
        finally:
            upstream.close()

    async def _end_clients(self) -> None:
        for client in self._clients:
            client.cancel()
        await asyncio.gather(*self._clients, return_exceptions=True)

    async def _metastore_answers(self, stop: asyncio.Event) -> bool:
        logged = False
        while not stop.is_set():
            try:
                await check_answers(self._settings.metastores, self._streams)
                return True
            except MetastoreDown as error:
                if not logged:
                    log.warning("waiting for the metastore: %s", error)
                logged = True
                with suppress(TimeoutError):
                    await asyncio.wait_for(stop.wait(), _RETRY)
        return False

    def _view(self, name: str) -> ClusterView | None:
        topology = self._settings.topology
        if not topology.in_use:
            return None
        cluster = ClusterName(name)
        if cluster not in topology and name == DEFAULT and topology.default is not None:
            cluster = topology.default
        return ClusterView(cluster, topology)

    async def _listen(
        self, view: ClusterView | None, endpoint: Endpoint, stack: AsyncExitStack
    ) -> Endpoint:
        """Listens until the stack is closed; returns the address. Raises OSError."""
        if (tls := self._tls) is None:

            async def plain(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
                address = str(writer.get_extra_info("peername", ("",))[0])
                await self._serve(view, address, _ready(reader, writer), writer.close)

            server = await asyncio.start_server(plain, endpoint.host, endpoint.port, limit=CHUNK)
            await stack.enter_async_context(server)
            return Endpoint(*server.sockets[0].getsockname()[:2])

        async def encrypted(connection: socket.socket, address: str) -> None:
            await self._serve(view, address, tls.shake_hands(connection), connection.close)

        listener = TlsListener(encrypted)
        stack.callback(listener.close)
        return listener.open(endpoint)

    async def _serve(
        self,
        view: ClusterView | None,
        address: str,
        streams: Coroutine[None, None, Streams],
        refuse: Callable[[], None],
    ) -> None:
        """Serves one client, or refuses it at the limits. Awaiting `streams` opens its streams."""
        task = asyncio.current_task()
        assert task is not None
        slot = self._client_limits.admit(address, task.cancel)
        if slot is None:
            log.warning("too many clients: a client of %s was refused", address)
            streams.close()
            refuse()
            return
        self._clients.add(task)
        writer: asyncio.StreamWriter | None = None
        try:
            reader, writer = await streams
            _keep_alive(writer)
            await self._client(view, reader, writer, slot)
            if self._tls is not None:  # the end of TLS takes a moment
                self._client_limits.leave(slot)
                writer.close()
                with suppress(OSError):
                    await writer.wait_closed()
        except ConnectionResetError:
            log.debug("client %s went away before TLS had begun", address)
        except ConnectionAbortedError as error:
            log.warning("connection of client %s closed: %s", address, error)
        except asyncio.CancelledError:
            # The server ends, or another client got this one's slot.
            if writer is not None and self._tls is not None:
                writer.transport.abort()  # without waiting for the client's end of TLS
        finally:
            self._client_limits.leave(slot)
            self._clients.discard(task)
            if writer is not None:
                writer.close()

    async def _client(
        self,
        view: ClusterView | None,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        slot: ClientSlot,
    ) -> None:
        try:
            await self._answer(view, reader, writer, slot)
        except (OSError, TimeoutError, CausewayError, MalformedMessage, SaslFailed) as error:
            log.warning(
                "connection of client %s closed: %s", writer.get_extra_info("peername"), error
            )

    async def _answer(
        self,
        view: ClusterView | None,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        slot: ClientSlot,
    ) -> None:
        limits, metastores = self._settings.view_limits, self._settings.metastores
        caller: ViewCaller | None = None
        streams: tuple[Reader, Writer] = reader, writer
        if self._login is not None:
            if view is None:  # the settings do not allow this
                raise SaslFailed("Kerberos without clusters")
            caller, streams = await self._login.log_in(
                reader, writer, view.cluster, limits.first_call
            )
        user, token_calls = None, None
        if caller is not None:
            address = str(writer.get_extra_info("peername", ("",))[0])
            token_calls = TokenCalls(self._tokens, self._settings.identity, caller, address)
            user = caller.user
        upstream = Upstream(metastores, self._slots, self._streams, user)
        try:
            if view is None:
                await _relay(reader, writer, upstream, limits.first_call, slot)
            else:
                requests = Requests(streams[0], limits, slot, upstream)
                client = ClientConnection(
                    view, self._shared, requests, streams[1], upstream, caller, token_calls
                )
                await client.serve()
        finally:
            upstream.close()


async def _ready(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> Streams:
    return reader, writer


async def _relay(
    reader: asyncio.StreamReader,
    writer: asyncio.StreamWriter,
    upstream: Upstream,
    patience: float,
    slot: ClientSlot,
) -> None:
    """Relays bytes unchanged in both directions: no cluster is configured (DC-N1)."""
    async with asyncio.timeout(patience):
        first = await reader.read(CHUNK)
    if not first:
        return
    slot.silent = False
    await upstream.send(first)
    from_metastore, to_metastore = await upstream.connection()
    async with asyncio.TaskGroup() as group:
        group.create_task(_pump(reader, to_metastore))
        group.create_task(_pump(from_metastore, writer))


def _keep_alive(writer: asyncio.StreamWriter) -> None:
    """Enables keep-alive, so that the loss of a client's machine is detected after a minute. The
    client may have locked tables."""
    connection = writer.get_extra_info("socket")
    if connection is not None and connection.family != socket.AF_UNIX:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, 30)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, 10)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPCNT, 3)


async def _pump(reader: Reader, writer: Writer) -> None:
    try:
        while chunk := await reader.read(CHUNK):
            writer.write(chunk)
            await writer.drain()
    finally:
        with suppress(OSError, RuntimeError):
            if writer.can_write_eof():
                writer.write_eof()
            else:  # TLS cannot end one direction alone
                writer.close()
