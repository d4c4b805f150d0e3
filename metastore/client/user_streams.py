"""Opens streams to a metastore, in Causeway's own name or in that of a user.

With a ticket a metastore accepts only the ticket's own user. But it gives Causeway a delegation
token for another user, if its `hadoop.proxyuser` allows that, and the streams log in with the
token. Tokens are kept for a while. A token that the metastore refuses is replaced.
"""

import asyncio
from time import monotonic

from conf.settings.security.metastore_login import MetastoreLogin
from conf.topology import Endpoint
from metastore.client.connecting import delegation_token
from metastore.client.login import own_name
from metastore.client.streams import open_streams
from saslauth.framed_streams import Reader, Writer
from saslauth.tokens.delegation_token import DelegationToken
from saslauth.tokens.digest_md5_client import DigestMd5Client

_KEPT = 1000.0  # seconds: Hive's tokens live for a day without renewal
_MOST = 10_000  # tokens
_Key = tuple[Endpoint, str]


class UserStreams:
    """The streams to the metastores, and the tokens of users. Belongs to one event loop."""

    def __init__(self, login: MetastoreLogin) -> None:
        self._login = login
        self._tokens: dict[_Key, tuple[float, DelegationToken]] = {}

    @property
    def sasl(self) -> bool:
        """Whether the metastore verifies user names. If not, it believes `set_ugi`."""
        return self._login.sasl

    async def open(
        self, endpoint: Endpoint, user: str | None, seconds: float
    ) -> tuple[Reader, Writer]:
        """Opens logged-in streams within `seconds`. `user` None: in Causeway's own name.

        Raises OSError, also if the log-in fails; TimeoutError; MetastoreRefused if the metastore
        gives no token for the user.
        """
        async with asyncio.timeout(seconds):
            if user is None or not self.sasl or user == own_name(self._login):
                return await open_streams(endpoint, self._login)
            key = endpoint, user
            until, token = self._tokens.get(key, (0.0, None))
            if token is not None and monotonic() < until:
                try:
                    return await open_streams(endpoint, self._login, DigestMd5Client(token))
                except PermissionError:  # the metastore may have been restarted
                    self._tokens.pop(key, None)
            token = await asyncio.to_thread(delegation_token, endpoint, seconds, self._login, user)
            streams = await open_streams(endpoint, self._login, DigestMd5Client(token))
            self._keep(key, token)
            return streams

    def _keep(self, key: _Key, token: DelegationToken) -> None:
        self._tokens.pop(key, None)
        self._tokens[key] = monotonic() + _KEPT, token
        if len(self._tokens) > _MOST:
            del self._tokens[next(iter(self._tokens))]
