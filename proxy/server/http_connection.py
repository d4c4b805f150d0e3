"""A client's HTTP connection: each request has credentials, and sessions outlive the connection.

The socket is not read while a request waits to be handled, so that the data of at most one read is
kept. A body is read only after the client is authenticated.
"""

import asyncio
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from http import HTTPStatus

from proxy.auth.authenticator import Acceptor, Authenticator
from proxy.auth.cookies import CookieIdentity, Cookies
from proxy.errors import AuthRejected, LimitReached
from proxy.limits import Limits
from proxy.protocol import http
from proxy.protocol.framing import BareInbound, Frame, Oversized
from proxy.protocol.http import Head, HttpEvent, HttpReader, Malformed
from proxy.protocol.request_guard import RequestGuard
from proxy.server.client_connection import ClientConnection
from proxy.server.receive_budget import ReceiveBudget
from saslauth.negotiation import GSSAPI, PLAIN

_SMALL = 64 << 10  # bytes up to which the body of a refused request is read to its end


@dataclass(frozen=True, slots=True)
class HttpListener:
    """The parts that all connections of one listener share. `cookies` is None if they are off."""

    path: str
    idle: float
    authenticator: Authenticator
    cookies: Cookies | None
    limits: Limits
    guard: RequestGuard = field(default_factory=RequestGuard)


