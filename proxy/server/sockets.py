"""What all our TCP connections have in common, to clients and to clusters."""

import socket
from collections.abc import Iterable

# Bytes that wait to be sent before a connection is full. uvloop sends what is more than that at
# once, and less only at the end of the loop's turn: nothing is to wait for that.
HIGH_WATER = 1

_OPTIONS = (
    (socket.IPPROTO_TCP, "TCP_NODELAY", 1),
    (socket.SOL_SOCKET, "SO_KEEPALIVE", 1),
    (socket.IPPROTO_TCP, "TCP_KEEPIDLE", 30),
    (socket.IPPROTO_TCP, "TCP_KEEPINTVL", 10),
    (socket.IPPROTO_TCP, "TCP_KEEPCNT", 3),
)


def tune(sockets: Iterable[socket.socket]) -> None:
    """No delay for small frames; a dead peer is noticed within a minute. A connection has these of
    the socket that listened for it: so nothing has to be set when it comes.
    """
    for each in sockets:
        if each.family not in (socket.AF_INET, socket.AF_INET6):
            continue
        for level, name, value in _OPTIONS:
            if hasattr(socket, name):
                each.setsockopt(level, getattr(socket, name), value)
