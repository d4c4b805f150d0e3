"""A few daemon threads for calls that may block. The process does not wait for them at its end."""

import asyncio
import queue
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, TypeVar

_T = TypeVar("_T")
_Call = tuple[Future[Any], Callable[[], Any]]


class DaemonThreads:
    """A pool of at most `size` threads, each started when it is first needed."""

    def __init__(self, size: int, name: str) -> None:
        self._size = size
        self._name = name
        self._started = 0
        self._queue: queue.SimpleQueue[_Call] = queue.SimpleQueue()

    async def run(self, call: Callable[[], _T]) -> _T:
        """The result or exception of `call`, which runs in a thread.

        A call that is cancelled while it waits in the queue does not run. A call that is cancelled
        later runs to its end, and its result is dropped.
        """
        future: Future[_T] = Future()
        self._queue.put((future, call))
        if self._started < self._size:
            self._started += 1
            threading.Thread(target=self._serve, name=self._name, daemon=True).start()
        return await asyncio.wrap_future(future)

    def _serve(self) -> None:
        while True:
            _run(*self._queue.get())  # no local variable keeps the call alive while this waits


def _run(future: Future[Any], call: Callable[[], Any]) -> None:
    if not future.set_running_or_notify_cancel():
        return
    try:
        future.set_result(call())
    except BaseException as error:
        future.set_exception(error)
