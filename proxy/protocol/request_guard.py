"""Requests over HTTP that a web page may have had a browser send.

Two ways are shut. A page of another site can post a form, but no header of its own: with
`hive.server2.xsrf.filter.enabled` a request without X-XSRF-HEADER is refused, as by HiveServer2. A
page whose name is made to mean this machine's address (DNS rebinding) has its own name in Host: a
name that is not ours is refused. An address in Host is always taken, since rebinding needs a name.
"""

import ipaddress
from collections.abc import Iterable
from dataclasses import dataclass
from http import HTTPStatus

from proxy.protocol.http import Head

XSRF_HEADER = "X-XSRF-HEADER"
_LOOPBACK = "localhost"
_ANY = "*"
_UNCHANGING = ("GET", "OPTIONS", "HEAD", "TRACE")


@dataclass(frozen=True, slots=True)
class RequestGuard:
    """`names` are the hosts that a request may be for, in small letters; `*.example.com` is any
    below that; None: any. `xsrf`: a request that changes something needs the header."""

    names: frozenset[str] | None = None
    xsrf: bool = False

    def refusal(self, head: Head) -> HTTPStatus | None:
        """Why a request is not taken, before its sender is asked for."""
        if not self._is_ours(head.headers.get("host")):
            return HTTPStatus.MISDIRECTED_REQUEST
        unsafe = head.method not in _UNCHANGING
        if self.xsrf and unsafe and XSRF_HEADER.lower() not in head.headers:
            return HTTPStatus.BAD_REQUEST
        return None

    def _is_ours(self, host: str | None) -> bool:
        """Without the header it is no browser's request."""
        if self.names is None or host is None:
            return True
        name = host_name(host)
        if _is_address(name) or name in self.names:
            return True
        _, dot, parent = name.partition(".")
        while dot:
            if f"*.{parent}" in self.names:
                return True
            _, dot, parent = parent.partition(".")
        return False


def guard_of(
    configured: Iterable[str], xsrf: bool, listen_host: str, own_name: str
) -> RequestGuard:
    """The guard of a listener. Where nothing is configured, a listener of this machine alone takes
    requests for this machine, and any other one those for any host."""
    names = frozenset(configured)
    if _ANY in names or not (names or is_loopback(listen_host)):
        return RequestGuard(None, xsrf)
    return RequestGuard(names | {_LOOPBACK, own_name.lower(), listen_host.lower()}, xsrf)


def host_name(host: str) -> str:
    """The name or address in a Host header, in small letters, without port and final dot."""
    text = host.strip().lower()
    if text.startswith("["):
        return text[1:].partition("]")[0]
    return text.partition(":")[0].rstrip(".")


def is_loopback(host: str) -> bool:
    """Whether nobody but this machine reaches a listener of that host."""
    return host == _LOOPBACK or (_is_address(host) and ipaddress.ip_address(host).is_loopback)


def _is_address(text: str) -> bool:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True
