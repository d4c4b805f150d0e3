"""Checks impersonation against the host's name services: addresses of hosts, groups of users."""

import asyncio
import logging
from collections.abc import Mapping

from conf.errors import Blame
from conf.impersonation import may_impersonate
from conf.logs.log_fields import extra
from conf.settings.security.authentication import Identity
from proxy.auth.impersonation.requested_user import requested_user
from proxy.errors import ImpersonationDenied
from saslauth.name_services import addresses_of, groups_of

_TIMEOUT = 10.0  # seconds for the name services
_log = logging.getLogger(__name__)


async def impersonated_user(
    identity: Identity, user: str, configuration: Mapping[str, str], do_as: str | None, peer: str
) -> str:
    """The user of the session that `user` opens: `user`, or another user that it may impersonate.

    Raises ImpersonationDenied.
    """
    other = requested_user(user, configuration, do_as)
    if other == user:
        return user
    allowed = False
    if user in identity.rules:
        try:
            async with asyncio.timeout(_TIMEOUT):
                allowed = await asyncio.to_thread(
                    may_impersonate, identity, user, other, peer, addresses_of, groups_of
                )
        except TimeoutError:
            fields = extra(user=user, blame=Blame.DIRECTORY.value)
            _log.warning(
                "the name service does not answer: may %r act as %r?", user, other, extra=fields
            )
    if not allowed:
        fields = extra(user=user, address=peer, blame=Blame.CLIENT.value)
        _log.warning("%r may not act as %r", user, other, extra=fields)
        raise ImpersonationDenied(f"{user} may not act as {other!r}.")
    return other
