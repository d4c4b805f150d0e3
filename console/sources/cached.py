"""Shares the result of a call between requests that come at about the same time."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Generic, TypeVar

from console.errors import SourceDown

T = TypeVar("T")


class Cached(Generic[T]):
    """The result of `fetch`, at most `age` seconds old, so that many viewers cost a source one call
    in that time. A failed call fails for all that wait for it, and the next `get` calls again."""

    def __init__(self, fetch: Callable[[], Awaitable[T]], age: float) -> None:
        self._fetch = fetch
        self._age = age
        self._task: asyncio.Task[T] | None = None
        self._began = 0.0

    async def get(self) -> T:
        """The result. Raises the errors of `fetch`."""
        task, now = self._task, time.monotonic()
        if task is None or (task.done() and (now - self._began > self._age or _failed(task))):
            task = self._task = asyncio.ensure_future(self._fetch())
            self._began = now
        return await asyncio.shield(task)


def _failed(task: asyncio.Task[T]) -> bool:
    return task.cancelled() or task.exception() is not None


async def within(seconds: float, source: str, call: Awaitable[T]) -> T:
    """The result of a call of a source. Raises SourceDown after `seconds`."""
    try:
        async with asyncio.timeout(seconds):
            return await call
    except TimeoutError:
        raise SourceDown(source, f"no answer within {seconds:g} s") from None
