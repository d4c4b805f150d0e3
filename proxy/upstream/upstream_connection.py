"""One connection to a Thrift Server, which answers calls in their order. Replies are streamed.

Calls are sent, waited for and timed out only here. The pool (`upstream_pool`) opens connections and
marks endpoints up and down.

All connections receive into one buffer, which is filled and emptied within one turn of the loop.
Of a relayed reply only the beginning is read; all other bytes go straight to the client's
transport, and the connection is not read while that transport is full.
"""

import asyncio
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, TypeVar, cast

from conf.names import ClusterName
from conf.topology import Endpoint
from proxy.errors import ClusterLost, WireError
from proxy.transport.sasl_transport import SaslTransport
from proxy.transport.sockets import HIGH_WATER, tune
from proxy.upstream.credentials import Conversation, UpstreamCredentials
from saslauth.errors import SaslFailed
from saslauth.negotiation import SaslReply, read_sasl_reply, sasl_response, sasl_start

_RECEIVE_BUFFER = memoryview(bytearray(128 << 10))  # emptied within the turn that fills it
HEAD = 512  # bytes of a relayed reply that are read
MAX_WHOLE = 128 << 20  # bytes of a reply that is not relayed
_LENGTH = 4  # bytes of a message's length, which comes first

_T = TypeVar("_T")


class Sink(Protocol):
    """The receiver of a reply's bytes, such as the client's transport."""

    def write(self, data: bytes) -> None: ...

    @property
    def is_full(self) -> bool: ...

    def when_writable(self, source: "UpstreamConnection | None") -> None:
        """Has the sink call `source.resume` when it has room again; None: call nothing."""
        ...


@dataclass(frozen=True, slots=True)
class PipelinedCall:
    """A call that is sent without waiting for its reply. `on_reply` is called with the reply, or
    with None when the connection breaks first."""

    request: bytes
    on_reply: Callable[[bytes | None], None] = lambda reply: None


@dataclass(frozen=True, slots=True)
class _Relay:
    """A reply that goes to a sink (`UpstreamConnection.relay`)."""

    first: Callable[[int, bytes], bytes]
    sink: Sink
    done: asyncio.Future[None]


_Expected = asyncio.Future[bytes] | PipelinedCall | _Relay


