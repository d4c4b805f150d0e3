"""A budget for the bytes that clients have sent and the server has not processed yet.

Without it, twenty clients that each send half of a large frame would use more than a gigabyte. If
the budget is exceeded, the connection with the oldest unfinished frame is closed, since an honest
client sends the rest of a frame within seconds. If no frame is unfinished, the connection that was
counted last is closed. Small amounts do not count, so that clients with small requests are safe.
"""

import sys
from typing import Protocol

SMALL = 64 << 10  # bytes of one connection that do not count


class Holder(Protocol):
    """A connection that holds unprocessed bytes."""

    @property
    def is_unfinished(self) -> bool:
        """Whether the end of a frame has not arrived."""
        ...

    def abort(self) -> None: ...


class ReceiveBudget:
    """Counts the bytes that connections hold: at most `limit` bytes in all."""

    def __init__(self, limit: int = sys.maxsize) -> None:
        self.limit = limit
        self.dropped = 0  # connections that were closed
        self._held: dict[Holder, int] = {}  # bytes, in the order in which they exceeded SMALL
        self._total = 0

    def __len__(self) -> int:
        """The counted bytes of all connections."""
        return self._total

    def hold(self, holder: Holder, size: int) -> None:
        """Sets the bytes that a connection holds. May close this connection or others."""
        self._count(holder, size if size > SMALL else 0)
        while self._total > self.limit:
            unfinished = (each for each in self._held if each.is_unfinished)
            victim = next(unfinished, None) or next(reversed(self._held))
            self._count(victim, 0)
            self.dropped += 1
            victim.abort()

    def _count(self, holder: Holder, size: int) -> None:
        self._total += size - self._held.get(holder, 0)
        if size:
            self._held[holder] = size
        else:
            self._held.pop(holder, None)
