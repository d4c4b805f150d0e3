"""A copier whose copies end when a test says so."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field

from conf.progress import Progress, no_progress
from proxy.statement.copies.copier import CopyOrder, CopySummary


@dataclass
class FakeCopier:
    """Each copy sends `sent` bytes when `ends` is set, or fails with the first of `failures`.

    It reports `progress` before, if given. `on_copied` gets the order of each copy that was made.
    """

    sent: int = 5
    progress: tuple[int, int] | None = None
    ends: asyncio.Event = field(default_factory=asyncio.Event)
    failures: list[Exception] = field(default_factory=list)
    on_copied: Callable[[CopyOrder], None] = lambda _: None
    begun: list[CopyOrder] = field(default_factory=list)
    cancelled: int = 0

    async def __call__(self, order: CopyOrder, progress: Progress = no_progress) -> CopySummary:
        self.begun.append(order)
        if self.progress is not None:
            progress(*self.progress)
        try:
            await self.ends.wait()
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        if self.failures:
            raise self.failures.pop(0)
        self.on_copied(order)
        return CopySummary("1 copied", self.sent)

    @property
    def ways(self) -> list[str]:
        """Table, number of partitions, source and target of each copy that was begun."""
        return [
            f"{each.table} {len(each.partitions)} {each.source} {each.target}"
            for each in self.begun
        ]

    @property
    def bounds(self) -> list[tuple[int | None, float | None, int]]:
        """The most bytes and the seconds to keep them, of each copy that was begun."""
        return [(each.most, each.keep, each.bandwidth) for each in self.begun]
