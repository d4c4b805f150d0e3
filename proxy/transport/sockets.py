"""Options of all TCP connections, to clients and to clusters."""

import socket
from collections.abc import Iterable

# Bytes in the send buffer from which on a connection counts as full. uvloop sends at once what
# exceeds this, and the rest only at the end of the loop's turn; data should not wait for that.
HIGH_WATER = 1

_OPTIONS = (
    (socket.IPPROTO_TCP, "TCP_NODELAY", 1),
    (socket.SOL_SOCKET, "SO_KEEPALIVE", 1),
    (socket.IPPROTO_TCP, "TCP_KEEPIDLE", 30),
    (socket.IPPROTO_TCP, "TCP_KEEPINTVL", 10),
    (socket.IPPROTO_TCP, "TCP_KEEPCNT", 3),
)


def tune(sockets: Iterable[socket.socket]) -> None:
    """Sends small frames without delay, and detects a dead peer within a minute.

    Accepted connections inherit these options from the listening socket.
    """
    for each in sockets:
        if each.family not in (socket.AF_INET, socket.AF_INET6):
            continue
        for level, name, value in _OPTIONS:
            if hasattr(socket, name):
                each.setsockopt(level, getattr(socket, name), value)
