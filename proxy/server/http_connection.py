"""A client's connection over HTTP: each request says whose it is, and sessions outlive it.

Reading stops while a request waits to be served, so at most one read of them is kept; nothing of
a body is before its sender is known.
"""

import asyncio
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from http import HTTPStatus

from proxy.auth.authenticator import Acceptor, Authenticator
from proxy.auth.cookies import Cookies, Identity
from proxy.errors import Denied, TooMany
from proxy.limits import Limits
from proxy.protocol import http
from proxy.protocol.framing import GSSAPI, PLAIN, BareInbound, Frame, Oversized
from proxy.protocol.http import Head, HttpEvent, HttpReader, Malformed
from proxy.protocol.request_guard import RequestGuard
from proxy.server.client_connection import ClientConnection
from proxy.server.receive_budget import Buffers

_SMALL = 64 << 10  # a refused request's body is read to its end up to here


@dataclass(frozen=True, slots=True)
class HttpDoor:
    """What all connections of the listener share; `cookies` None: none are given or taken."""

    path: str
    idle: float
    authenticator: Authenticator
    cookies: Cookies | None
    limits: Limits
    guard: RequestGuard = field(default_factory=RequestGuard)


class HttpConnection(ClientConnection):
    """A ClientConnection whose messages are the bodies of POSTs."""

    outlived = True

    def __init__(
        self,
        door: HttpDoor,
        started: Callable[[ClientConnection], None],
        buffers: Buffers | None = None,
    ) -> None:
        super().__init__(BareInbound(), started, buffers)
        self._door = door
        self._reader = HttpReader()
        self._events: deque[HttpEvent] = deque()
        self._patience: asyncio.TimerHandle | None = None
        self._late = False
        self._head: Head | None = None
        self._headers: list[tuple[str, str]] = []
        self._acceptor: Acceptor | None = None
        self._leaving = False

    # asyncio's side

    def data_received(self, data: bytes) -> None:
        assert self._transport is not None
        if self._leaving:
            return
        if self._turned_away:
            self._say_goodbye(self._turned_away)
            return
        was_in_head = self._reader.in_head
        self._events += self._reader.feed(data)
        self._buffers.hold(self, self.held)
        if self._events:
            self._transport.pause_reading()
            self._arrived.set()
        elif self._reader.in_head and not was_in_head:
            self._wait_no_longer_than(self._door.limits.negotiation)

    def connection_lost(self, exc: Exception | None) -> None:
        self._wait_no_longer_than(None)
        super().connection_lost(exc)

    # our side

    async def next_message(self) -> Frame | Oversized | None:
        """The next call of somebody let in; None once no more can come."""
        patience = self._door.limits.negotiation if self.user is None else self._door.idle
        while self._head is None or self._head.keep_alive:
            event = await self._next_event(patience)
            if not isinstance(event, Head):
                await self._reject(event, self._reader.in_head)
                return None
            self._head, self._headers = event, []
            message = await self._body_of(event)
            if message is not None:
                return message
            if self._leaving or self.lost:
                return None
        await self._leave()
        return None

    async def _body_of(self, head: Head) -> Frame | Oversized | None:
        """The call in a request; None when it has been answered already."""
        status = self._door.guard.refusal(head) or http.refusal(head, self._door.path)
        if status is None:
            self.proving = True
            try:
                self.user = await self._who(head)
                self.entered()
            except Denied:
                status = HTTPStatus.UNAUTHORIZED
            except TooMany:
                status = HTTPStatus.SERVICE_UNAVAILABLE
            finally:
                self.proving = False
        if status is not None:
            await self._refuse(head, status)
            return None
        self.acting_as = http.acting_as(head)
        if head.expects and not self._events:
            self.write(http.CONTINUE)
        event = await self._next_event(self._door.limits.request)
        if isinstance(event, Frame | Oversized):
            self._buffers.hold(self, self.held)
            self._read_on()  # to hear when it goes
            return event
        await self._reject(event, True)
        return None

    async def _next_event(self, patience: float) -> HttpEvent | None:
        """What the client says next; None when it is gone or takes longer than `patience`."""
        if not self._events:
            self._late = False
            began = self._reader.in_head
            self._wait_no_longer_than(self._door.limits.negotiation if began else patience)
            self._read_on()
            while not (self._events or self.lost or self._late):
                self._arrived.clear()
                await self._arrived.wait()
            self._wait_no_longer_than(None)
        return self._events.popleft() if self._events else None

    def _read_on(self) -> None:
        transport = self._transport
        if transport is None or transport.is_closing() or transport.is_reading():
            return
        if not self._events:
            transport.resume_reading()

    def _wait_no_longer_than(self, seconds: float | None) -> None:
        if self._patience is not None:
            self._patience.cancel()
        self._patience = None
        if seconds is not None:
            self._patience = asyncio.get_running_loop().call_later(seconds, self._give_up)

    def _give_up(self) -> None:
        self._late = True
        self._arrived.set()

    def wrap(self, length: int) -> bytes:
        keep_alive = self._head is not None and self._head.keep_alive
        return http.reply_head(length, keep_alive, *self._headers)

    async def misunderstood(self) -> None:
        await self._say_and_leave(HTTPStatus.BAD_REQUEST)

    @property
    def held(self) -> int:
        bodies = sum(len(each.data) for each in self._events if isinstance(each, Frame))
        return self._reader.held + bodies

    @property
    def is_unfinished(self) -> bool:
        return self._reader.held > 0

    def let_go_if_nobody(self) -> None:
        """Requests have their own patience."""

    # who it is

    async def _who(self, head: Head) -> str:
        """The user. Raises Denied. A cookie is enough while nothing else is said."""
        cookies, now = self._door.cookies, time.time()
        said = http.scheme_of(head)
        known = cookies.read(head.headers.get("cookie"), now) if cookies is not None else None
        if known is not None and (said is None or _said_by(said) == known.said):
            return known.user
        if said is None:
            raise Denied
        user = await self._proved(*said)
        if cookies is not None and said[0] != "bearer":  # it would outlive the token
            identity = Identity(_said_by(said) or user, user)
            self._headers.append(("Set-Cookie", cookies.made_for(identity, now)))
        return user

    async def _proved(self, scheme: str, rest: str) -> str:
        who = self._door.authenticator
        if scheme == "bearer":
            return await who.bearer(rest, self.peer)
        if scheme == "negotiate":
            return await self._negotiated(rest)
        credentials = http.basic(rest) if scheme == "basic" else None
        if credentials is None:
            raise Denied
        return await who.password(*credentials, self.peer)

    async def _negotiated(self, rest: str) -> str:
        """SPNEGO, in as many requests of this connection as it takes."""
        token = http.negotiate(rest)
        if token is None:
            raise Denied
        acceptor = self._acceptor or self._door.authenticator.spnego(self.peer)
        self._acceptor = None
        reply, user = await acceptor.step(token)
        if reply:
            self._headers.append(("WWW-Authenticate", http.negotiation(reply)))
        if user is None:
            self._acceptor = acceptor
            raise Denied
        return user

    def _challenges(self) -> list[tuple[str, str]]:
        if self._headers:  # a negotiation that goes on
            return self._headers
        schemes = {PLAIN: 'Basic realm="Causeway"', GSSAPI: "Negotiate"}
        offered = [schemes[each] for each in sorted(self._door.authenticator.mechanisms)]
        return [("WWW-Authenticate", each) for each in offered or ["Bearer"]]

    # refusing, leaving

    async def _refuse(self, head: Head, status: HTTPStatus) -> None:
        """Answers, and goes on with the connection when the rest of the request is small."""
        headers = self._challenges() if status is HTTPStatus.UNAUTHORIZED else []
        if status is HTTPStatus.METHOD_NOT_ALLOWED:
            headers = [("Allow", "POST")]
        small = head.length is not None and head.length <= _SMALL and not head.expects
        if not (small and head.keep_alive):
            await self._say_and_leave(status, *headers)
            return
        event = await self._next_event(self._door.limits.negotiation)
        if not isinstance(event, Frame | Oversized):
            await self._reject(event, True)
            return
        self.write(http.error_reply(status, True, *headers, bodiless=head.method == "HEAD"))
        await self.drain()

    async def _reject(self, event: HttpEvent | None, awaited: bool) -> None:
        """What came in the place of a request or a body: nothing readable, or nothing in time.

        `awaited` says that a request had begun.
        """
        if isinstance(event, Malformed):
            await self._say_and_leave(event.status)
        elif self._late and awaited:
            await self._say_and_leave(HTTPStatus.REQUEST_TIMEOUT)
        else:
            self.abort()

    async def _say_and_leave(self, status: HTTPStatus, *headers: tuple[str, str]) -> None:
        bodiless = self._head is not None and self._head.method == "HEAD"
        self.write(http.error_reply(status, False, *headers, bodiless=bodiless))
        await self._leave()

    def _say_goodbye(self, reason: str) -> None:
        assert self._transport is not None
        self._leaving = True
        self.write(http.error_reply(HTTPStatus.SERVICE_UNAVAILABLE, False))
        self._transport.close()

    async def _leave(self) -> None:
        """Ends the connection once its last reply is read. What still comes is thrown away: a
        reset would take the reply with it."""
        self._leaving = True
        self._events.clear()
        transport = self._transport
        if transport is None or transport.is_closing():
            return
        self._late = False
        self._wait_no_longer_than(self._door.limits.negotiation)
        if transport.can_write_eof():
            transport.write_eof()
            self._read_on()
        else:
            transport.close()
        while not (self.lost or self._late):
            self._arrived.clear()
            await self._arrived.wait()
        self.abort()


def _said_by(said: tuple[str, str]) -> str | None:
    """The name that goes with credentials; tickets and tokens have none that we could read."""
    scheme, rest = said
    credentials = http.basic(rest) if scheme == "basic" else None
    return credentials[0] if credentials is not None else None
