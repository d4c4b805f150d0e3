"""How many of something a user, an address, and a user at an address may have at once."""

from collections import Counter
from collections.abc import Hashable
from dataclasses import dataclass
from typing import TypeVar

from proxy.errors import TooMany

_K = TypeVar("_K", bound=Hashable)


@dataclass(frozen=True, slots=True)
class Bounds:
    """0: any number."""

    user: int = 0
    address: int = 0
    both: int = 0


class Quota:
    """Counts `what`. What was taken is given back with the same names."""

    def __init__(self, what: str, bounds: Bounds) -> None:
        self.bounds = bounds
        self._what = what
        self._users: Counter[str] = Counter()
        self._addresses: Counter[str] = Counter()
        self._both: Counter[tuple[str, str]] = Counter()

    def take(self, user: str, address: str) -> None:
        """Raises TooMany, with nothing taken."""
        bounds = self.bounds
        for count, bound, who in (
            (self._users[user], bounds.user, f"The user {user}"),
            (self._addresses[address], bounds.address, f"The address {address}"),
            (self._both[user, address], bounds.both, f"The user {user} at {address}"),
        ):
            if bound and count >= bound:
                raise TooMany(f"{who} has {bound} {self._what}, which is the limit.")
        self._users[user] += 1
        self._addresses[address] += 1
        self._both[user, address] += 1

    def give_back(self, user: str, address: str) -> None:
        _less(self._users, user)
        _less(self._addresses, address)
        _less(self._both, (user, address))

    def __len__(self) -> int:
        return self._users.total()


def _less(counts: Counter[_K], key: _K) -> None:
    counts[key] -= 1
    if not counts[key]:
        del counts[key]
