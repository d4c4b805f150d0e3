"""The wait of a statement for copies, which its client can cancel."""

import asyncio
from collections.abc import Coroutine
from typing import TypeVar

T = TypeVar("T")


class AwaitedCopies:
    """One wait at a time."""

    def __init__(self) -> None:
        self._task: asyncio.Task[object] | None = None

    async def run(self, work: Coroutine[object, object, T]) -> T | None:
        """The result of the work; None when `cancel` ended it."""
        self._task = task = asyncio.ensure_future(work)
        try:
            await asyncio.wait({task})
        except asyncio.CancelledError:
            task.cancel()
            await asyncio.wait({task})
            raise
        return None if task.cancelled() else task.result()

    def cancel(self) -> None:
        if self._task is not None:
            self._task.cancel()
