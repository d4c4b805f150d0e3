"""A list of the copies that are being made for statements, for operators."""

import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

from conf.logs.log_fields import log_fields
from conf.progress import Progress, no_progress
from proxy.statement.copies.copier import Copier, CopyOrder, CopySummary


@dataclass(slots=True)
class RunningCopy:
    """A copy that is being made.

    `partitions` is the number of partitions ordered, 0 for the whole table. `statement` is the id
    of the statement that began it, `began` Unix time. `bytes` are sent of `total`; None: not known
    yet.
    """

    table: str
    partitions: int
    source: str
    target: str
    statement: str
    began: float
    bytes: int = 0
    total: int | None = None

    def line(self, now: float) -> dict[str, Any]:
        """The copy as JSON, with its age in seconds and the bytes a second since it began."""
        seconds = max(now - self.began, 0.001)
        return asdict(self) | {"seconds": round(seconds, 3), "rate": round(self.bytes / seconds)}


class RunningCopies:
    """A copier that passes orders on to another copier and lists those that run."""

    def __init__(self, copier: Copier, clock: Callable[[], float] = time.time) -> None:
        self._copier = copier
        self._clock = clock
        self._running: list[RunningCopy] = []

    async def __call__(self, order: CopyOrder, progress: Progress = no_progress) -> CopySummary:
        """Makes the copy (`Copier`)."""
        began, statement = self._clock(), log_fields().get("statement", "")
        copy = RunningCopy(
            str(order.table), len(order.partitions), order.source, order.target, statement, began
        )

        def advance(done: int, total: int) -> None:
            copy.bytes, copy.total = done, total
            progress(done, total)

        self._running.append(copy)
        try:
            return await self._copier(order, advance)
        finally:
            self._running.remove(copy)

    def lines(self) -> list[dict[str, Any]]:
        """The running copies as JSON, the oldest first."""
        now = self._clock()
        return [each.line(now) for each in self._running]
