"""How many clients may be connected, in all and from one address; the others are told so.

There are two budgets: of those that are let in, and of those that have not said who they are. In
the second one a newcomer takes the place of the client of the same address (or of all, when they
are too many in all) that came first and says nothing: whoever connects and is silent keeps nobody
out.
"""

import asyncio
from collections.abc import Callable

from proxy.errors import TooMany
from proxy.limits import Limits
from proxy.operations.counters import Counters
from proxy.operations.metrics import Metrics
from proxy.server.client_connection import ClientConnection
from proxy.server.receive_budget import Buffers
from proxy.session.quota import Bounds, Quota

_PATIENCE = 2.0  # seconds for a client that is turned away to hear why
_HEARD_OUT = 200  # of them at once; in a flood the others are cut off


class Turnstile:
    """The clients that are connected: `clients` once they have a connection, and those whose
    handshake goes on. All count, in one of the budgets."""

    def __init__(self, limits: Limits, metrics: Metrics, counters: Counters | None = None) -> None:
        self.clients: set[ClientConnection] = set()
        self.closed = ""  # why nobody is let in any more
        self._metrics = metrics
        self._quota = Quota("connections", Bounds(), counters)
        self._new_quota = Quota("connections that log in", Bounds(), counters)
        self._new: dict[ClientConnection, None] = {}  # not let in yet, in the order of arrival
        self._coming: set[ClientConnection] = set()
        self._leaving: set[ClientConnection] = set()
        self.buffers = Buffers(limits.buffered)
        self.bound(limits)

    def __len__(self) -> int:
        return len(self._quota) + len(self._new_quota)

    def bound(self, limits: Limits) -> None:
        """Those who are in stay."""
        self._handshake = limits.handshake
        self.buffers.most = limits.buffered
        self._quota.bounds = Bounds(
            address=limits.connections_per_address, all=limits.client_connections
        )
        self._new_quota.bounds = Bounds(
            address=limits.new_connections_per_address, all=limits.new_connections
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
            if client not in self._new:  # its place was given to another one
                client.abort()
                return False
        elif not self._take(client, _PATIENCE):
            return False
        client.enter = lambda: self._enter(client)
        self.clients.add(client)
        return True

    def give_up(self, client: ClientConnection) -> None:
        """Nobody waits for its handshake any more."""
        self._leaving.discard(client)
        self._coming.discard(client)
        self._give_back_new(client)

    def leave(self, client: ClientConnection) -> None:
        """The client is gone."""
        if client in self.clients:
            self.clients.remove(client)
            if client.enter is None:
                self._quota.give_back("", client.peer)
        self._give_back_new(client)

    def _enter(self, client: ClientConnection) -> None:
        """It has said who it is. Raises TooMany, with nothing taken."""
        try:
            self._quota.take("", client.peer)
        except TooMany:
            self._metrics.count("causeway_refused_total", "connection")
            client.enter = _nothing  # it goes, with nothing to give back
            raise
        self._give_back_new(client)

    def _give_back_new(self, client: ClientConnection) -> None:
        if client in self._new:
            del self._new[client]
            self._new_quota.give_back("", client.peer)

    def _take(self, client: ClientConnection, patience: float) -> bool:
        try:
            if self.closed:
                raise TooMany(self.closed)
            self._quota.check("", client.peer)
            self._take_new(client)
        except TooMany as error:
            self._turn_away(client, str(error), patience)
            return False
        return True

    def _take_new(self, client: ClientConnection) -> None:
        """A place among the new, somebody else's if need be. Raises TooMany."""
        quota = self._new_quota
        if quota.is_full("", client.peer, address_alone=True):
            self._make_room(lambda each: each.peer == client.peer)
        elif quota.is_full("", client.peer):
            self._make_room(lambda _: True)
        quota.take("", client.peer)
        self._new[client] = None

    def _make_room(self, wanted: Callable[[ClientConnection], bool]) -> None:
        oldest = next((each for each in self._new if not each.proving and wanted(each)), None)
        if oldest is not None:
            self._metrics.count("causeway_refused_total", "silent connection")
            self._give_back_new(oldest)
            oldest.abort()

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


def _nothing() -> None:
    return None
