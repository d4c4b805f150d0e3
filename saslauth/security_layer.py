"""The interface of the protection that a SASL negotiation chose for all further messages."""

from typing import Protocol


class SecurityLayer(Protocol):
    """Wraps and unwraps; both raise SaslFailed. `room` is the number of bytes for one `wrap`."""

    @property
    def room(self) -> int: ...

    def wrap(self, message: bytes) -> bytes: ...

    def unwrap(self, token: bytes) -> bytes: ...
