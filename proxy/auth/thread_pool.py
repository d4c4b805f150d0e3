"""A few threads for what may block, and may hang: nobody waits for them when the process ends."""

import asyncio
import queue
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, TypeVar

_T = TypeVar("_T")
_Work = tuple[Future[Any], Callable[[], Any]]


class Threads:
    """Started when they are first needed. Work waits for its turn, and is left out when who asked
    for it is gone by then."""

    def __init__(self, most: int, name: str) -> None:
        self._most = most
        self._name = name
        self._started = 0
        self._work: queue.SimpleQueue[_Work] = queue.SimpleQueue()

    async def run(self, work: Callable[[], _T]) -> _T:
        """What it gives or raises. Cancelled once it has begun, it goes on for nobody."""
        future: Future[_T] = Future()
        self._work.put((future, work))
        if self._started < self._most:
            self._started += 1
            threading.Thread(target=self._serve, name=self._name, daemon=True).start()
        return await asyncio.wrap_future(future)

    def _serve(self) -> None:
        while True:
            _do(*self._work.get())  # and forget it, with all that it holds, before the next


def _do(future: Future[Any], work: Callable[[], Any]) -> None:
    if not future.set_running_or_notify_cancel():
        return
    try:
        future.set_result(work())
    except BaseException as error:
        future.set_exception(error)
