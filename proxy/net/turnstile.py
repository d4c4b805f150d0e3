"""How many clients may be connected, in all and from one address; the others are told so."""

import asyncio

from proxy.errors import TooMany
from proxy.net.client import ClientConnection
from proxy.net.limits import Limits
from proxy.session.metrics import Metrics
from proxy.session.quota import Bounds, Quota
from proxy.session.tally import Tally

_PATIENCE = 2.0  # seconds for a client that is turned away to hear why
_HEARD_OUT = 200  # of them at once; in a flood the others are cut off


class Turnstile:
    """The clients that are connected."""

    def __init__(self, limits: Limits, metrics: Metrics, tally: Tally | None = None) -> None:
        self.clients: set[ClientConnection] = set()
        self.closed = ""  # why nobody is let in any more
        self._metrics = metrics
        self._total = limits.client_connections
        self._quota = Quota("connections", Bounds(address=limits.connections_per_address), tally)
        self._leaving: set[ClientConnection] = set()

    def bound(self, limits: Limits) -> None:
        """Those who are in stay."""
        self._total = limits.client_connections
        self._quota.bounds = Bounds(address=limits.connections_per_address)

    def admit(self, client: ClientConnection) -> bool:
        """Whether the client may stay; it says goodbye with `leave` then."""
        try:
            if self.closed:
                raise TooMany(self.closed)
            if len(self.clients) >= self._total:
                raise TooMany(f"There are {self._total} connections, which is the limit.")
            self._quota.take("", client.peer)
        except TooMany as error:
            self._turn_away(client, str(error))
            return False
        self.clients.add(client)
        return True

    def leave(self, client: ClientConnection) -> None:
        self.clients.discard(client)
        self._quota.give_back("", client.peer)

    def _turn_away(self, client: ClientConnection, reason: str) -> None:
        self._metrics.count("causeway_refused_total", "connection")
        if len(self._leaving) >= _HEARD_OUT:
            client.abort()
            return
        self._leaving.add(client)
        client.turn_away(reason)
        asyncio.get_running_loop().call_later(_PATIENCE, self._cut_off, client)

    def _cut_off(self, client: ClientConnection) -> None:
        self._leaving.discard(client)
        client.abort()
