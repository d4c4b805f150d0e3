"""Metastore clients for an event loop: blocking calls in a bounded number of threads."""

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from time import monotonic
from typing import TypeVar

from conf.topology import Endpoint
from metastore.client.metastore_client import HmsClient
from metastore.errors import MetastoreDown

T = TypeVar("T")

WORKERS = 16
QUEUE_LIMIT = 1000  # calls waiting for a thread
IDLE = 60.0  # seconds in which a connection may wait for work, but for one
REST = 0.5  # seconds in which nobody asks a metastore that has just not answered in time


class ClientPool:
    """Runs functions of an HmsClient in threads; clients keep their connections for a while.

    A hanging call holds one thread until its time is up. After a call that got no answer in
    time, others are refused at once for a moment rather than hang one after another.
    """

    def __init__(self, endpoints: Sequence[Endpoint], timeout: float) -> None:
        self._endpoints = tuple(endpoints)
        self._timeout = timeout
        self._threads = ThreadPoolExecutor(WORKERS, "metastore")
        self._idle: list[tuple[float, HmsClient]] = []  # since when; the last is taken first
        self._sweeping: asyncio.TimerHandle | None = None
        self._busy: set[HmsClient] = set()
        self._asked = 0
        self._down_until = 0.0
        self._closed = False

    def submit(self, work: Callable[[HmsClient], T]) -> "asyncio.Future[T]":
        """Starts the work; the future is not tied to whoever awaits it.

        It fails with MetastoreDown when the queue is full or the metastore rests.
        """
        loop = asyncio.get_running_loop()
        if self._closed or self._asked >= QUEUE_LIMIT or monotonic() < self._down_until:
            refused: asyncio.Future[T] = loop.create_future()
            why = "has just not answered" if self._asked < QUEUE_LIMIT else "has too many callers"
            refused.set_exception(MetastoreDown(f"the metastore {why}"))
            refused.add_done_callback(_retrieve)
            return refused
        self._asked += 1
        future = loop.run_in_executor(self._threads, self._run, work)
        future.add_done_callback(self._done)
        return future

    async def run(self, work: Callable[[HmsClient], T]) -> T:
        """The work's result. It goes on when the caller is cancelled."""
        return await asyncio.shield(self.submit(work))

    def close(self) -> None:
        """No more work; what runs fails soon, so that nothing outlives its process."""
        self._closed = True
        if self._sweeping is not None:
            self._sweeping.cancel()
        self._threads.shutdown(wait=False, cancel_futures=True)
        for client in tuple(self._busy):
            client.abort()
        for _, client in self._idle:
            client.close()
        self._idle.clear()

    def _run(self, work: Callable[[HmsClient], T]) -> T:
        try:
            _, client = self._idle.pop()
        except IndexError:
            client = HmsClient(self._endpoints, self._timeout)
        started = monotonic()
        self._busy.add(client)
        try:
            return work(client)
        except MetastoreDown:
            if monotonic() - started >= self._timeout / 2:
                self._down_until = monotonic() + REST
            raise
        finally:
            self._busy.discard(client)
            if self._closed:
                client.close()
            else:
                self._idle.append((monotonic(), client))

    def _done(self, future: "asyncio.Future[T]") -> None:
        self._asked -= 1
        _retrieve(future)
        self._sweep_later()

    def _sweep_later(self) -> None:
        longest = self._idle[:1]  # a thread may take it meanwhile
        if self._sweeping is None and longest and len(self._idle) > 1 and not self._closed:
            wait = max(0.0, longest[0][0] + IDLE - monotonic())
            self._sweeping = asyncio.get_running_loop().call_later(wait, self._sweep)

    def _sweep(self) -> None:
        """Closes what a crowd has left: the metastore keeps a thread for each connection."""
        self._sweeping = None
        with suppress(IndexError):  # a thread may take them meanwhile
            while len(self._idle) > 1 and self._idle[0][0] <= monotonic() - IDLE:
                self._idle.pop(0)[1].close()
        self._sweep_later()


def _retrieve(future: "asyncio.Future[T]") -> None:
    """Tells asyncio that somebody has seen the error, though all who waited may be gone."""
    if not future.cancelled():
        future.exception()