class HttpConnection(ClientConnection):
    """A ClientConnection whose messages are the bodies of POST requests."""

    sessions_outlive = True

    def __init__(
        self,
        listener: HttpListener,
        connected: Callable[[ClientConnection], None],
        receive_budget: ReceiveBudget | None = None,
    ) -> None:
        super().__init__(BareInbound(), connected, receive_budget)
        self._listener = listener
        self._reader = HttpReader()
        self._events: deque[HttpEvent] = deque()
        self._timer: asyncio.TimerHandle | None = None
        self._timed_out = False
        self._head: Head | None = None
        self._headers: list[tuple[str, str]] = []  # of the next reply
        self._acceptor: Acceptor | None = None
        self._leaving = False

    # Called by asyncio

    def data_received(self, data: bytes) -> None:
        assert self._transport is not None
        if self._leaving:
            return
        if self._rejection:
            self._send_rejection(self._rejection)
            return
        was_in_head = self._reader.in_head
        self._events += self._reader.feed(data)
        self._receive_budget.hold(self, self.held)
        if self._events:
            self._transport.pause_reading()
            self._arrived.set()
        elif self._reader.in_head and not was_in_head:
            self._set_timer(self._listener.limits.negotiation)

    def connection_lost(self, exc: Exception | None) -> None:
        self._set_timer(None)
        super().connection_lost(exc)

    # Called by the server

    async def next_message(self) -> Frame | Oversized | None:
        """The next call of an authenticated client; None when the connection has to be closed."""
        limits = self._listener.limits
        timeout = limits.negotiation if self.user is None else self._listener.idle
        while self._head is None or self._head.keep_alive:
            event = await self._next_event(timeout)
            if not isinstance(event, Head):
                await self._reject_event(event, self._reader.in_head)
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
        """The call in a request; None if the request was refused, or the connection ends."""
        status = self._listener.guard.refusal(head) or http.refusal(head, self._listener.path)
        if status is None:
            self.authenticating = True
            try:
                self.user = await self._authenticated_user(head)
                self.logged_in()
            except AuthRejected:
                status = HTTPStatus.UNAUTHORIZED
            except LimitReached:
                status = HTTPStatus.SERVICE_UNAVAILABLE
            finally:
                self.authenticating = False
        if status is not None:
            await self._refuse(head, status)
            return None
        self.do_as = http.do_as(head)
        if head.expects and not self._events:
            self.write(http.CONTINUE)
        event = await self._next_event(self._listener.limits.request)
        if isinstance(event, Frame | Oversized):
            self._receive_budget.hold(self, self.held)
            self._resume_reading()  # to detect that the client disconnects
            return event
        await self._reject_event(event, True)
        return None

    async def _next_event(self, patience: float) -> HttpEvent | None:
        """The next event; None if the client disconnected, or after `patience` seconds."""
        if not self._events:
            self._timed_out = False
            in_head = self._reader.in_head
            self._set_timer(self._listener.limits.negotiation if in_head else patience)
            self._resume_reading()
            while not (self._events or self.lost or self._timed_out):
                self._arrived.clear()
                await self._arrived.wait()
            self._set_timer(None)
        return self._events.popleft() if self._events else None

    def _resume_reading(self) -> None:
        transport = self._transport
        if transport is None or transport.is_closing() or transport.is_reading():
            return
        if not self._events:
            transport.resume_reading()

    def _set_timer(self, seconds: float | None) -> None:
        """Replaces the timer; None: no timer."""
        if self._timer is not None:
            self._timer.cancel()
        self._timer = None
        if seconds is not None:
            self._timer = asyncio.get_running_loop().call_later(seconds, self._on_timeout)

    def _on_timeout(self) -> None:
        self._timed_out = True
        self._arrived.set()

    def wrap(self, length: int) -> bytes:
        keep_alive = self._head is not None and self._head.keep_alive
        return http.reply_head(length, keep_alive, *self._headers)

    async def on_protocol_error(self) -> None:
        await self._answer_and_leave(HTTPStatus.BAD_REQUEST)

    @property
    def held(self) -> int:
        bodies = sum(len(each.data) for each in self._events if isinstance(each, Frame))
        return self._reader.held + bodies

    @property
    def is_unfinished(self) -> bool:
        return self._reader.held > 0

    def dismiss(self, farewell: bytes) -> None:
        """Closes the connection: HTTP has no reply without a request. The client sends its next
        request over another connection."""
        self.close()

    def abort_unless_logged_in(self) -> None:
        """Does nothing: each request has its own time-outs."""

    # Authentication

    async def _authenticated_user(self, head: Head) -> str:
        """The user of a request. Raises AuthRejected.

        A valid cookie replaces the credentials, unless the request has those of another log-in.
        """
        cookies, now = self._listener.cookies, time.time()
        authorization = http.authorization_of(head)
        cookie = cookies.read(head.headers.get("cookie"), now) if cookies is not None else None
        if cookie is not None and (
            authorization is None or _login_name(authorization) == cookie.login_name
        ):
            return cookie.user
        if authorization is None:
            raise AuthRejected
        user = await self._check(*authorization)
        scheme, _ = authorization
        if cookies is not None and scheme != "bearer":  # a cookie would outlive the token
            identity = CookieIdentity(_login_name(authorization) or user, user)
            self._headers.append(("Set-Cookie", cookies.header(identity, now)))
        return user

    async def _check(self, scheme: str, credentials: str) -> str:
        authenticator = self._listener.authenticator
        if scheme == "bearer":
            return await authenticator.bearer(credentials, self.peer)
        if scheme == "negotiate":
            return await self._negotiate(credentials)
        user_password = http.basic_credentials(credentials) if scheme == "basic" else None
        if user_password is None:
            raise AuthRejected
        return await authenticator.password(*user_password, self.peer)

    async def _negotiate(self, credentials: str) -> str:
        """The user, by SPNEGO, which may take several requests of this connection.

        Raises AuthRejected, also if the client has to send another token.
        """
        token = http.spnego_token(credentials)
        if token is None:
            raise AuthRejected
        acceptor = self._acceptor or self._listener.authenticator.spnego(self.peer)
        self._acceptor = None
        reply, user = await acceptor.step(token)
        if reply:
            self._headers.append(("WWW-Authenticate", http.negotiate_header(reply)))
        if user is None:
            self._acceptor = acceptor
            raise AuthRejected
        return user

    def _challenges(self) -> list[tuple[str, str]]:
        if self._headers:  # the next token of a negotiation
            return self._headers
        schemes = {PLAIN: 'Basic realm="Causeway"', GSSAPI: "Negotiate"}
        offered = [schemes[each] for each in sorted(self._listener.authenticator.mechanisms)]
        return [("WWW-Authenticate", each) for each in offered or ["Bearer"]]

    # Refusals and the end of the connection

    async def _refuse(self, head: Head, status: HTTPStatus) -> None:
        """Answers with the status, and keeps the connection if the request's body is small."""
        headers = self._challenges() if status is HTTPStatus.UNAUTHORIZED else []
        if status is HTTPStatus.METHOD_NOT_ALLOWED:
            headers = [("Allow", "POST")]
        small = head.length is not None and head.length <= _SMALL and not head.expects
        if not (small and head.keep_alive):
            await self._answer_and_leave(status, *headers)
            return
        event = await self._next_event(self._listener.limits.negotiation)
        if not isinstance(event, Frame | Oversized):
            await self._reject_event(event, True)
            return
        self.write(http.error_reply(status, True, *headers, bodiless=head.method == "HEAD"))
        await self.drain()

    async def _reject_event(self, event: HttpEvent | None, in_request: bool) -> None:
        """Ends the connection after a malformed request; `event` is None after a time-out or the
        client's disconnect.

        `in_request`: a request has begun, so that the client receives an answer.
        """
        if isinstance(event, Malformed):
            await self._answer_and_leave(event.status)
        elif self._timed_out and in_request:
            await self._answer_and_leave(HTTPStatus.REQUEST_TIMEOUT)
        else:
            self.abort()

    async def _answer_and_leave(self, status: HTTPStatus, *headers: tuple[str, str]) -> None:
        bodiless = self._head is not None and self._head.method == "HEAD"
        self.write(http.error_reply(status, False, *headers, bodiless=bodiless))
        await self._leave()

    def _send_rejection(self, reason: str) -> None:
        assert self._transport is not None
        self._leaving = True
        self.write(http.error_reply(HTTPStatus.SERVICE_UNAVAILABLE, False))
        self._transport.close()

    async def _leave(self) -> None:
        """Ends the connection after the client has closed its side, or a time-out.

        Data that arrives until then is dropped: to close with unread data would reset the
        connection, and the client could lose the last reply.
        """
        self._leaving = True
        self._events.clear()
        transport = self._transport
        if transport is None or transport.is_closing():
            return
        self._timed_out = False
        self._set_timer(self._listener.limits.negotiation)
        if transport.can_write_eof():
            transport.write_eof()
            self._resume_reading()
        else:
            transport.close()
        while not (self.lost or self._timed_out):
            self._arrived.clear()
            await self._arrived.wait()
        self.abort()


def _login_name(authorization: tuple[str, str]) -> str | None:
    """The user name in Basic credentials; None for other schemes."""
    scheme, credentials = authorization
    user_password = http.basic_credentials(credentials) if scheme == "basic" else None
    return user_password[0] if user_password is not None else None
