"""Metastore clients for an event loop: their blocking calls run in a limited number of threads."""

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from time import monotonic
from typing import TypeVar

from conf.settings.security.metastore_login import MetastoreLogin
from conf.topology import Endpoint
from metastore.client.connecting import PLAIN
from metastore.client.metastore_client import HmsClient
from metastore.errors import MetastoreDown

T = TypeVar("T")

WORKERS = 16
QUEUE_LIMIT = 1000  # calls waiting for a thread
IDLE = 60.0  # seconds after which an idle connection is closed; one is kept
REST = 0.5  # seconds in which calls are refused after a time-out


class ClientPool:
    """Runs functions that use an HmsClient in threads. Clients keep their connections for a while.

    A call without an answer occupies a thread until its time-out. After a time-out, calls are
    refused at once for `REST` seconds, so that they do not all wait for their time-outs.
    """

    def __init__(
        self, endpoints: Sequence[Endpoint], timeout: float, login: MetastoreLogin = PLAIN
    ) -> None:
        self._endpoints = tuple(endpoints)
        self._timeout = timeout
        self._login = login
        self._threads = ThreadPoolExecutor(WORKERS, "metastore")
        self._idle: list[tuple[float, HmsClient]] = []  # with the time since which it is idle
        self._sweeping: asyncio.TimerHandle | None = None
        self._busy: set[HmsClient] = set()
        self._pending = 0
        self._down_until = 0.0
        self._closed = False

    def submit(self, work: Callable[[HmsClient], T]) -> "asyncio.Future[T]":
        """Starts the work. Cancelling a caller does not cancel the future.

        The future fails with MetastoreDown if the queue is full or a call has just timed out.
        """
        loop = asyncio.get_running_loop()
        if self._closed or self._pending >= QUEUE_LIMIT or monotonic() < self._down_until:
            refused: asyncio.Future[T] = loop.create_future()
            why = "has just not answered" if self._pending < QUEUE_LIMIT else "has too many callers"
            refused.set_exception(MetastoreDown(f"the metastore {why}"))
            refused.add_done_callback(_retrieve)
            return refused
        self._pending += 1
        future = loop.run_in_executor(self._threads, self._run, work)
        future.add_done_callback(self._done)
        return future

    async def run(self, work: Callable[[HmsClient], T]) -> T:
        """The result of the work, which continues if the caller is cancelled."""
        return await asyncio.shield(self.submit(work))

    def close(self) -> None:
        """Refuses further work, and aborts running calls so that the process can end."""
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
            client = HmsClient(self._endpoints, self._timeout, login=self._login)
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
        self._pending -= 1
        _retrieve(future)
        self._sweep_later()

    def _sweep_later(self) -> None:
        longest = self._idle[:1]  # a thread may take it at any time
        if self._sweeping is None and longest and len(self._idle) > 1 and not self._closed:
            wait = max(0.0, longest[0][0] + IDLE - monotonic())
            self._sweeping = asyncio.get_running_loop().call_later(wait, self._sweep)

    def _sweep(self) -> None:
        """Closes idle connections, because the metastore has a thread for each one."""
        self._sweeping = None
        with suppress(IndexError):  # a thread may take them at any time
            while len(self._idle) > 1 and self._idle[0][0] <= monotonic() - IDLE:
                self._idle.pop(0)[1].close()
        self._sweep_later()


def _retrieve(future: "asyncio.Future[T]") -> None:
    """Retrieves the error, so that asyncio does not log it if all callers are gone."""
    if not future.cancelled():
        future.exception()
