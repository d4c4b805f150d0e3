"""Who is asking: the seam between what a client says of itself and what is believed."""

import asyncio
from typing import Protocol

from proxy.errors import Denied, TooMany, WireError
from proxy.protocol.framing import PLAIN, Credentials, Question, SaslInbound
from proxy.server.client_connection import ClientConnection
from proxy.server.sasl_transport import Layer


class Acceptor(Protocol):
    """One client's negotiation with tickets, GSSAPI in SASL or SPNEGO over HTTP."""

    @property
    def layer(self) -> Layer | None:
        """What protects all that comes after the name is certain; None: nothing."""
        ...

    async def step(self, token: bytes) -> tuple[bytes, str | None]:
        """Our next token, and the user's name once that is certain. Raises Denied."""
        ...


class Authenticator(Protocol):
    """Names whoever proves to be somebody; the name is what sessions belong to.

    `peer` is the client's address. Every method raises Denied, which says nothing of why, and may
    take as long as the server takes that knows: it blocks nobody, and is cancelled when the
    client goes.
    """

    mechanisms: frozenset[str]  # of SASL; empty: there is none (NOSASL)

    async def password(self, user: str, password: str, peer: str) -> str: ...

    async def bearer(self, token: str, peer: str) -> str: ...

    def gssapi(self, peer: str) -> Acceptor: ...

    def spnego(self, peer: str) -> Acceptor: ...


class Anyone:
    """NONE and NOSASL: everybody is who they say. As the Thrift Server, it wants some password."""

    def __init__(self, mechanisms: frozenset[str] = frozenset((PLAIN,))) -> None:
        self.mechanisms = mechanisms

    async def password(self, user: str, password: str, peer: str) -> str:
        if not user or not password:
            raise Denied
        return user

    async def bearer(self, token: str, peer: str) -> str:
        raise Denied

    def gssapi(self, peer: str) -> Acceptor:
        raise Denied

    def spnego(self, peer: str) -> Acceptor:
        raise Denied


async def identified(client: ClientConnection, authenticator: Authenticator) -> bool:
    """Whether the client was let in: `client.user` is its name then.

    A client of a protocol without names (NOSASL) is, and stays nobody.
    """
    inbound = client.inbound
    if not isinstance(inbound, SaslInbound):
        return True
    client.served_by = asyncio.current_task()
    try:
        return await _negotiated(client, inbound, authenticator)
    except WireError:
        return False  # of what it said early: nobody can tell what it meant
    except asyncio.CancelledError:
        if not client.lost:
            raise
        return False
    finally:
        client.served_by = None


async def _negotiated(
    client: ClientConnection, inbound: SaslInbound, authenticator: Authenticator
) -> bool:
    acceptor: Acceptor | None = None
    while (question := await client.next_question()) is not None:
        client.proving = True
        try:
            if not isinstance(question, Credentials):
                acceptor = acceptor or authenticator.gssapi(client.peer)
            token, user = await _answer(question, authenticator, acceptor, client.peer)
            if user is not None:
                client.entered()
        except Denied:
            client.take(inbound.refuse())
            return False
        except TooMany as error:
            client.take(inbound.turn_away(str(error)))
            return False
        finally:
            client.proving = False
        if user is not None:
            client.user = user
            _let_in(client, inbound, token, acceptor.layer if acceptor is not None else None)
            return True
        client.take(inbound.challenge(token))
    return False


def _let_in(
    client: ClientConnection, inbound: SaslInbound, token: bytes, layer: Layer | None
) -> None:
    early = inbound.early() if layer is not None else b""
    client.take(inbound.accept(token))
    if layer is not None:
        client.shield(layer, early)


async def _answer(
    question: Question, authenticator: Authenticator, acceptor: Acceptor | None, peer: str
) -> tuple[bytes, str | None]:
    if isinstance(question, Credentials):
        return b"", await authenticator.password(question.user, question.password, peer)
    assert acceptor is not None
    return await acceptor.step(question.data)
