"""How often somebody may be wrong: by user and by address, in memory of a fixed size that the
processes of a server share.

Each has a bucket of attempts that fills again with time, and of it one number is kept: when it will
be full. A name has two places in the memory, and the earlier time is its own: one that it shares
with another name can only be later. An address that a user came in from lately is not shut for that
user by what others try from elsewhere: nobody locks another out.

Nothing is locked: of two failures at the very same moment one may not be counted.
"""

import secrets
from dataclasses import dataclass
from hashlib import blake2b

_SLOTS = 1 << 16
_KEY = 32  # bytes: who knows it could choose names that share their places with another's
_TABLE = _SLOTS * 8  # bytes


@dataclass(frozen=True, slots=True)
class Bounds:
    """`burst` failures at once, then one each `seconds`."""

    burst: int
    seconds: float


PER_USER = Bounds(10, 6.0)
PER_ADDRESS = Bounds(50, 1.0)


def empty_throttle() -> bytearray:
    """The memory of those who have not failed yet."""
    return bytearray(secrets.token_bytes(_KEY) + bytes(3 * _TABLE))


class LoginThrottle:
    """`now` is a time in seconds that only grows, and is the same in all processes."""

    def __init__(
        self,
        per_user: Bounds = PER_USER,
        per_address: Bounds = PER_ADDRESS,
        memory: memoryview | None = None,
    ) -> None:
        """`memory` is what `empty_throttle` gave; None: this process's own."""
        memory = memoryview(empty_throttle()) if memory is None else memory
        self._key = bytes(memory[:_KEY])
        users, addresses, known = (
            memory[at : at + _TABLE] for at in range(_KEY, _KEY + 3 * _TABLE, _TABLE)
        )
        self._users = _Buckets(per_user, users.cast("d"))
        self._addresses = _Buckets(per_address, addresses.cast("d"))
        self._known = known.cast("Q")

    def too_many(self, user: str, peer: str, now: float) -> bool:
        """Whether an attempt is refused unheard. `user` may be empty: not known yet."""
        if self._addresses.is_empty(self._places(peer), now):
            return True
        return self._users.is_empty(self._places(user), now) and not self._is_known(user, peer)

    def failed(self, user: str, peer: str, now: float, *names: str) -> None:
        """One attempt failed; `names` are further ones of the same person."""
        self._addresses.add(self._places(peer), now)
        for each in dict.fromkeys((user, *names)):
            if each and not self._is_known(each, peer):
                self._users.add(self._places(each), now)

    def succeeded(self, user: str, peer: str) -> None:
        """Those who came in long ago make room for others."""
        one, other, who = self._places(user, peer)
        if who not in (self._known[one], self._known[other]):
            self._known[other if self._known[one] else one] = who

    def _is_known(self, user: str, peer: str) -> bool:
        one, other, who = self._places(user, peer)
        return who in (self._known[one], self._known[other])

    def _places(self, *names: str) -> tuple[int, int, int]:
        """Two places, and a number that is another's only by a chance of 1 in 2**64."""
        said = "\0".join(names).encode(errors="replace")
        digest = blake2b(said, digest_size=12, key=self._key).digest()
        one, other, who = (int.from_bytes(digest[a:b]) for a, b in ((0, 2), (2, 4), (4, 12)))
        return one, other, who or 1


class _Buckets:
    """`full` says for each place when the bucket there is full again."""

    def __init__(self, bounds: Bounds, full: "memoryview[float]") -> None:
        self._bounds = bounds
        self._full = full

    def is_empty(self, places: tuple[int, int, int], now: float) -> bool:
        used = (self._when(places) - now) / self._bounds.seconds
        return used > self._bounds.burst - 1

    def add(self, places: tuple[int, int, int], now: float) -> None:
        """One more is used up."""
        when = max(self._when(places), now) + self._bounds.seconds
        for place in places[:2]:
            self._full[place] = max(self._full[place], when)

    def _when(self, places: tuple[int, int, int]) -> float:
        first: float = min(self._full[place] for place in places[:2])
        return first
