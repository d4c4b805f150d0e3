"""The limits of running statements, by user and address, and by the quotas of users.

Each running statement holds a place. Without a free place a statement is refused, or waits if its
user's quota has a queue. Places are counted for all workers together. Each worker has a queue of
its own, and checks twice a second whether another worker has freed a place.
"""

import asyncio
from collections.abc import Callable, Hashable

from conf.access.quotas import UserQuota
from proxy.counters import Counters
from proxy.errors import LimitReached
from proxy.session.quota import Bounds, Quota
from proxy.session.statement_queue import StatementQueue, Waiter

_MINUTE = 60.0  # seconds
_CHECK_EVERY = 0.5  # seconds between two checks for a place that another worker freed
WAIT = 600  # seconds that a statement waits for a place, if its quota sets no time


class StatementPlaces:
    """The places of all workers. `queue` has the waiting statements of this worker."""

    def __init__(self, counters: Counters | None) -> None:
        self._running = Quota("statements running", Bounds(), counters)
        self._minute = Quota("statements a minute", Bounds(), counters)
        self.queue = StatementQueue()

    def __len__(self) -> int:
        """The number of statements that this worker runs."""
        return len(self._running)

    def bound(self, bounds: Bounds) -> None:
        self._running.bounds = bounds

    def take(
        self,
        user: str,
        address: str,
        session: Hashable,
        own: UserQuota | None,
        priority: int = 0,
    ) -> "StatementPlace":
        """A free place, or one that waits in the queue. `own` is the user's quota. Raises
        LimitReached."""
        place = StatementPlace(self, user, address, session, own or UserQuota(), priority)
        if own is not None:
            self._minute.check(user, address, own.statements_a_minute)
        try:
            if self.queue.first(user) is None:
                place.take()
            else:
                self.queue.enter(place, place.own.waiting)
        except LimitReached as full:
            if place.own.waiting == 0 or self.queue.first(user) is not None:
                raise
            place.why = str(full.args[0])
            self.queue.enter(place, place.own.waiting)
        if own is not None and own.statements_a_minute:
            self._minute.take(user, address)
            loop = asyncio.get_running_loop()
            loop.call_later(_MINUTE, self._minute.give_back, user, address)
        return place

    def take_one(self, place: "StatementPlace") -> None:
        """Counts the statement as running. Raises LimitReached."""
        self._running.take(place.user, place.address, place.own.statements)

    def give_back(self, place: "StatementPlace") -> None:
        self._running.give_back(place.user, place.address)
        self.offer(place.user)

    def offer(self, user: str) -> None:
        """Lets the user's waiting statements run, as far as places are free."""
        while isinstance(first := self.queue.first(user), StatementPlace):
            try:
                first.take()
            except LimitReached:
                return
            self.queue.leave(first)


class StatementPlace(Waiter):
    """One statement's place. `has_turn`: the statement may run. `why` is the limit for which it
    waits."""

    def __init__(
        self,
        places: StatementPlaces,
        user: str,
        address: str,
        session: Hashable,
        own: UserQuota,
        priority: int,
    ) -> None:
        super().__init__(user, session, priority)
        self._places = places
        self.address = address
        self.own = own
        self.has_turn = False
        self.why = f"The user {user} has {own.statements} statements running, which is the limit."
        self._changed = asyncio.Event()

    def take(self) -> None:
        """Lets the statement run. Raises LimitReached."""
        self._places.take_one(self)
        self.has_turn = True
        self._changed.set()

    async def turn(self, log_line: Callable[[str], None]) -> None:
        """Returns when the statement may run, or after `stop`.

        `log_line` is called while other statements are ahead, once for each change of their number.
        Raises LimitReached after the quota's time.
        """
        seconds = self.own.waiting_seconds or WAIT
        last_ahead = None
        try:
            async with asyncio.timeout(seconds):
                while not self._changed.is_set():
                    ahead = self._places.queue.ahead(self)
                    if ahead != last_ahead:
                        log_line(f"Waiting: {self.why} {ahead} more are ahead.")
                        last_ahead = ahead
                    await self._wait_for_change()
        except TimeoutError:
            self.leave()
            text = f"The statement waited {seconds} s for its turn. {self.why}"
            raise LimitReached(text) from None

    async def _wait_for_change(self) -> None:
        try:
            async with asyncio.timeout(_CHECK_EVERY):
                await self._changed.wait()
        except TimeoutError:
            self._places.offer(self.user)

    async def stop(self) -> None:
        """Ends the wait: the statement was stopped."""
        self.leave()
        self._changed.set()

    def leave(self) -> None:
        """Gives the place back, or leaves the queue. A second call does nothing."""
        if self.has_turn:
            self.has_turn = False
            self._places.give_back(self)
        else:
            self._places.queue.leave(self)
