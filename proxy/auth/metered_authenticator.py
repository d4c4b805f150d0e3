"""Counts log-ins that fail and writes all of them to the audit log, whatever the method."""

from collections.abc import Awaitable

from proxy.auth.authenticator import Acceptor, Authenticator
from proxy.errors import Denied
from proxy.operations.observer import Observer
from proxy.server.sasl_transport import Layer

PASSWORD, TOKEN, TICKET = "password", "token", "ticket"


class Counted:
    """An authenticator whose log-ins are observed."""

    def __init__(self, inner: Authenticator, observer: Observer) -> None:
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
        return _CountedAcceptor(self._inner.gssapi(peer), self._observer, peer)

    def spnego(self, peer: str) -> Acceptor:
        return _CountedAcceptor(self._inner.spnego(peer), self._observer, peer)

    async def _observed(self, answer: Awaitable[str], method: str, user: str, peer: str) -> str:
        try:
            name = await answer
        except Denied:
            self._observer.login(user, peer, method, accepted=False)
            raise
        self._observer.login(name, peer, method, accepted=True)
        return name


class _CountedAcceptor:
    def __init__(self, inner: Acceptor, observer: Observer, peer: str) -> None:
        self._inner = inner
        self._observer = observer
        self._peer = peer

    @property
    def layer(self) -> Layer | None:
        return self._inner.layer

    async def step(self, token: bytes) -> tuple[bytes, str | None]:
        try:
            reply, user = await self._inner.step(token)
        except Denied:
            self._observer.login("", self._peer, TICKET, accepted=False)
            raise
        if user is not None:
            self._observer.login(user, self._peer, TICKET, accepted=True)
        return reply, user
