"""Counts who is not let in, whichever way they came."""

from collections.abc import Awaitable

from proxy.errors import Denied
from proxy.net.identity import Acceptor, Authenticator
from proxy.net.shield import Layer
from proxy.session.metrics import Metrics

_FAILURES = "causeway_authentication_failures_total"


class Counted:
    """An authenticator whose failures are counted."""

    def __init__(self, inner: Authenticator, metrics: Metrics) -> None:
        self.mechanisms = inner.mechanisms
        self._inner = inner
        self._metrics = metrics

    async def password(self, user: str, password: str, peer: str) -> str:
        return await self._count(self._inner.password(user, password, peer))

    async def bearer(self, token: str, peer: str) -> str:
        return await self._count(self._inner.bearer(token, peer))

    def gssapi(self, peer: str) -> Acceptor:
        return _CountedAcceptor(self._inner.gssapi(peer), self._metrics)

    def spnego(self, peer: str) -> Acceptor:
        return _CountedAcceptor(self._inner.spnego(peer), self._metrics)

    async def _count(self, answer: Awaitable[str]) -> str:
        try:
            return await answer
        except Denied:
            self._metrics.count(_FAILURES)
            raise


class _CountedAcceptor:
    def __init__(self, inner: Acceptor, metrics: Metrics) -> None:
        self._inner = inner
        self._metrics = metrics

    @property
    def layer(self) -> Layer | None:
        return self._inner.layer

    async def step(self, token: bytes) -> tuple[bytes, str | None]:
        try:
            return await self._inner.step(token)
        except Denied:
            self._metrics.count(_FAILURES)
            raise
