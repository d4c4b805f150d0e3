"""Shares equal loads: for any number of callers one load runs, and at most one more waits."""

import asyncio
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
T = TypeVar("T")


class SingleFlight(Generic[K, T]):
    """`ask(key)` returns the result of a load that begins after the call.

    A load that already runs may have read older data than the caller needs. So a caller that comes
    while a load runs waits for the next load, which all callers share that come until it begins.
    """

    def __init__(self, start: Callable[[K], "asyncio.Future[T]"]) -> None:
        self._start = start
        self._running: dict[K, asyncio.Future[T]] = {}
        self._next: dict[K, asyncio.Future[T]] = {}

    async def ask(self, key: K) -> T:
        """The load's result or exception. Cancelling a caller does not cancel the load."""
        if key not in self._running:
            return await asyncio.shield(self._launch(key))
        waiting = self._next.get(key)
        if waiting is None:
            waiting = self._next[key] = asyncio.get_running_loop().create_future()
        return await asyncio.shield(waiting)

    def _launch(self, key: K) -> "asyncio.Future[T]":
        running = self._running[key] = self._start(key)
        running.add_done_callback(lambda _: self._landed(key))
        return running

    def _landed(self, key: K) -> None:
        del self._running[key]
        waiting = self._next.pop(key, None)
        if waiting is not None:
            self._launch(key).add_done_callback(lambda done: _hand_over(done, waiting))


def _hand_over(done: "asyncio.Future[T]", waiting: "asyncio.Future[T]") -> None:
    if waiting.cancelled():
        return
    if done.cancelled():
        waiting.cancel()
        return
    error = done.exception()
    if error is None:
        waiting.set_result(done.result())
    else:
        waiting.set_exception(error)
        waiting.exception()  # retrieve it, so that asyncio does not log it if all callers are gone
