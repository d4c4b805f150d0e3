"""Failed log-ins are counted, successful ones are not."""

import asyncio

import pytest

from proxy.auth.authenticator import Acceptor
from proxy.auth.metered_authenticator import MeteredAuthenticator
from proxy.errors import AuthRejected
from proxy.operations.metrics import Metrics
from proxy.operations.observer import Observer
from saslauth.security_layer import SecurityLayer


class Knows:
    """Accepts the password, token or ticket `yes`."""

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
def test_failures_of_each_method_are_counted(way: str) -> None:
    metrics = Metrics()
    metered = MeteredAuthenticator(Knows(), Observer(metrics))

    async def login(credential: str) -> str | None:
        if way == "password":
            return await metered.password("ann", credential, "p")
        if way == "bearer":
            return await metered.bearer(credential, "p")
        acceptor = metered.gssapi("p") if way == "gssapi" else metered.spnego("p")
        return (await acceptor.step(credential.encode()))[1]

    assert asyncio.run(login("yes")) == "ann"
    assert metrics.samples() == []
    with pytest.raises(AuthRejected):
        asyncio.run(login("no"))
    assert metrics.samples() == [("causeway_authentication_failures_total", (), 1)]
    assert metered.mechanisms == {"PLAIN"}
