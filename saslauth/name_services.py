"""Calls of the host's name services: addresses of hosts, groups of users. They may block."""

import grp
import os
import pwd
import socket
from collections.abc import Set


def addresses_of(host: str) -> Set[str]:
    """The addresses of a host; empty if the name is not known."""
    try:
        return {str(entry[4][0]) for entry in socket.getaddrinfo(host, None)}
    except (OSError, UnicodeError):
        return frozenset()


def groups_of(user: str) -> Set[str]:
    """The user's groups on this host, as Hadoop reads them by default; empty for unknown users."""
    try:
        entry = pwd.getpwnam(user)
        numbers = os.getgrouplist(user, entry.pw_gid)
    except (KeyError, OSError, ValueError):
        return frozenset()
    names = set()
    for number in numbers:
        try:
            names.add(grp.getgrgid(number).gr_name)
        except KeyError:
            continue  # a group without a name
    return names
