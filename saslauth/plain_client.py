"""The client's side of PLAIN (RFC 4616): a name and a password, in one message."""

from saslauth.negotiation import PLAIN
from saslauth.security_layer import SecurityLayer


class PlainClient:
    """A Mechanism. It does not verify the server."""

    name = PLAIN
    layer: SecurityLayer | None = None

    def __init__(self, user: str, password: str) -> None:
        self.complete = False
        self._response = b"\0".join((b"", user.encode(), password.encode()))

    def step(self, challenge: bytes | None) -> bytes:
        """See Mechanism."""
        self.complete = True
        return self._response
