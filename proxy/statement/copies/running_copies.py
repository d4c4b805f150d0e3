"""The copies that are being made for statements now, for operators."""

import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

from conf.logs.log_fields import log_fields
from conf.progress import Progress, no_progress
from proxy.statement.copies.copier import Copier, CopyOrder, CopySummary


@dataclass(slots=True)
class RunningCopy:
    """`partitions` is how many were asked for, 0 for the whole table. `began` is Unix time, `bytes`
    and `total` are those sent and those to send, None until they are known. `statement` is the id
    of the statement that began it."""

    table: str
    partitions: int
    source: str
    target: str
    statement: str
    began: float
    bytes: int = 0
    total: int | None = None

    def line(self, now: float) -> dict[str, Any]:
        """As JSON has it, with the bytes a second since its beginning."""
        seconds = max(now - self.began, 0.001)
        return asdict(self) | {"seconds": round(seconds, 3), "rate": round(self.bytes / seconds)}


class RunningCopies:
    """A copier that knows what it is doing."""

    def __init__(self, copier: Copier, clock: Callable[[], float] = time.time) -> None:
        self._copier = copier
        self._clock = clock
        self._running: list[RunningCopy] = []

    async def __call__(self, order: CopyOrder, progress: Progress = no_progress) -> CopySummary:
        """As any `Copier`."""
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
        """What runs, the oldest first."""
        now = self._clock()
        return [each.line(now) for each in self._running]
