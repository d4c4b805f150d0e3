"""One budget for what clients have sent and nobody has read: half a frame, a message that waits.

Without it twenty clients that send half of a large frame each hold more than a gigabyte. When it is
used up, the connection goes whose unfinished frame began first: a client that sends what it has
begun is done in seconds. Where no frame is unfinished it is the one that came last. Small amounts
do not count, so nobody with small requests is concerned.
"""

import sys
from typing import Protocol

SMALL = 64 << 10  # bytes of one connection


class Holder(Protocol):
    """A connection that holds bytes."""

    @property
    def is_unfinished(self) -> bool:
        """Whether more of a frame is to come."""
        ...

    def abort(self) -> None: ...


class Buffers:
    """The bytes that connections hold, at most `most` in all."""

    def __init__(self, most: int = sys.maxsize) -> None:
        self.most = most
        self.dropped = 0  # connections that had to go
        self._held: dict[Holder, int] = {}  # in the order in which they began to hold much
        self._total = 0

    def __len__(self) -> int:
        """Bytes, small amounts left out."""
        return self._total

    def hold(self, holder: Holder, size: int) -> None:
        """The connection holds so many bytes now. It, or another one, may have to go."""
        self._count(holder, size if size > SMALL else 0)
        while self._total > self.most:
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
