"""The places of statements that run: by user and address, and by the quotas of users.

A statement without a place is refused, or waits where its user's quota has a queue. The places
are counted for all workers; each worker has a queue of its own, and looks twice a second whether
another one gave a place back.
"""

import asyncio
from collections.abc import Callable, Hashable

from conf.access.quotas import UserQuota
from proxy.counters import Counters
from proxy.errors import LimitReached
from proxy.session.quota import Bounds, Quota
from proxy.session.statement_queue import StatementQueue, Waiter

_MINUTE = 60.0  # seconds
_STEP = 0.5
WAIT = 600  # seconds that a statement waits for a place


class StatementPlaces:
    """`queue` has the statements of this process that wait."""

    def __init__(self, counters: Counters | None) -> None:
        self._running = Quota("statements running", Bounds(), counters)
        self._minute = Quota("statements a minute", Bounds(), counters)
        self.queue = StatementQueue()

    def __len__(self) -> int:
        """How many this process runs."""
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
        """A place, or one in the queue. Raises LimitReached."""
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
        """Raises LimitReached."""
        self._running.take(place.user, place.address, place.own.statements)

    def give_back(self, place: "StatementPlace") -> None:
        self._running.give_back(place.user, place.address)
        self.offer(place.user)

    def offer(self, user: str) -> None:
        """Gives the places that are free to the user's statements that wait."""
        while isinstance(first := self.queue.first(user), StatementPlace):
            try:
                first.take()
            except LimitReached:
                return
            self.queue.leave(first)


class StatementPlace(Waiter):
    """One statement's place; `has_turn`: it may run."""

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
        """Raises LimitReached."""
        self._places.take_one(self)
        self.has_turn = True
        self._changed.set()

    async def turn(self, tell: Callable[[str], None]) -> None:
        """Returns when it may run, or after `stop`. `tell` gets a line when others are ahead, and
        when their number changes. Raises LimitReached when it has waited for too long."""
        seconds = self.own.waiting_seconds or WAIT
        told = None
        try:
            async with asyncio.timeout(seconds):
                while not self._changed.is_set():
                    ahead = self._places.queue.ahead(self)
                    if ahead != told:
                        tell(f"Waiting: {self.why} {ahead} more are ahead.")
                        told = ahead
                    await self._step()
        except TimeoutError:
            self.leave()
            text = f"The statement waited {seconds} s for its turn. {self.why}"
            raise LimitReached(text) from None

    async def _step(self) -> None:
        try:
            async with asyncio.timeout(_STEP):
                await self._changed.wait()
        except TimeoutError:
            self._places.offer(self.user)

    async def stop(self) -> None:
        """Its client no longer waits."""
        self.leave()
        self._changed.set()

    def leave(self) -> None:
        """Gives the place back, in the queue or not; may be called again."""
        if self.has_turn:
            self.has_turn = False
            self._places.give_back(self)
        else:
            self._places.queue.leave(self)
