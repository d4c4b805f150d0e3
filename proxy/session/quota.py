"""Limits on the number of things, such as sessions, that exist at the same time: by user, by
address, by user at an address, and in all."""

from dataclasses import dataclass

from proxy.counters import Counters, LocalCounters
from proxy.errors import LimitReached


@dataclass(frozen=True, slots=True)
class Bounds:
    """0: any number."""

    user: int = 0
    address: int = 0
    both: int = 0
    all: int = 0


class Quota:
    """Counts the things that `what` names. Each `take` needs one `give_back` with the same user and
    address."""

    def __init__(self, what: str, bounds: Bounds, counters: Counters | None = None) -> None:
        self.bounds = bounds
        self._what = what
        self._counters = LocalCounters() if counters is None else counters
        self._taken = 0

    def take(self, user: str, address: str, most: int = 0) -> None:
        """Counts one more. Raises LimitReached, and counts nothing. `most` is this user's own
        limit; 0: none."""
        self.check(user, address, most)
        self._add(self._keys(user, address), 1)

    def is_full(self, user: str, address: str, *, address_alone: bool = False) -> bool:
        """Whether `take` would raise LimitReached. With `address_alone` only the address's limit
        counts."""
        if address_alone:
            key = self._keys(user, address)[1]
            return 0 < self.bounds.address <= self._counters.count(key)
        try:
            self.check(user, address)
        except LimitReached:
            return True
        return False

    def check(self, user: str, address: str, most: int = 0) -> None:
        """Raises LimitReached if a limit is reached. `most` is this user's own limit; 0: none."""
        bounds, keys = self.bounds, self._keys(user, address)
        for key, bound, who in (
            (keys[0], min(filter(None, (bounds.user, most)), default=0), f"The user {user}"),
            (keys[1], bounds.address, f"The address {address}"),
            (keys[2], bounds.both, f"The user {user} at {address}"),
            (keys[3], bounds.all, "Causeway"),
        ):
            if bound and self._counters.count(key) >= bound:
                raise LimitReached(f"{who} has {bound} {self._what}, which is the limit.")

    def give_back(self, user: str, address: str) -> None:
        self._add(self._keys(user, address), -1)

    def __len__(self) -> int:
        """The number counted by this process."""
        return self._taken

    def _add(self, keys: tuple[str, ...], by: int) -> None:
        self._taken += by
        for key in keys:
            self._counters.add(key, by)

    def _keys(self, user: str, address: str) -> tuple[str, ...]:
        what = self._what
        return (f"{what}\0u{user}", f"{what}\0a{address}", f"{what}\0b{user}\0{address}", what)
