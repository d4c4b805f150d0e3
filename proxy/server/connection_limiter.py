"""Limits the number of connections, in all and from one address, and sends a reason for rejections.

There are two budgets: one for connections that are logged in, and one for new connections. If the
budget of new connections is full, a newcomer replaces the oldest connection of its address that is
silent (of any address if there are too many in all), so that silent clients keep no other client
out. A connection is silent while none of its log-in steps is being checked.

All workers share the budget of connections that are logged in. Of the budget of new connections
each worker has an equal part, because it can replace its own connections only: if another worker's
silent connections filled the budget, it would have to reject every newcomer.
"""

import asyncio
from collections.abc import Callable

from proxy.counters import Counters
from proxy.errors import LimitReached
from proxy.limits import Limits
from proxy.operations.metrics import Metrics
from proxy.server.client_connection import ClientConnection
from proxy.server.receive_budget import ReceiveBudget
from proxy.session.quota import Bounds, Quota

_REJECTION_TIME = 2.0  # seconds for a rejected client to receive the reason
_MAX_REJECTIONS = 200  # at once; more are aborted without a reason


class ConnectionLimiter:
    """Counts each connection in one of the budgets, from the start of its TLS handshake. `clients`
    are the connections whose handshake is done."""

    def __init__(
        self,
        limits: Limits,
        metrics: Metrics,
        counters: Counters | None = None,
        workers: int = 1,
    ) -> None:
        """`counters` are those of all `workers` of the server; without them there is one."""
        self.clients: set[ClientConnection] = set()
        # If set, only connections that may continue older sessions are accepted, for this reason.
        self.closing_reason = ""
        self._metrics = metrics
        self._quota = Quota("connections", Bounds(), counters)
        self._new_quota = Quota("connections that log in", Bounds())
        self._workers = workers
        self._new: dict[ClientConnection, None] = {}  # not logged in, in the order of arrival
        self._in_handshake: set[ClientConnection] = set()
        self._rejected: set[ClientConnection] = set()
        self.receive_budget = ReceiveBudget(limits.buffered)
        self.apply_limits(limits)

    def __len__(self) -> int:
        return len(self._quota) + len(self._new_quota)

    def apply_limits(self, limits: Limits) -> None:
        """Applies these limits. No open connection is closed."""
        self._handshake = limits.handshake
        self.receive_budget.limit = limits.buffered
        self._quota.bounds = Bounds(
            address=limits.connections_per_address, all=limits.client_connections
        )
        self._new_quota.bounds = Bounds(
            address=self._part(limits.new_connections_per_address),
            all=self._part(limits.new_connections),
        )

    def _part(self, limit: int) -> int:
        """This worker's part of a limit, rounded up."""
        return -(-limit // self._workers)

    def begin_handshake(self, client: ClientConnection, peer: str) -> bool:
        """Reserves a place for a client that begins its TLS handshake.

        Returns whether the handshake may begin; then the caller has to call `admit` or
        `handshake_failed`. A rejected client may begin, too, to receive the reason.
        """
        client.peer = peer
        if self._reserve(client, self._handshake + _REJECTION_TIME):
            self._in_handshake.add(client)
            return True
        return client in self._rejected

    def admit(self, client: ClientConnection) -> bool:
        """Whether the client is accepted; then the caller has to call `leave` at its end."""
        if client in self._rejected:
            return False
        if client in self._in_handshake:
            self._in_handshake.remove(client)
            if client not in self._new:  # a newcomer took its place
                client.abort()
                return False
        elif not self._reserve(client, _REJECTION_TIME):
            return False
        client.on_login = lambda: self._logged_in(client)
        self.clients.add(client)
        return True

    def handshake_failed(self, client: ClientConnection) -> None:
        """Frees the place of a client whose handshake failed."""
        self._rejected.discard(client)
        self._in_handshake.discard(client)
        self._give_back_new(client)

    def leave(self, client: ClientConnection) -> None:
        """Frees the place of a client that disconnected."""
        if client in self.clients:
            self.clients.remove(client)
            if client.on_login is None:
                self._quota.give_back("", client.peer)
        self._give_back_new(client)

    def _logged_in(self, client: ClientConnection) -> None:
        """Moves the client to the budget of logged-in connections.

        Raises LimitReached, and then the client has no place there.
        """
        try:
            self._quota.take("", client.peer)
        except LimitReached:
            self._metrics.count("causeway_refused_total", "connection")
            client.on_login = _nothing  # so that `leave` gives no place back
            raise
        self._give_back_new(client)

    def _give_back_new(self, client: ClientConnection) -> None:
        if client in self._new:
            del self._new[client]
            self._new_quota.give_back("", client.peer)

    def _reserve(self, client: ClientConnection, rejection_time: float) -> bool:
        if self.closing_reason and not client.sessions_outlive:
            self._reject(client, self.closing_reason, rejection_time)
            return False
        try:
            self._quota.check("", client.peer)
            self._take_new(client)
        except LimitReached as error:
            self._reject(client, str(error), rejection_time)
            return False
        return True

    def _take_new(self, client: ClientConnection) -> None:
        """Takes a place among the new connections; aborts a silent one if there is none.

        Raises LimitReached.
        """
        quota = self._new_quota
        if quota.is_full("", client.peer, address_alone=True):
            self._make_room(lambda each: each.peer == client.peer)
        elif quota.is_full("", client.peer):
            self._make_room(lambda _: True)
        quota.take("", client.peer)
        self._new[client] = None

    def _make_room(self, accepts: Callable[[ClientConnection], bool]) -> None:
        silent = (each for each in self._new if not each.authenticating and accepts(each))
        oldest = next(silent, None)
        if oldest is not None:
            self._metrics.count("causeway_refused_total", "silent connection")
            self._give_back_new(oldest)
            oldest.abort()

    def _reject(self, client: ClientConnection, reason: str, rejection_time: float) -> None:
        self._metrics.count("causeway_refused_total", "connection")
        if len(self._rejected) >= _MAX_REJECTIONS:
            client.abort()
            return
        self._rejected.add(client)
        client.reject(reason)
        asyncio.get_running_loop().call_later(rejection_time, self._abort_rejected, client)

    def _abort_rejected(self, client: ClientConnection) -> None:
        self._rejected.discard(client)
        client.abort()


def _nothing() -> None:
    return None
