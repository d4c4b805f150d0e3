"""One answer for all who ask at about the same time."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Generic, TypeVar

from console.errors import SourceDown

T = TypeVar("T")


class Cached(Generic[T]):
    """The result of `ask`, at most `age` seconds old. Many viewers cost a source one call in that
    time; a call that fails fails for all who wait for it, and is made again by the next."""

    def __init__(self, ask: Callable[[], Awaitable[T]], age: float) -> None:
        self._ask = ask
        self._age = age
        self._task: asyncio.Task[T] | None = None
        self._began = 0.0

    async def get(self) -> T:
        """Raises what `ask` raises."""
        task, now = self._task, time.monotonic()
        if task is None or (task.done() and (now - self._began > self._age or _failed(task))):
            task = self._task = asyncio.ensure_future(self._ask())
            self._began = now
        return await asyncio.shield(task)


def _failed(task: asyncio.Task[T]) -> bool:
    return task.cancelled() or task.exception() is not None


async def within(seconds: float, source: str, call: Awaitable[T]) -> T:
    """The result of a call of a source. Raises SourceDown after so many seconds."""
    try:
        async with asyncio.timeout(seconds):
            return await call
    except TimeoutError:
        raise SourceDown(source, f"no answer within {seconds:g} s") from None
