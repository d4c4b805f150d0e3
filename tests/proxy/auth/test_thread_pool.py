"""Daemon threads run calls in turn, and a hanging call does not keep the process alive."""

import asyncio
import subprocess
import sys
import threading

import pytest

from proxy.auth.thread_pool import DaemonThreads


def test_results_and_errors_are_returned() -> None:
    async def scenario() -> None:
        threads = DaemonThreads(2, "test")
        assert await asyncio.gather(*(threads.run(lambda n=n: n * n) for n in range(9))) == [
            n * n for n in range(9)
        ]
        with pytest.raises(ZeroDivisionError):
            await threads.run(lambda: 1 // 0)

    asyncio.run(scenario())


def test_a_call_cancelled_while_it_waits_does_not_run() -> None:
    async def scenario() -> None:
        threads, go_on, done = DaemonThreads(1, "test"), threading.Event(), []
        first = asyncio.ensure_future(threads.run(go_on.wait))
        second = asyncio.ensure_future(threads.run(lambda: done.append("second")))
        await asyncio.sleep(0)
        second.cancel()
        with pytest.raises(asyncio.CancelledError):
            await second
        go_on.set()
        assert await first
        await threads.run(lambda: done.append("third"))
        assert done == ["third"]

    asyncio.run(scenario())


def test_a_hanging_call_does_not_keep_the_process_alive() -> None:
    program = """
import asyncio, threading
from proxy.auth.thread_pool import DaemonThreads

async def main():
    task = asyncio.ensure_future(DaemonThreads(1, "test").run(threading.Event().wait))
    await asyncio.sleep(0.1)
    task.cancel()

asyncio.run(main())
"""
    subprocess.run([sys.executable, "-c", program], check=True, timeout=60)
