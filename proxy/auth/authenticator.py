"""The interface of authentication."""

from typing import Protocol

from proxy.errors import AuthRejected
from saslauth.negotiation import PLAIN
from saslauth.security_layer import SecurityLayer


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

    mechanisms: frozenset[str]  # names of SASL mechanisms; empty for NOSASL

    async def password(self, user: str, password: str, peer: str) -> str: ...

    async def bearer(self, token: str, peer: str) -> str: ...

    def gssapi(self, peer: str) -> Acceptor: ...

    def spnego(self, peer: str) -> Acceptor: ...


class NoAuthentication:
    """Authentication NONE and NOSASL: any client can claim any user name.

    An empty password is rejected, as in the Thrift Server; any other is accepted.
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
