"""The interface of the protection that a SASL negotiation chose for all further messages."""

from typing import Protocol


class SecurityLayer(Protocol):
    """Wraps and unwraps messages; both raise SaslFailed. One `wrap` takes at most `room` bytes."""

    @property
    def room(self) -> int: ...

    def wrap(self, message: bytes) -> bytes: ...

    def unwrap(self, token: bytes) -> bytes: ...
