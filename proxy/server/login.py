"""The log-in of one connection: the SASL negotiation between a client and an authenticator."""

import asyncio

from proxy.auth.authenticator import Acceptor, Authenticator
from proxy.errors import AuthRejected, LimitReached, WireError
from proxy.protocol.framing import Credentials, LoginStep, SaslInbound
from proxy.server.client_connection import ClientConnection
from saslauth.security_layer import SecurityLayer


async def authenticate(client: ClientConnection, authenticator: Authenticator) -> bool:
    """Whether the client logged in; then `client.user` is the user.

    A client without SASL is accepted, and `client.user` stays None.
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
        except LimitReached as error:
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
