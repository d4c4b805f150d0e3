"""Limits failed log-ins by user and by address, in memory of a fixed size that the server's
processes share.

Each name has a bucket of attempts that refills with time. Only the time at which the bucket is full
again is stored. A name has two places in the memory, and the earlier time counts: in a place that
two names share, the time can only be too late. An address from which a user logged in lately is not
blocked for that user by failures from other addresses, so that attackers cannot lock a user out.

There are no locks: of two failures at exactly the same moment, one may not be counted.
"""

import secrets
from dataclasses import dataclass
from hashlib import blake2b

_SLOTS = 1 << 16
_KEY = 32  # bytes; secret, so that a client cannot choose names that share a slot with another name
_TABLE = _SLOTS * 8  # bytes


@dataclass(frozen=True, slots=True)
class FailureLimit:
    """Allows `burst` failures at once, and then one more every `seconds`."""

    burst: int
    seconds: float


PER_USER = FailureLimit(10, 6.0)
PER_ADDRESS = FailureLimit(50, 1.0)


def empty_throttle() -> bytearray:
    """The memory of a throttle without failures."""
    return bytearray(secrets.token_bytes(_KEY) + bytes(3 * _TABLE))


class LoginThrottle:
    """`now` is a time in seconds from a monotonic clock that all processes share."""

    def __init__(
        self,
        per_user: FailureLimit = PER_USER,
        per_address: FailureLimit = PER_ADDRESS,
        memory: memoryview | None = None,
    ) -> None:
        """`memory` comes from `empty_throttle`; None means memory of this process alone."""
        memory = memoryview(empty_throttle()) if memory is None else memory
        self._key = bytes(memory[:_KEY])
        users, addresses, log_ins = (
            memory[at : at + _TABLE] for at in range(_KEY, _KEY + 3 * _TABLE, _TABLE)
        )
        self._users = _Buckets(per_user, users.cast("d"))
        self._addresses = _Buckets(per_address, addresses.cast("d"))
        self._log_ins = log_ins.cast("Q")

    def too_many(self, user: str, peer: str, now: float) -> bool:
        """Whether to reject an attempt without a check. `user` is empty if it is not known yet."""
        if self._addresses.is_empty(self._places(peer), now):
            return True
        return self._users.is_empty(self._places(user), now) and not self._logged_in_lately(
            user, peer
        )

    def failed(self, user: str, peer: str, now: float, *names: str) -> None:
        """Counts one failure; `names` are further names of the same user."""
        self._addresses.add(self._places(peer), now)
        for each in dict.fromkeys((user, *names)):
            if each and not self._logged_in_lately(each, peer):
                self._users.add(self._places(each), now)

    def succeeded(self, user: str, peer: str) -> None:
        """Records that the user logged in from this address; may replace an older log-in."""
        first, second, fingerprint = self._places(user, peer)
        if fingerprint not in (self._log_ins[first], self._log_ins[second]):
            self._log_ins[second if self._log_ins[first] else first] = fingerprint

    def _logged_in_lately(self, user: str, peer: str) -> bool:
        first, second, fingerprint = self._places(user, peer)
        return fingerprint in (self._log_ins[first], self._log_ins[second])

    def _places(self, *names: str) -> tuple[int, int, int]:
        """Two places and a fingerprint. Two names have the same fingerprint with a probability of
        2**-64; 0 marks an empty place."""
        text = "\0".join(names).encode(errors="replace")
        digest = blake2b(text, digest_size=12, key=self._key).digest()
        first, second, fingerprint = (
            int.from_bytes(digest[start:end]) for start, end in ((0, 2), (2, 4), (4, 12))
        )
        return first, second, fingerprint or 1


class _Buckets:
    """Buckets of attempts. `full_at` has, for each place, the time at which it is full again."""

    def __init__(self, limit: FailureLimit, full_at: "memoryview[float]") -> None:
        self._limit = limit
        self._full_at = full_at

    def is_empty(self, places: tuple[int, int, int], now: float) -> bool:
        used = (self._full_time(places) - now) / self._limit.seconds
        return used > self._limit.burst - 1

    def add(self, places: tuple[int, int, int], now: float) -> None:
        """Takes one attempt out of the bucket."""
        full_at = max(self._full_time(places), now) + self._limit.seconds
        for place in places[:2]:
            self._full_at[place] = max(self._full_at[place], full_at)

    def _full_time(self, places: tuple[int, int, int]) -> float:
        earlier: float = min(self._full_at[place] for place in places[:2])
        return earlier
