"""A client's connection: splits the received bytes into messages, and sends replies."""

import asyncio
from collections import deque
from collections.abc import Callable, Iterable
from typing import cast

from proxy.errors import LimitReached, WireError
from proxy.limits import DEFAULT
from proxy.protocol.framing import (
    MAX_FRAME,
    Credentials,
    ForwardedIdentity,
    Frame,
    FramingEvent,
    GssapiToken,
    Inbound,
    LoginStep,
    Oversized,
    SaslInbound,
    Send,
)
from proxy.server.receive_budget import ReceiveBudget
from proxy.transport.sasl_transport import SaslTransport
from proxy.transport.sockets import HIGH_WATER
from proxy.upstream.upstream_connection import UpstreamConnection
from saslauth.security_layer import SecurityLayer

MAX_WAITING = 4  # messages in the queue at which reading stops


class ClientConnection(asyncio.Protocol):
    """The asyncio protocol of one connection.

    `connected` is called when the connection is made. `task` handles the client's log-in or call;
    it is cancelled when the client disconnects, unless the client's sessions outlive its connection
    (`sessions_outlive`). `do_as` is the user that the client wants to act as, if it sent one
    outside the session's configuration.
    """

    sessions_outlive = False

    def __init__(
        self,
        inbound: Inbound,
        connected: Callable[["ClientConnection"], None],
        receive_budget: ReceiveBudget | None = None,
        frame_time: float = DEFAULT.request,
    ) -> None:
        """`frame_time` is the time in seconds in which a whole frame has to arrive."""
        self.inbound = inbound
        self.on_login: Callable[[], None] | None = None  # called once; may raise LimitReached
        self.authenticating = False  # whether a log-in step is being checked
        self.handshake: asyncio.Task[None] | None = None  # the TLS handshake, until it is done
        self._receive_budget = ReceiveBudget() if receive_budget is None else receive_budget
        self._frame_time = frame_time
        self._frame_timer: asyncio.TimerHandle | None = None
        self._waiting_bytes = 0
        self._sasl_transport: SaslTransport | None = None
        self.user: str | None = None
        self.do_as: str | None = None
        self.peer = ""  # the client's address without the port
        self.lost = False
        self.task: asyncio.Task[None] | None = None
        self._rejection = ""
        self._connected = connected
        self._transport: asyncio.Transport | None = None
        self._messages: deque[Frame | Oversized] = deque()
        self._login_step: LoginStep | None = None
        self._arrived = asyncio.Event()
        self._writable = asyncio.Event()
        self._writable.set()
        self._source: UpstreamConnection | None = None

    # Called by asyncio

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)  # uvloop's classes do not derive
        self._transport.set_write_buffer_limits(high=HIGH_WATER)
        peer = self._transport.get_extra_info("peername")
        self.peer = str(peer[0]) if isinstance(peer, tuple) else ""
        self._connected(self)

    def data_received(self, data: bytes) -> None:
        assert self._transport is not None
        if self._rejection:
            self._send_rejection(self._rejection)
            return
        try:
            events = self.inbound.feed(data)
        except WireError:
            self._transport.abort()
            return
        self.take(events)
        self._account(bool(events))

    def take(self, events: Iterable[FramingEvent]) -> None:
        """Queues messages and log-in steps, and sends the negotiation's replies."""
        assert self._transport is not None
        for event in events:
            match event:
                case Frame() | Oversized():
                    self._messages.append(event)
                    self._waiting_bytes += _size(event)
                    self._arrived.set()
                case Send(reply, last):
                    self._transport.write(reply)
                    if last:
                        self._transport.close()
                case Credentials() | GssapiToken():
                    self._login_step = event
                    self._arrived.set()
                case ForwardedIdentity(user, address):
                    self.user, self.peer = user or None, address
        if len(self._messages) >= MAX_WAITING:
            self._transport.pause_reading()

    def connection_lost(self, exc: Exception | None) -> None:
        self.lost = True
        self._watch_frame(False)
        self._receive_budget.hold(self, 0)
        self._arrived.set()
        if self.task is not None and not self.sessions_outlive:
            self.task.cancel()
        self.resume_writing()

    def pause_writing(self) -> None:
        self._writable.clear()

    def resume_writing(self) -> None:
        self._writable.set()
        if self._source is not None:
            self._source.resume()
            self._source = None

    # Called by the server

    def protect(self, layer: SecurityLayer, early: bytes) -> None:
        """Protects all further messages in both directions. `early` has the wrapped bytes that have
        arrived already."""
        assert self._transport is not None
        self._transport = self._sasl_transport = transport = SaslTransport(
            self._transport, self, self.data_received, layer, MAX_FRAME
        )
        transport.data_received(early)

    @property
    def owner(self) -> str:
        """The owner of the handles that this client may use: its user, with the user it acts as.

        Without SASL the owner is empty: the secret in the handle is the only check.
        """
        user, do_as = self.user or "", self.do_as
        return user if do_as in (None, user) else f"{user}\0{do_as}"

    async def next_message(self) -> Frame | Oversized | None:
        """The next whole message; None once the client has disconnected."""
        if self._messages:
            await asyncio.sleep(0)  # serves other clients before the next queued message
        while not self._messages:
            if self.lost:
                return None
            self._arrived.clear()
            await self._arrived.wait()
        message = self._messages.popleft()
        self._waiting_bytes -= _size(message)
        self._account(True)
        transport = self._transport
        try:
            self.logged_in()
        except LimitReached:
            self.abort()
            return None
        if transport is None or transport.is_closing():
            return None
        if not transport.is_reading():
            transport.resume_reading()
        return message

    def logged_in(self) -> None:
        """Counts the client as logged in; later calls do nothing. Raises LimitReached."""
        if self.on_login is not None:
            on_login, self.on_login = self.on_login, None
            on_login()

    @property
    def held(self) -> int:
        """The number of bytes of an unfinished frame."""
        transport = self._sasl_transport
        return self.inbound.held + (transport.held if transport is not None else 0)

    @property
    def is_unfinished(self) -> bool:
        return self.held > 0

    def _account(self, progress: bool) -> None:
        """Counts the held bytes. `progress`: a frame ended, or was removed from the queue."""
        held = self.held
        self._receive_budget.hold(self, held + self._waiting_bytes)
        if progress or not held:
            self._watch_frame(False)
        if held and not self._messages:
            self._watch_frame(True)

    def _watch_frame(self, unfinished: bool) -> None:
        """Starts or stops the timer that aborts the connection when a frame takes too long."""
        if unfinished and self._frame_timer is None:
            loop = asyncio.get_running_loop()
            self._frame_timer = loop.call_later(self._frame_time, self.abort)
        elif not unfinished and self._frame_timer is not None:
            self._frame_timer.cancel()
            self._frame_timer = None

    async def next_login_step(self) -> LoginStep | None:
        """The client's next credentials or token; None once the connection is closed."""
        while self._login_step is None:
            if self.lost or self._transport is None or self._transport.is_closing():
                return None
            self._arrived.clear()
            await self._arrived.wait()
        step, self._login_step = self._login_step, None
        return step

    async def send(self, message: bytes) -> None:
        """Sends a whole message; waits while the send buffer is full."""
        self.write(self.wrap(len(message)) + message)
        await self.drain()

    def wrap(self, length: int) -> bytes:
        """The bytes before a message of this length."""
        return self.inbound.wrap(length)

    async def on_protocol_error(self) -> None:
        """Called before a connection with malformed messages is closed."""

    def write(self, data: bytes) -> None:
        if self._transport is not None and not self.lost:
            self._transport.write(data)

    async def drain(self) -> None:
        await self._writable.wait()

    @property
    def is_full(self) -> bool:
        return not self._writable.is_set()

    def when_writable(self, source: UpstreamConnection | None) -> None:
        self._source = source

    def close(self) -> None:
        """Closes the connection once the written bytes are sent."""
        if self._transport is not None:
            self._transport.close()

    def dismiss(self, farewell: bytes) -> None:
        """Closes the connection when the server ends. A client that waits for no reply receives
        `farewell`, which it reads as the reply to its next call: the protocol has no other way to
        send a reason."""
        if self.on_login is None and self.task is None:
            self.write(self.wrap(len(farewell)) + farewell)
        self.close()

    def reject(self, reason: str) -> None:
        """Answers the client's first bytes with `reason`, and then closes the connection.

        A reply before the client has sent anything may be lost when the connection is closed.
        """
        self._rejection = reason

    def _send_rejection(self, reason: str) -> None:
        if isinstance(self.inbound, SaslInbound):
            self.take(self.inbound.reject(reason))
        else:
            self.abort()

    def abort_unless_logged_in(self) -> None:
        """Aborts the connection if it is not logged in; without SASL, if it has sent no message."""
        if self.on_login is not None:
            self.abort()

    def abort(self) -> None:
        if self._transport is not None:
            self._transport.abort()
        elif self.handshake is not None:
            self.handshake.cancel()


def _size(message: Frame | Oversized) -> int:
    return len(message.data) if isinstance(message, Frame) else len(message.head)
