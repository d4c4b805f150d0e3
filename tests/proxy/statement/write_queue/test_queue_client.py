"""Places in the queue of one process, and in the queue that workers share over a socket."""

import asyncio
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
import uvloop

from proxy.errors import TableBusy, WorkerFailed
from proxy.statement.write_queue.queue import WriteQueue
from proxy.statement.write_queue.queue_client import LocalPlaces, SharedPlaces, WritePlaces
from proxy.statement.write_queue.queue_server import WriteQueueServer

Scenario = Callable[[WritePlaces, WritePlaces], Awaitable[None]]
_WORKER = """
import socket, sys, time
connection = socket.socket(socket.AF_UNIX)
connection.connect(sys.argv[1])
connection.sendall(b'["d.t"]\\n')
print(connection.recv(100), flush=True)
time.sleep(60)
"""


@asynccontextmanager
async def serving(path: Path) -> AsyncIterator[WriteQueueServer]:
    server = WriteQueueServer()
    server.queue = WriteQueue(waiting=2)
    await server.listen(path)
    try:
        yield server
    finally:
        server.close()


@pytest.fixture(params=["local", "shared"])
def play(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[Scenario], None]:
    """Runs a scenario with the places of two workers, or twice with those of one process."""

    async def run(scenario: Scenario) -> None:
        async with asyncio.timeout(120), serving(path := tmp_path / "writes") as server:
            if request.param == "shared":
                await scenario(SharedPlaces(path), SharedPlaces(path))
            else:
                local = LocalPlaces(server.queue)
                await scenario(local, local)
            while len(server.queue):  # noqa: ASYNC110
                await asyncio.sleep(0.001)

    return lambda scenario: uvloop.run(run(scenario))


def test_workers_take_turns(play: Callable[[Scenario], None]) -> None:
    async def scenario(one: WritePlaces, other: WritePlaces) -> None:
        first = await one.take(["d.t"])
        second = await other.take(["d.t", "d.s"])
        third = await one.take(["d.t"])
        assert [each.ahead for each in (first, second, third)] == [0, 1, 2]
        await first.turn()
        waiting = asyncio.ensure_future(second.turn())
        cancelled = asyncio.ensure_future(third.turn())
        await asyncio.sleep(0.02)
        assert not waiting.done()
        third.leave()
        await cancelled
        first.leave()
        await waiting
        second.leave()
        second.leave()

    play(scenario)


def test_too_many_are_refused(play: Callable[[Scenario], None]) -> None:
    async def scenario(one: WritePlaces, other: WritePlaces) -> None:
        places = [await one.take(["d.t"]) for _ in range(3)]
        with pytest.raises(TableBusy, match=r"2 statements wait to write d\.t\."):
            await other.take(["d.t"])
        for place in places:
            place.leave()

    play(scenario)


def test_a_worker_that_is_killed_frees_its_place(tmp_path: Path) -> None:
    async def run() -> None:
        async with asyncio.timeout(120), serving(path := tmp_path / "writes"):
            worker = await asyncio.create_subprocess_exec(
                sys.executable, "-c", _WORKER, str(path), stdout=asyncio.subprocess.PIPE
            )
            assert worker.stdout is not None
            assert b"ahead" in await worker.stdout.readline()
            place = await SharedPlaces(path).take(["d.t"])
            assert place.ahead == 1
            worker.kill()
            await place.turn()
            place.leave()
            await worker.wait()

    uvloop.run(run())


def test_a_supervisor_that_is_gone_is_an_error(tmp_path: Path) -> None:
    async def run() -> None:
        with pytest.raises(WorkerFailed, match="not served"):
            await SharedPlaces(tmp_path / "writes").take(["d.t"])

    uvloop.run(run())
