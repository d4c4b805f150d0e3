"""Counts log-ins and writes them to the audit log, for every method of authentication."""

from collections.abc import Awaitable
from typing import Protocol

from proxy.auth.authenticator import Acceptor, Authenticator
from proxy.errors import AuthRejected
from saslauth.security_layer import SecurityLayer

PASSWORD, TOKEN, TICKET = "password", "token", "ticket"


class LoginObserver(Protocol):
    def login(self, user: str, address: str, method: str, accepted: bool) -> None:
        """Called after each log-in. `user` is the user that logged in; after a failure it is the
        name that the client sent, which may be empty."""


class MeteredAuthenticator:
    """An authenticator that reports each log-in of `inner` to the observer."""

    def __init__(self, inner: Authenticator, observer: LoginObserver) -> None:
        self.mechanisms = inner.mechanisms
        self._inner = inner
        self._observer = observer

    async def password(self, user: str, password: str, peer: str) -> str:
        return await self._observed(
            self._inner.password(user, password, peer), PASSWORD, user, peer
        )

    async def bearer(self, token: str, peer: str) -> str:
        return await self._observed(self._inner.bearer(token, peer), TOKEN, "", peer)

    def gssapi(self, peer: str) -> Acceptor:
        return _MeteredAcceptor(self._inner.gssapi(peer), self._observer, peer)

    def spnego(self, peer: str) -> Acceptor:
        return _MeteredAcceptor(self._inner.spnego(peer), self._observer, peer)

    async def _observed(self, login: Awaitable[str], method: str, user: str, peer: str) -> str:
        try:
            name = await login
        except AuthRejected:
            self._observer.login(user, peer, method, accepted=False)
            raise
        self._observer.login(name, peer, method, accepted=True)
        return name


class _MeteredAcceptor:
    def __init__(self, inner: Acceptor, observer: LoginObserver, peer: str) -> None:
        self._inner = inner
        self._observer = observer
        self._peer = peer

    @property
    def layer(self) -> SecurityLayer | None:
        return self._inner.layer

    async def step(self, token: bytes) -> tuple[bytes, str | None]:
        try:
            reply, user = await self._inner.step(token)
        except AuthRejected:
            self._observer.login("", self._peer, TICKET, accepted=False)
            raise
        if user is not None:
            self._observer.login(user, self._peer, TICKET, accepted=True)
        return reply, user
