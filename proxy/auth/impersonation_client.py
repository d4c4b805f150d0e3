"""Whom a client may act as, where that depends on groups and addresses that have to be asked."""

import asyncio
import grp
import logging
import os
import pwd
import socket
from collections.abc import Mapping, Set

from conf.errors import Blame
from conf.log_fields import extra
from conf.settings.authentication import Identity
from proxy.auth.impersonation import may_act
from proxy.errors import NotYourself
from proxy.session.impersonation import wanted

_WAIT = 10.0  # seconds for name services
_log = logging.getLogger(__name__)


async def acted_as(
    identity: Identity, user: str, configuration: Mapping[str, str], do_as: str | None, peer: str
) -> str:
    """The user that a session of `user`'s is for. Raises NotYourself."""
    other = wanted(user, configuration, do_as)
    if other == user:
        return user
    allowed = False
    if user in identity.rules:
        try:
            async with asyncio.timeout(_WAIT):
                allowed = await asyncio.to_thread(
                    may_act, identity, user, other, peer, _addresses, _groups
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
        return {str(found[4][0]) for found in socket.getaddrinfo(host, None)}
    except (OSError, UnicodeError):
        return frozenset()


def _groups(user: str) -> Set[str]:
    """As this host knows them, which is what Hadoop asks by default."""
    try:
        found = pwd.getpwnam(user)
        numbers = os.getgrouplist(user, found.pw_gid)
    except (KeyError, OSError, ValueError):
        return frozenset()
    names = set()
    for number in numbers:
        try:
            names.add(grp.getgrgid(number).gr_name)
        except KeyError:
            continue  # a group without a name
    return names
