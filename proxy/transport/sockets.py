"""Options of all TCP connections, to clients and to clusters."""

import socket
from collections.abc import Iterable

# A connection counts as full if its send buffer has this many bytes. uvloop sends data above this
# limit at once, and other data only at the end of the loop's turn.
HIGH_WATER = 1

_OPTIONS = (
    (socket.IPPROTO_TCP, "TCP_NODELAY", 1),
    (socket.SOL_SOCKET, "SO_KEEPALIVE", 1),
    (socket.IPPROTO_TCP, "TCP_KEEPIDLE", 30),
    (socket.IPPROTO_TCP, "TCP_KEEPINTVL", 10),
    (socket.IPPROTO_TCP, "TCP_KEEPCNT", 3),
)


def tune(sockets: Iterable[socket.socket]) -> None:
    """Sets options so that small frames are sent at once and a dead peer is detected in a minute.

    Accepted connections inherit these options from the listening socket.
    """
    for each in sockets:
        if each.family not in (socket.AF_INET, socket.AF_INET6):
            continue
        for level, name, value in _OPTIONS:
            if hasattr(socket, name):
                each.setsockopt(level, getattr(socket, name), value)
