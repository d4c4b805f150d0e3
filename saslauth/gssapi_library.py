"""The optional gssapi library, names of services, and the protection of messages (RFC 4752)."""

import socket
from typing import Any

from conf.errors import BadSetting
from saslauth.errors import SaslFailed

MAX_WRAPPED = 0xFFFFFF  # bytes of a wrapped message; a negotiation has three bytes for the size


def library() -> Any:
    """The package gssapi. Raises BadSetting."""
    try:
        import gssapi
    except ImportError as error:
        raise BadSetting(
            "Kerberos needs the Python package gssapi (pip install 'causeway[kerberos]') and"
            " libkrb5."
        ) from error
    return gssapi


def own_name(principal: str, host: str = "") -> str:
    """The principal with `host`, or this host's full name, in place of Hadoop's `_HOST`."""
    return principal.replace("/_HOST@", f"/{(host or socket.getfqdn()).lower()}@")


class GssSecurityLayer:
    """A SecurityLayer of a GSSAPI context (QOP auth-int or auth-conf).

    `peer_limit` is the largest wrapped message that the peer accepts, in bytes.
    """

    def __init__(self, context: Any, encrypted: bool, peer_limit: int) -> None:
        """Raises ValueError if not even one wrapped byte fits into `peer_limit`."""
        self._errors = library().exceptions.GSSError
        self._context = context
        self._encrypted = encrypted
        self.room = int(context.get_wrap_size_limit(peer_limit, encrypted))
        if self.room <= 0:
            raise ValueError(f"wrapped messages of {peer_limit} bytes")

    def wrap(self, message: bytes) -> bytes:
        """Raises SaslFailed."""
        try:
            wrapped = self._context.wrap(message, self._encrypted)
        except self._errors as error:
            raise SaslFailed(f"A message cannot be wrapped ({type(error).__name__}).") from None
        self._check(wrapped.encrypted)
        return bytes(wrapped.message)

    def unwrap(self, token: bytes) -> bytes:
        """Raises SaslFailed for a message that was changed, repeated, lost or not encrypted."""
        try:
            unwrapped = self._context.unwrap(token)
        except self._errors as error:
            raise SaslFailed(f"A wrapped message is invalid ({type(error).__name__}).") from None
        self._check(unwrapped.encrypted)
        return bytes(unwrapped.message)

    def _check(self, encrypted: bool) -> None:
        if self._encrypted and not encrypted:
            raise SaslFailed("A message is not encrypted.")
