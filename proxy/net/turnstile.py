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
    """The clients that are connected: those who are in (`clients`), and those whose handshake goes
    on. Both count."""

    def __init__(self, limits: Limits, metrics: Metrics, tally: Tally | None = None) -> None:
        self.clients: set[ClientConnection] = set()
        self.closed = ""  # why nobody is let in any more
        self._metrics = metrics
        self._quota = Quota("connections", Bounds(), tally)
        self._coming: set[ClientConnection] = set()
        self._leaving: set[ClientConnection] = set()
        self.bound(limits)

    def __len__(self) -> int:
        return len(self._quota)

    def bound(self, limits: Limits) -> None:
        """Those who are in stay."""
        self._handshake = limits.handshake
        self._quota.bounds = Bounds(
            address=limits.connections_per_address, all=limits.client_connections
        )

    def expect(self, client: ClientConnection, peer: str) -> bool:
        """A client from that address is about to begin its handshake, and has a place from now on.
        Whether it may; then `admit` is said of it, or `give_up` when it comes to nothing.
        """
        client.peer = peer
        if self._take(client, self._handshake + _PATIENCE):
            self._coming.add(client)
            return True
        return client in self._leaving

    def admit(self, client: ClientConnection) -> bool:
        """Whether the client may stay; it says goodbye with `leave` then."""
        if client in self._leaving:
            return False
        if client in self._coming:
            self._coming.remove(client)
        elif not self._take(client, _PATIENCE):
            return False
        self.clients.add(client)
        return True

    def give_up(self, client: ClientConnection) -> None:
        """Nobody waits for its handshake any more."""
        self._leaving.discard(client)
        if client in self._coming:
            self._coming.remove(client)
            self._quota.give_back("", client.peer)

    def leave(self, client: ClientConnection) -> None:
        self.clients.discard(client)
        self._quota.give_back("", client.peer)

    def _take(self, client: ClientConnection, patience: float) -> bool:
        try:
            if self.closed:
                raise TooMany(self.closed)
            self._quota.take("", client.peer)
        except TooMany as error:
            self._turn_away(client, str(error), patience)
            return False
        return True

    def _turn_away(self, client: ClientConnection, reason: str, patience: float) -> None:
        self._metrics.count("causeway_refused_total", "connection")
        if len(self._leaving) >= _HEARD_OUT:
            client.abort()
            return
        self._leaving.add(client)
        client.turn_away(reason)
        asyncio.get_running_loop().call_later(patience, self._cut_off, client)

    def _cut_off(self, client: ClientConnection) -> None:
        self._leaving.discard(client)
        client.abort()
