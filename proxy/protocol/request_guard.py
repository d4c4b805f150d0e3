"""Refuses HTTP requests that a web page may have made a browser send.

Cross-site requests: a page of another site can post a form, but cannot add a header. With
`hive.server2.xsrf.filter.enabled` a request without X-XSRF-HEADER is refused, as in HiveServer2.

DNS rebinding: an attacker's host name resolves to this machine's address, and the browser sends
that name in Host. So unknown names are refused. Addresses in Host are accepted, since rebinding
needs a name.
"""

import ipaddress
from collections.abc import Iterable
from dataclasses import dataclass
from http import HTTPStatus

from proxy.protocol.http import Head

XSRF_HEADER = "X-XSRF-HEADER"
_LOOPBACK = "localhost"
_ANY = "*"
_SAFE_METHODS = ("GET", "OPTIONS", "HEAD", "TRACE")


@dataclass(frozen=True, slots=True)
class RequestGuard:
    """`names` are the accepted hosts in small letters, where `*.example.com` means every host below
    example.com; None accepts every host. With `xsrf`, requests with unsafe methods need the header.
    """

    names: frozenset[str] | None = None
    xsrf: bool = False

    def refusal(self, head: Head) -> HTTPStatus | None:
        """The status for a refused request; None if it is accepted.

        This is checked before authentication.
        """
        if not self.accepts(head.headers.get("host")):
            return HTTPStatus.MISDIRECTED_REQUEST
        unsafe = head.method not in _SAFE_METHODS
        if self.xsrf and unsafe and XSRF_HEADER.lower() not in head.headers:
            return HTTPStatus.BAD_REQUEST
        return None

    def accepts(self, host: str | None) -> bool:
        """Whether the Host header is accepted. Browsers always send one."""
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
    """The guard of a listener. Without configured names, a loopback listener accepts this machine's
    names only, and any other listener accepts every host."""
    names = frozenset(configured)
    if _ANY in names or not (names or is_loopback(listen_host)):
        return RequestGuard(None, xsrf)
    return RequestGuard(names | {_LOOPBACK, own_name.lower(), listen_host.lower()}, xsrf)


def host_name(host: str) -> str:
    """The name or address in a Host header, in small letters, without the port and a final dot."""
    text = host.strip().lower()
    if text.startswith("["):
        return text[1:].partition("]")[0]
    return text.partition(":")[0].rstrip(".")


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach a listener at `host`."""
    return host == _LOOPBACK or (_is_address(host) and ipaddress.ip_address(host).is_loopback)


def _is_address(text: str) -> bool:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True
