"""Answers the metastore's calls about delegation tokens, which the view does not send on."""

import asyncio
import logging
from datetime import UTC, datetime

from conf.impersonation import may_impersonate
from conf.logs.log_fields import extra
from conf.settings.security.authentication import Identity
from conf.settings.security.view_access import EVERY_CLUSTER
from metastore.view.call import Request
from metastore.view.errors import CallerRefused
from metastore.view.outbound import replies
from metastore.view.server.clients.caller_tokens import CallerTokens
from metastore.view.server.clients.callers import ViewCaller
from saslauth.errors import BadCredentials
from saslauth.name_services import addresses_of, groups_of
from thriftcodec.reader import read_struct

GET, RENEW, CANCEL = (f"{verb}_delegation_token" for verb in ("get", "renew", "cancel"))
NAMES = frozenset((GET, RENEW, CANCEL))
_LOOKUP = 10.0  # seconds for the host's name services
_log = logging.getLogger("causeway.view")


class TokenCalls:
    """Answers the calls of one client, whose address is `address`."""

    def __init__(
        self, tokens: CallerTokens | None, identity: Identity, caller: ViewCaller, address: str
    ) -> None:
        """`tokens` is None if the views issue none."""
        self._tokens = tokens
        self._identity = identity
        self._caller = caller
        self._address = address

    async def reply(self, request: Request) -> bytes:
        """The whole reply. Raises CallerRefused, MalformedMessage."""
        arguments, _ = read_struct(request.data, request.body)
        first, second = (str(arguments.get(each) or "") for each in (1, 2))
        if self._tokens is None:
            raise CallerRefused(
                "The views issue no delegation tokens, since view.token.key.file is not set: log in"
                " with a keytab (docs/guide/kerberos.md)."
            )
        try:
            if request.name == GET:
                text = await self._issue(self._tokens, first, second)
                return replies.one_text(request.name, request.sequence, text)
            token = await asyncio.to_thread(self._tokens.check, first)
        except BadCredentials as error:
            raise CallerRefused(f"{request.name}: {error}.") from None
        if request.name == RENEW:  # nothing to do: tokens are valid until their end
            return replies.one_number(request.name, request.sequence, token.ends)
        ends = datetime.fromtimestamp(token.ends / 1000, UTC).isoformat(timespec="seconds")
        raise CallerRefused(f"A token of the views cannot be cancelled. This one ends at {ends}.")

    async def _issue(self, tokens: CallerTokens, owner: str, renewer: str) -> str:
        caller, user = self._caller, owner or self._caller.user
        if caller.by_token:
            raise CallerRefused("A client that logged in by a token gets no other one.")
        if EVERY_CLUSTER in caller.clusters:
            raise CallerRefused(f"{caller.principal} speaks for every cluster: it gets no token.")
        if user != caller.user and not await self._may_act_as(user):
            fields = extra(user=caller.principal, address=self._address)
            _log.warning("%r may not act as %r", caller.user, user, extra=fields)
            raise CallerRefused(f"{caller.user} may not act as {user!r} (hadoop.proxyuser).")
        return await asyncio.to_thread(tokens.issue, user, renewer, caller.principal)

    async def _may_act_as(self, other: str) -> bool:
        real = self._caller.user
        if real not in self._identity.rules:
            return False
        try:
            async with asyncio.timeout(_LOOKUP):
                return await asyncio.to_thread(
                    may_impersonate,
                    *(self._identity, real, other, self._address, addresses_of, groups_of),
                )
        except TimeoutError:
            return False
