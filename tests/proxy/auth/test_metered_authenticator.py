"""Failures to log in are counted, successes are not."""

import asyncio

import pytest

from proxy.auth.authenticator import Acceptor
from proxy.auth.metered_authenticator import MeteredAuthenticator
from proxy.errors import AuthRejected
from proxy.operations.metrics import Metrics
from proxy.operations.observer import Observer
from proxy.server.sasl_transport import SecurityLayer


class Knows:
    """One password, one token, one ticket: all are `yes`."""

    layer: SecurityLayer | None = None
    mechanisms = frozenset(("PLAIN",))

    async def password(self, user: str, password: str, peer: str) -> str:
        return await self.bearer(password, peer)

    async def bearer(self, token: str, peer: str) -> str:
        if token != "yes":
            raise AuthRejected
        return "ann"

    def gssapi(self, peer: str) -> Acceptor:
        return self

    def spnego(self, peer: str) -> Acceptor:
        return self

    async def step(self, token: bytes) -> tuple[bytes, str | None]:
        return b"", await self.bearer(token.decode(), "")


@pytest.mark.parametrize("way", ["password", "bearer", "gssapi", "spnego"])
def test_each_way_in(way: str) -> None:
    metrics = Metrics()
    counted = MeteredAuthenticator(Knows(), Observer(metrics))

    async def come(word: str) -> str | None:
        if way == "password":
            return await counted.password("ann", word, "p")
        if way == "bearer":
            return await counted.bearer(word, "p")
        acceptor = counted.gssapi("p") if way == "gssapi" else counted.spnego("p")
        return (await acceptor.step(word.encode()))[1]

    assert asyncio.run(come("yes")) == "ann"
    assert metrics.samples() == []
    with pytest.raises(AuthRejected):
        asyncio.run(come("no"))
    assert metrics.samples() == [("causeway_authentication_failures_total", (), 1)]
    assert counted.mechanisms == {"PLAIN"}
