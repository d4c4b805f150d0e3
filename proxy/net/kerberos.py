"""The library for Kerberos, which is an extra of ours, and the names of services."""

import socket
from typing import Any

from conf.errors import BadSetting


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
