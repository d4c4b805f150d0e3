"""Checks impersonation against the host's name services: addresses of hosts, groups of users."""

import asyncio
import grp
import logging
import os
import pwd
import socket
from collections.abc import Mapping, Set

from conf.errors import Blame
from conf.logs.log_fields import extra
from conf.settings.security.authentication import Identity
from proxy.auth.impersonation.requested_user import requested_user
from proxy.auth.impersonation.rules import may_impersonate
from proxy.errors import NotYourself

_TIMEOUT = 10.0  # seconds for the name services
_log = logging.getLogger(__name__)


async def impersonated_user(
    identity: Identity, user: str, configuration: Mapping[str, str], do_as: str | None, peer: str
) -> str:
    """The user of the session that `user` opens: itself, or one that it may impersonate.

    Raises NotYourself.
    """
    other = requested_user(user, configuration, do_as)
    if other == user:
        return user
    allowed = False
    if user in identity.rules:
        try:
            async with asyncio.timeout(_TIMEOUT):
                allowed = await asyncio.to_thread(
                    may_impersonate, identity, user, other, peer, _addresses, _groups
                )
        except TimeoutError:
            fields = extra(user=user, blame=Blame.DIRECTORY.value)
            _log.warning(
                "the name service does not answer: may %r act as %r?", user, other, extra=fields
            )
    if not allowed:
        fields = extra(user=user, address=peer, blame=Blame.CLIENT.value)
        _log.warning("%r may not act as %r", user, other, extra=fields)
        raise NotYourself(f"{user} may not act as {other!r}.")
    return other


def _addresses(host: str) -> Set[str]:
    try:
        return {str(entry[4][0]) for entry in socket.getaddrinfo(host, None)}
    except (OSError, UnicodeError):
        return frozenset()


def _groups(user: str) -> Set[str]:
    """The user's groups on this host, which Hadoop uses by default."""
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
