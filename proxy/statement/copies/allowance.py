"""The bytes that may be copied for queries in one day, by user and by link."""

import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from conf.formats import size_text
from conf.settings.fetching import Fetching
from proxy.counters import Counters
from proxy.errors import CopyQuotaExceeded
from router.needed_copies import CopyNeeded

_UNIT = 1 << 20  # bytes, rounded up: a counter has only 32 bits
_DAY = 86_400


@dataclass(frozen=True, slots=True)
class Allowance:
    """What is left of the `bounds`. `counters` are those of all workers. Days are those of UTC."""

    bounds: Fetching
    counters: Counters
    clock: Callable[[], float] = time.time

    def left(self, user: str, copy: CopyNeeded) -> int:
        """The number of bytes that this copy may have.

        Raises CopyQuotaExceeded if none are left, or if the copy is known to have more.
        """
        least = sys.maxsize
        for what, key, bound in self._bounded(user, copy):
            left = max(0, bound - self.counters.count(key) * _UNIT)
            if left == 0 or left < (copy.size or 0):
                size = "what is missing" if copy.size is None else size_text(copy.size)
                raise CopyQuotaExceeded(
                    f"{size_text(left)} may still be copied {what} today, and {size} of"
                    f" {copy.table} would be copied to {copy.target}."
                )
            least = min(least, left)
        return least

    def spend(self, user: str, copy: CopyNeeded, sent: int) -> None:
        """Counts the bytes that were sent."""
        for _, key, _ in self._bounded(user, copy):
            self.counters.add(key, -(-sent // _UNIT))

    def _bounded(self, user: str, copy: CopyNeeded) -> Iterator[tuple[str, str, int]]:
        """For each bound that is set: the words for it in a message, its counter's key, and the
        bytes of a day."""
        day = int(self.clock()) // _DAY
        if self.bounds.user_daily:
            yield f"for user {user}", f"fetched\0{day}\0{user}", self.bounds.user_daily
        if self.bounds.link_daily:
            link = f"from {copy.source} to {copy.target}"
            yield link, f"fetched\0{day}\0{link}", self.bounds.link_daily
