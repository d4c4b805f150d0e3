"""One client's connection: bytes in, whole messages out; replies in, bytes out."""

import asyncio
from collections import deque
from collections.abc import Callable, Iterable
from typing import cast

from proxy.errors import TooMany, WireError
from proxy.limits import DEFAULT
from proxy.protocol.framing import (
    MAX_FRAME,
    Credentials,
    Frame,
    FramingEvent,
    Inbound,
    Introduced,
    Oversized,
    Question,
    SaslInbound,
    Send,
    Token,
)
from proxy.server.receive_budget import Buffers
from proxy.server.sasl_transport import Layer, Shield
from proxy.server.sockets import HIGH_WATER
from proxy.upstream.upstream_connection import UpstreamConnection

MAX_WAITING = 4


class ClientConnection(asyncio.Protocol):
    """Made by the server for each connection; `started` is told when it is there.

    `served_by` works on an answer, and is cancelled when nobody waits for it any more, unless
    what the client began outlives its connection (`outlived`). `acting_as` is whom the client
    wants to be for a session that it opens, beside what it says in the session's configuration.
    """

    outlived = False

    def __init__(
        self,
        inbound: Inbound,
        started: Callable[["ClientConnection"], None],
        buffers: Buffers | None = None,
        frame_time: float = DEFAULT.request,
    ) -> None:
        """`frame_time` is how many seconds a frame may take to come."""
        self.inbound = inbound
        self.enter: Callable[[], None] | None = None  # told once that it is let in; may raise
        self.proving = False  # somebody finds out who it is
        self.handshake: asyncio.Task[None] | None = None  # until it has a transport
        self._buffers = Buffers() if buffers is None else buffers
        self._frame_time = frame_time
        self._frame_timer: asyncio.TimerHandle | None = None
        self._waiting_bytes = 0
        self._shield: Shield | None = None
        self.user: str | None = None
        self.acting_as: str | None = None
        self.peer = ""  # its address, without the port
        self.lost = False
        self.served_by: asyncio.Task[None] | None = None
        self._turned_away = ""
        self._started = started
        self._transport: asyncio.Transport | None = None
        self._messages: deque[Frame | Oversized] = deque()
        self._question: Question | None = None
        self._arrived = asyncio.Event()
        self._writable = asyncio.Event()
        self._writable.set()
        self._source: UpstreamConnection | None = None

    # asyncio's side

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)  # uvloop's are of no such class
        self._transport.set_write_buffer_limits(high=HIGH_WATER)
        peer = self._transport.get_extra_info("peername")
        self.peer = str(peer[0]) if isinstance(peer, tuple) else ""
        self._started(self)

    def data_received(self, data: bytes) -> None:
        assert self._transport is not None
        if self._turned_away:
            self._say_goodbye(self._turned_away)
            return
        try:
            events = self.inbound.feed(data)
        except WireError:
            self._transport.abort()
            return
        self.take(events)
        self._account(bool(events))

    def take(self, events: Iterable[FramingEvent]) -> None:
        """What came of the client's bytes."""
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
                case Credentials() | Token():
                    self._question = event
                    self._arrived.set()
                case Introduced(user, address):
                    self.user, self.peer = user or None, address
        if len(self._messages) >= MAX_WAITING:
            self._transport.pause_reading()

    def connection_lost(self, exc: Exception | None) -> None:
        self.lost = True
        self._watch_frame(False)
        self._buffers.hold(self, 0)
        self._arrived.set()
        if self.served_by is not None and not self.outlived:
            self.served_by.cancel()
        self.resume_writing()

    def pause_writing(self) -> None:
        self._writable.clear()

    def resume_writing(self) -> None:
        self._writable.set()
        if self._source is not None:
            self._source.resume()
            self._source = None

    # our side

    def shield(self, layer: Layer, early: bytes) -> None:
        """What is said from now on is wrapped, both ways; `early` is what of it is here."""
        assert self._transport is not None
        self._transport = self._shield = shield = Shield(
            self._transport, self, self.data_received, layer, MAX_FRAME
        )
        shield.data_received(early)

    @property
    def owner(self) -> str:
        """Whose handles it finds. Without SASL a connection is nobody's: the handle's secret alone
        tells who may. Of one client that acts for many, each has its own."""
        user, acting_as = self.user or "", self.acting_as
        return user if acting_as in (None, user) else f"{user}\0{acting_as}"

    async def next_message(self) -> Frame | Oversized | None:
        """The next whole message; None once the client is gone."""
        if self._messages:
            await asyncio.sleep(0)  # who asks without waiting takes turns with the others
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
            self.entered()
        except TooMany:
            self.abort()
            return None
        if transport is None or transport.is_closing():
            return None
        if not transport.is_reading():
            transport.resume_reading()
        return message

    def entered(self) -> None:
        """It is let in: its place is no longer that of one who may be. Raises TooMany."""
        if self.enter is not None:
            enter, self.enter = self.enter, None
            enter()

    @property
    def held(self) -> int:
        """Bytes of an unfinished frame."""
        return self.inbound.held + (self._shield.held if self._shield is not None else 0)

    @property
    def is_unfinished(self) -> bool:
        return self.held > 0

    def _account(self, progress: bool) -> None:
        """Counts what it holds; `progress`: a frame came to its end, or was taken."""
        held = self.held
        self._buffers.hold(self, held + self._waiting_bytes)
        if progress or not held:
            self._watch_frame(False)
        if held and not self._messages:
            self._watch_frame(True)

    def _watch_frame(self, unfinished: bool) -> None:
        """Ends the connection when a frame that began does not end."""
        if unfinished and self._frame_timer is None:
            loop = asyncio.get_running_loop()
            self._frame_timer = loop.call_later(self._frame_time, self.abort)
        elif not unfinished and self._frame_timer is not None:
            self._frame_timer.cancel()
            self._frame_timer = None

    async def next_question(self) -> Question | None:
        """What the client wants to be believed; None once it is gone, or was sent away."""
        while self._question is None:
            if self.lost or self._transport is None or self._transport.is_closing():
                return None
            self._arrived.clear()
            await self._arrived.wait()
        question, self._question = self._question, None
        return question

    async def send(self, message: bytes) -> None:
        """Sends a whole message; waits while the client is slow."""
        self.write(self.wrap(len(message)) + message)
        await self.drain()

    def wrap(self, length: int) -> bytes:
        """What goes before a message of that length on its way to the client."""
        return self.inbound.wrap(length)

    async def misunderstood(self) -> None:
        """Nobody can tell what the client meant: it is let go."""

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
        """Closes once what was written is sent."""
        if self._transport is not None:
            self._transport.close()

    def turn_away(self, reason: str) -> None:
        """Serves this client in no way but to say why, when it has begun to speak: what is said
        before may get lost with the connection."""
        self._turned_away = reason

    def _say_goodbye(self, reason: str) -> None:
        if isinstance(self.inbound, SaslInbound):
            self.take(self.inbound.turn_away(reason))
        else:
            self.abort()

    def let_go_if_nobody(self) -> None:
        """Ends a connection that has not even said whose it is, or without names, nothing."""
        if self.enter is not None:
            self.abort()

    def abort(self) -> None:
        if self._transport is not None:
            self._transport.abort()
        elif self.handshake is not None:
            self.handshake.cancel()


def _size(message: Frame | Oversized) -> int:
    return len(message.data) if isinstance(message, Frame) else len(message.head)
