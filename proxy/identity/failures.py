"""How often somebody may be wrong: by user and by address, in bounded memory.

Each has a bucket of attempts that fills again with time. An address that a user came in from
lately is not shut for that user by what others try from elsewhere: nobody locks another out.
"""

from collections import OrderedDict
from dataclasses import dataclass

_KEPT = 10_000  # users, addresses and pairs each; the longest unseen are forgotten


@dataclass(frozen=True, slots=True)
class Bounds:
    """`burst` failures at once, then one each `seconds`."""

    burst: int
    seconds: float


PER_USER = Bounds(10, 6.0)
PER_ADDRESS = Bounds(50, 1.0)


class _Buckets:
    """What is used up, by name."""

    def __init__(self, bounds: Bounds, kept: int) -> None:
        self._bounds = bounds
        self._kept = kept
        self._used: OrderedDict[str, tuple[float, float]] = OrderedDict()  # failures, when

    def __len__(self) -> int:
        return len(self._used)

    def used(self, name: str, now: float) -> float:
        failures, since = self._used.get(name, (0.0, now))
        return max(0.0, failures - (now - since) / self._bounds.seconds)

    def is_empty(self, name: str, now: float) -> bool:
        return self.used(name, now) > self._bounds.burst - 1

    def add(self, name: str, now: float) -> None:
        self._used[name] = (self.used(name, now) + 1, now)
        self._used.move_to_end(name)
        while len(self._used) > self._kept:
            self._used.popitem(last=False)


class Failures:
    """`now` is a time in seconds that only grows."""

    def __init__(
        self, per_user: Bounds = PER_USER, per_address: Bounds = PER_ADDRESS, kept: int = _KEPT
    ) -> None:
        self._users = _Buckets(per_user, kept)
        self._addresses = _Buckets(per_address, kept)
        self._known: OrderedDict[tuple[str, str], None] = OrderedDict()
        self._kept = kept

    def __len__(self) -> int:
        return len(self._users) + len(self._addresses) + len(self._known)

    def too_many(self, user: str, peer: str, now: float) -> bool:
        """Whether an attempt is refused unheard. `user` may be empty: not known yet."""
        if self._addresses.is_empty(peer, now):
            return True
        return (user, peer) not in self._known and self._users.is_empty(user, now)

    def failed(self, user: str, peer: str, now: float) -> None:
        self._addresses.add(peer, now)
        if user and (user, peer) not in self._known:
            self._users.add(user, now)

    def succeeded(self, user: str, peer: str) -> None:
        self._known[user, peer] = None
        self._known.move_to_end((user, peer))
        while len(self._known) > self._kept:
            self._known.popitem(last=False)
