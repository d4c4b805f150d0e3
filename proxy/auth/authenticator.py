"""The interface of authentication, and the log-in of one connection."""

import asyncio
from typing import Protocol

from proxy.errors import AuthRejected, TooMany, WireError
from proxy.protocol.framing import PLAIN, Credentials, LoginStep, SaslInbound
from proxy.server.client_connection import ClientConnection
from proxy.server.sasl_transport import SecurityLayer


class Acceptor(Protocol):
    """The server's side of one GSSAPI negotiation: in SASL, or SPNEGO over HTTP."""

    @property
    def layer(self) -> SecurityLayer | None:
        """Protects all messages after the negotiation; None: they are sent as they are."""
        ...

    async def step(self, token: bytes) -> tuple[bytes, str | None]:
        """The next token for the client, and the user's name once it is proved.

        Raises AuthRejected.
        """
        ...


class Authenticator(Protocol):
    """Checks credentials and returns the user's name, to which sessions belong.

    `peer` is the client's address. Every method raises AuthRejected, which does not contain the
    reason. The methods may wait for a directory, do not block the event loop, and are cancelled
    when the client disconnects.
    """

    mechanisms: frozenset[str]  # of SASL; empty: none (NOSASL)

    async def password(self, user: str, password: str, peer: str) -> str: ...

    async def bearer(self, token: str, peer: str) -> str: ...

    def gssapi(self, peer: str) -> Acceptor: ...

    def spnego(self, peer: str) -> Acceptor: ...


class NoAuthentication:
    """Authentication NONE and NOSASL: any client can claim any user name.

    A password must be there, as in the Thrift Server; it may be any text.
    """

    def __init__(self, mechanisms: frozenset[str] = frozenset((PLAIN,))) -> None:
        self.mechanisms = mechanisms

    async def password(self, user: str, password: str, peer: str) -> str:
        if not user or not password:
            raise AuthRejected
        return user

    async def bearer(self, token: str, peer: str) -> str:
        raise AuthRejected

    def gssapi(self, peer: str) -> Acceptor:
        raise AuthRejected

    def spnego(self, peer: str) -> Acceptor:
        raise AuthRejected


async def authenticate(client: ClientConnection, authenticator: Authenticator) -> bool:
    """Whether the client logged in; then `client.user` is its name.

    A client of a protocol without user names (NOSASL) is accepted and has no name.
    """
    inbound = client.inbound
    if not isinstance(inbound, SaslInbound):
        return True
    client.task = asyncio.current_task()
    try:
        return await _negotiate(client, inbound, authenticator)
    except WireError:
        return False  # the client sent malformed bytes before the log-in ended
    except asyncio.CancelledError:
        if not client.lost:
            raise
        return False
    finally:
        client.task = None


async def _negotiate(
    client: ClientConnection, inbound: SaslInbound, authenticator: Authenticator
) -> bool:
    acceptor: Acceptor | None = None
    while (step := await client.next_login_step()) is not None:
        client.authenticating = True
        try:
            if not isinstance(step, Credentials):
                acceptor = acceptor or authenticator.gssapi(client.peer)
            token, user = await _check(step, authenticator, acceptor, client.peer)
            if user is not None:
                client.logged_in()
        except AuthRejected:
            client.take(inbound.refuse())
            return False
        except TooMany as error:
            client.take(inbound.reject(str(error)))
            return False
        finally:
            client.authenticating = False
        if user is not None:
            client.user = user
            _accept(client, inbound, token, acceptor.layer if acceptor is not None else None)
            return True
        client.take(inbound.challenge(token))
    return False


def _accept(
    client: ClientConnection, inbound: SaslInbound, token: bytes, layer: SecurityLayer | None
) -> None:
    early = inbound.early() if layer is not None else b""
    client.take(inbound.accept(token))
    if layer is not None:
        client.protect(layer, early)


async def _check(
    step: LoginStep, authenticator: Authenticator, acceptor: Acceptor | None, peer: str
) -> tuple[bytes, str | None]:
    if isinstance(step, Credentials):
        return b"", await authenticator.password(step.user, step.password, peer)
    assert acceptor is not None
    return await acceptor.step(step.data)
