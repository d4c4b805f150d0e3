"""The library for Kerberos, which is an extra of ours, the names of services, and its layers."""

import socket
from typing import Any

from conf.errors import BadSetting
from proxy.errors import WireError

LARGEST = 0xFFFFFF  # bytes of a wrapped message, as a negotiation can say it


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
    """Hadoop's `_HOST` is that host, or this one's full name."""
    return principal.replace("/_HOST@", f"/{(host or socket.getfqdn()).lower()}@")


class Sealed:
    """A Layer: what a security context makes of messages, once both sides chose that.

    `theirs` is the largest wrapped message that the other side takes.
    """

    def __init__(self, context: Any, encrypted: bool, theirs: int) -> None:
        """Raises ValueError when not even a byte would fit."""
        self._errors = library().exceptions.GSSError
        self._context = context
        self._encrypted = encrypted
        self.room = int(context.get_wrap_size_limit(theirs, encrypted))
        if self.room <= 0:
            raise ValueError(f"wrapped messages of {theirs} bytes")

    def wrap(self, message: bytes) -> bytes:
        """Raises WireError."""
        try:
            made = self._context.wrap(message, self._encrypted)
        except self._errors as error:
            raise WireError(f"A message cannot be wrapped ({type(error).__name__}).") from None
        self._check(made.encrypted)
        return bytes(made.message)

    def unwrap(self, token: bytes) -> bytes:
        """Raises WireError for what was changed, sent twice, left out, or is not encrypted."""
        try:
            made = self._context.unwrap(token)
        except self._errors as error:
            raise WireError(f"A wrapped message is not good ({type(error).__name__}).") from None
        self._check(made.encrypted)
        return bytes(made.message)

    def _check(self, encrypted: bool) -> None:
        if self._encrypted and not encrypted:
            raise WireError("A message that is not encrypted.")