class UpstreamConnection(asyncio.BufferedProtocol):
    """Created by `connect`. After any exception but a time-out of `connect` itself, call
    `abort`."""

    def __init__(self, cluster: ClusterName, lost: Callable[[], None]) -> None:
        self.cluster = cluster
        self.broken = False
        self.timed_out = False  # a call had no reply in time
        self._lost = lost
        self._transport: asyncio.Transport | None = None
        self._buffer = bytearray()
        self._needed = 1  # bytes that the buffer must have before the next step
        self._negotiation: asyncio.Future[None] | None = None
        self._expected: deque[_Expected] = deque()  # calls whose replies are due, in order
        self._relaying: _Relay | None = None
        self._streaming = 0  # bytes of the relayed reply that have not arrived yet
        # The time of the last byte, or of the first call after all replies had come.
        self._last_received = time.monotonic()

    # called by asyncio

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)  # uvloop's are of no such class
        self._transport.set_write_buffer_limits(high=HIGH_WATER)
        tune((transport.get_extra_info("socket"),))

    def get_buffer(self, sizehint: int) -> memoryview:
        return _RECEIVE_BUFFER

    def buffer_updated(self, nbytes: int) -> None:
        self._receive(_RECEIVE_BUFFER[:nbytes])

    def _receive(self, data: memoryview) -> None:
        self._last_received = time.monotonic()
        if self._streaming:
            data = self._stream(data)
        if self._buffer:
            self._buffer += data
            if len(self._buffer) < self._needed:
                return
            data, self._buffer = memoryview(self._buffer), bytearray()
        while len(data) >= self._needed and (rest := self._take_reply(data)) is not None:
            data = rest
        self._buffer += data

    def connection_lost(self, exc: Exception | None) -> None:
        self._lost()
        self._fail(ClusterLost(f"The connection to cluster {self.cluster} broke."))

    def resume(self) -> None:
        """The sink has room again."""
        if self._transport is not None and not self.broken:
            self._last_received = time.monotonic()
            self._transport.resume_reading()

    # called by the pool and by sessions

    @classmethod
    async def connect(
        cls,
        cluster: ClusterName,
        endpoint: Endpoint,
        user: str,
        lost: Callable[[], None],
        credentials: UpstreamCredentials,
    ) -> "UpstreamConnection":
        """Opens a connection and authenticates as `user`. `lost` is called once when it closes.

        Raises OSError (then `lost` is never called), WireError, ClusterLost.
        """
        loop = asyncio.get_running_loop()
        connection = cls(cluster, lost)
        conversation = credentials.conversation(endpoint, user)
        await loop.create_connection(
            lambda: connection,
            endpoint.host,
            endpoint.port,
            ssl=credentials.tls,
            server_hostname=endpoint.host if credentials.tls else None,
        )
        try:
            await connection._negotiate(conversation)
        except BaseException:
            connection.abort()
            raise
        return connection

    @classmethod
    async def to_peer(cls, name: ClusterName, path: Path) -> "UpstreamConnection":
        """A connection to another worker, without authentication. Raises OSError."""
        connection = cls(name, lambda: None)
        connection._needed = _LENGTH
        loop = asyncio.get_running_loop()
        await loop.create_unix_connection(lambda: connection, str(path))
        return connection

    async def _negotiate(self, conversation: Conversation) -> None:
        """Authenticates the proxy to the server, and the server where the mechanism is mutual."""
        assert self._transport is not None
        begin, challenge = sasl_start(conversation.mechanism), None
        while True:
            response = await conversation.answer(challenge)
            if self.broken:
                raise ClusterLost(f"The connection to cluster {self.cluster} broke.")
            self._transport.write(begin + sasl_response(response, conversation.complete))
            begin = b""
            reply = await self._sasl_reply()
            if not reply.ok:
                reason = reply.payload.decode(errors="replace")
                raise WireError(f"Cluster {self.cluster} refused us: {reason}")
            if reply.last and conversation.complete:
                self._protect(conversation)
                return
            if reply.last:
                raise WireError(f"Cluster {self.cluster} did not prove who it is.")
            if conversation.complete:
                raise WireError(f"Cluster {self.cluster} goes on negotiating.")
            challenge = reply.payload

    def _protect(self, conversation: Conversation) -> None:
        """Protects all further bytes with the negotiated security layer, if there is one."""
        if (layer := conversation.layer) is not None:
            assert self._transport is not None
            take = lambda data: self._receive(memoryview(data))  # noqa: E731
            self._transport = SaslTransport(self._transport, self, take, layer, MAX_WHOLE)

    async def _sasl_reply(self) -> SaslReply:
        """The server's next message of the negotiation. Raises WireError, ClusterLost."""
        try:
            while (reply := read_sasl_reply(self._buffer)) is None:
                self._needed = len(self._buffer) + 1
                await self._more()
        except SaslFailed as error:
            raise WireError(str(error)) from None
        del self._buffer[: reply.used]
        self._needed = _LENGTH
        return reply

    async def _more(self) -> None:
        """Waits for more bytes of the negotiation. Raises ClusterLost."""
        if self.broken:
            raise ClusterLost(f"The connection to cluster {self.cluster} broke.")
        self._negotiation = asyncio.get_running_loop().create_future()
        try:
            await self._negotiation
        finally:
            self._negotiation = None

    async def call(
        self,
        name: str,
        request: bytes,
        seconds: float | None,
        pipelined: Sequence[PipelinedCall] = (),
    ) -> bytes:
        """Sends the call `name` and returns the whole reply. `pipelined` calls are sent in the same
        write, so that the server begins each of them without a round trip in between.

        Raises ClusterLost if the connection breaks, or if no reply comes within `seconds` (None: no
        time-out while the server is up). The connection cannot be used after that.
        """
        loop = asyncio.get_running_loop()
        done: asyncio.Future[bytes] = loop.create_future()
        self._write(request, *(each.request for each in pipelined))
        self._expected += (done, *pipelined)
        timer = None if seconds is None else loop.call_later(seconds, self._time_out, name)
        try:
            return await self._until(done)
        except WireError as error:
            raise ClusterLost(_no_answer(self.cluster, name, str(error))) from error
        finally:
            if timer is not None:
                timer.cancel()

    def _time_out(self, name: str) -> None:
        self.timed_out = True
        self.give_up(_no_answer(self.cluster, name, "no answer in time"))

    def send_pipelined(self, pipelined: Sequence[PipelinedCall]) -> None:
        """Sends calls without waiting for their replies. Raises ClusterLost."""
        self._write(*(each.request for each in pipelined))
        self._expected += pipelined

    async def relay(self, request: bytes, first: Callable[[int, bytes], bytes], sink: Sink) -> None:
        """Sends a call and passes its reply to the sink, as fast as the sink accepts it.

        `first` is called with the reply's length and its first `HEAD` bytes (fewer if the reply is
        shorter), and returns the bytes that are passed on instead of these.
        """
        await self.end_relay(self.begin_relay(request, first, sink), sink)

    def begin_relay(
        self, request: bytes, first: Callable[[int, bytes], bytes], sink: Sink
    ) -> asyncio.Future[None]:
        """Sends the call of a `relay`; `end_relay` waits for the end. Raises ClusterLost."""
        relay = _Relay(first, sink, asyncio.get_running_loop().create_future())
        self._write(request)
        self._expected.append(relay)
        return relay.done

    async def end_relay(self, done: asyncio.Future[None], sink: Sink) -> None:
        try:
            await self._until(done)
        finally:
            sink.when_writable(None)

    @property
    def owes(self) -> bool:
        """Whether a reply is due."""
        return bool(self._expected or self._relaying)

    def silent_for(self) -> float:
        """Seconds without a byte of a due reply; 0 if none is due or the sink is full."""
        relay = self._relaying
        if not self.owes or (relay is not None and relay.sink.is_full):
            return 0.0
        return time.monotonic() - self._last_received

    def give_up(self, why: str) -> None:
        """Closes the connection at once. Calls that wait for a reply raise ClusterLost with the
        reason."""
        self._fail(ClusterLost(why))

    def abort(self) -> None:
        """Closes the connection at once."""
        self.broken = True
        if self._transport is not None:
            self._transport.abort()

    def _write(self, *requests: bytes) -> None:
        if self.broken or self._transport is None:
            raise ClusterLost(f"The connection to cluster {self.cluster} broke.")
        if not self.owes:
            self._last_received = time.monotonic()
        pieces: list[bytes] = []
        for each in requests:
            pieces += (len(each).to_bytes(4, "big"), each)
        self._transport.write(b"".join(pieces))

    async def _until(self, done: asyncio.Future[_T]) -> _T:
        try:
            return await done
        except asyncio.CancelledError:
            self.abort()  # a part of the reply may have been passed on
            raise

    # replies

    def _take_reply(self, data: memoryview) -> memoryview | None:
        """Handles the first message of `data`. Returns the bytes after it; None: it is not complete
        yet, or the connection has failed."""
        if self._negotiation is not None:
            release(self._negotiation, None)
            return None
        if not self._expected:
            self._fail(WireError(f"Cluster {self.cluster} sent a reply without a call."))
            return None
        length = int.from_bytes(data[:_LENGTH], "big")
        expected = self._expected[0]
        relayed = isinstance(expected, _Relay)
        if length > MAX_WHOLE and not relayed:
            self._fail(WireError(f"A reply of {length} bytes where a short one was due."))
            return None
        self._needed = _LENGTH + (min(length, HEAD) if relayed else length)
        if len(data) < self._needed:
            return None
        taken, data = bytes(data[_LENGTH : self._needed]), data[self._needed :]
        self._needed = _LENGTH
        self._expected.popleft()
        match expected:
            case _Relay():
                return self._begin(expected, length, taken, data)
            case PipelinedCall():
                expected.on_reply(taken)
            case _:
                release(expected, taken)
        return data

    def _begin(
        self, relay: _Relay, length: int, head: bytes, data: memoryview
    ) -> memoryview | None:
        """Passes on the beginning of a reply: its head, and the other bytes that have arrived."""
        self._relaying = relay
        self._streaming = length - len(head)
        try:
            head = relay.first(length, head)
        except WireError as error:
            self._fail(error)
            return None
        return self._stream(data, head)

    def _stream(self, data: memoryview, before: bytes = b"") -> memoryview:
        """Passes on the bytes of the reply that is being relayed. Returns the bytes after it."""
        relay = self._relaying
        assert relay is not None
        piece = data[: self._streaming]
        self._streaming -= len(piece)
        relay.sink.write(before + piece)
        if not self._streaming:
            self._relaying = None
            release(relay.done, None)
        elif relay.sink.is_full and self._transport is not None:
            self._transport.pause_reading()
            relay.sink.when_writable(self)
        return data[len(piece) :]

    def _fail(self, error: Exception) -> None:
        """Closes the connection and fails all calls that wait for a reply."""
        self.abort()
        waiting = [self._negotiation, *self._expected, self._relaying]
        self._expected.clear()
        self._relaying = None
        for each in waiting:
            if isinstance(each, PipelinedCall):
                each.on_reply(None)
            elif each is not None:
                future = each.done if isinstance(each, _Relay) else each
                if not future.done():
                    future.set_exception(error)


def _no_answer(cluster: ClusterName, name: str, why: str) -> str:
    return f"Cluster {cluster}: no answer to {name} ({why})."


def release(waiter: asyncio.Future[_T], result: _T) -> None:
    """Sets the future's result, unless it has one or was cancelled."""
    if not waiter.done():
        waiter.set_result(result)
