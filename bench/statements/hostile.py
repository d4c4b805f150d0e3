"""What others feel while eight clients send the worst statements that are known.

    python -m bench.statements.hostile [--seconds 20] [--clients 8] [--others 8] [--megabytes 0]

The proxy runs before a Thrift Server of a few lines, so that the time is the proxy's alone. The
hostile clients and the others are processes of their own. `SELECT 1` and statements of new texts
are timed without the hostile clients, and with them; a session that is lost or an error ends it.
With --megabytes the first of the hostile clients sends texts of that size, one after another.
"""

import argparse
import asyncio
import multiprocessing
import statistics
import sys
import time
from collections.abc import Callable
from multiprocessing.queues import Queue
from pathlib import Path
from typing import Any

import uvloop

from cli.server.garbage import shorten_pauses
from cli.server.serve import SWITCH
from conf.catalog.tables import Catalog
from conf.topology import Endpoint
from dialect.statement import Analysis, Namespace
from proxy.limits import Limits
from proxy.protocol.framing import client_negotiation
from proxy.statement.analysis import analyzer_pool
from tests.proxy.fakes import Client, error_of, world

_SLOW = Path(__file__).parents[2] / "tests/dialect/slow.sql"
Times = dict[str, list[float]]


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.statements.hostile", description=__doc__)
    parser.add_argument("--seconds", type=float, default=20.0, help="of each of the two parts")
    parser.add_argument("--clients", type=int, default=8)
    parser.add_argument("--others", type=int, default=8)
    parser.add_argument("--megabytes", type=int, default=0)
    args = parser.parse_args()
    sys.setswitchinterval(SWITCH)
    uvloop.run(_run(args.seconds, args.clients, args.others, args.megabytes))


def _measured(held: list[float]) -> None:
    """Has the processor time of each analysis in the event loop noted."""
    pool: Any = analyzer_pool
    original: Callable[..., Analysis] = pool.attempt

    def attempt(sql: str, namespace: Namespace, catalog: Catalog, steps: int) -> Analysis:
        began = time.thread_time()
        try:
            return original(sql, namespace, catalog, steps)
        finally:
            held.append(time.thread_time() - began)

    pool.attempt = attempt


async def _run(seconds: float, clients: int, others: int, megabytes: int) -> None:
    held: list[float] = []
    _measured(held)
    shorten_pauses()
    async with world(Limits()) as there:
        for hostile in (0, clients):
            held.clear()
            used = time.thread_time()
            spawn = multiprocessing.get_context("spawn")
            queue: Queue[Times] = spawn.Queue()
            processes = [
                spawn.Process(
                    target=attack, args=(there.endpoint, seconds + 2, hostile, megabytes)
                ),
                spawn.Process(target=measure, args=(there.endpoint, seconds, others, queue)),
            ]
            for each in processes:
                each.start()
            times = await asyncio.to_thread(queue.get)
            for each in processes:
                await asyncio.to_thread(each.join)
                assert each.exitcode == 0, "a client lost its session, or had an error"
            used, most = time.thread_time() - used, max(held) * 1e3
            print(
                f"{hostile} hostile clients: {len(held)} analyses in the event loop, the longest"
                f" {most:.1f} ms of processor time, all {100 * sum(held) / used:.0f} % of its"
                f" {used:.1f} s"
            )
            for name, found in times.items():
                found.sort()
                p50, p99 = statistics.median(found), found[int(len(found) * 0.99)]
                print(
                    f"{hostile} hostile clients: {name}: {len(found)} times, median"
                    f" {p50 * 1e3:.2f} ms, p99 {p99 * 1e3:.1f} ms, most {found[-1] * 1e3:.0f} ms",
                    flush=True,
                )


def attack(endpoint: Endpoint, seconds: float, clients: int, megabytes: int) -> None:
    """Sends the worst statements, each with another comment, for that long."""
    slow = _SLOW.read_text().splitlines()

    async def one(number: int) -> None:
        client, at = await _client(endpoint, f"eve{number}"), number
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            at += 1
            text = slow[at % len(slow)]
            if megabytes and not number:
                text = f"SELECT '{'x' * (megabytes << 20)}'"
            await client.execute(f"{text} -- {number} {at}")
        assert error_of(await client.execute("SELECT 1")) is None

    async def every() -> None:
        await asyncio.gather(*(one(number) for number in range(clients)))

    uvloop.run(every())


def measure(endpoint: Endpoint, seconds: float, clients: int, queue: "Queue[Times]") -> None:
    """Times statements of other users, each with a pause behind it."""
    times: Times = {"SELECT 1": [], "a new statement": []}

    async def one(number: int) -> None:
        client, at = await _client(endpoint, f"ann{number}"), 0
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            at += 1
            for name, sql in (("SELECT 1", "SELECT 1"), ("a new statement", _new(number, at))):
                began = time.perf_counter()
                assert error_of(await client.execute(sql)) is None
                times[name].append(time.perf_counter() - began)
                await asyncio.sleep(0.02)

    async def every() -> None:
        await asyncio.gather(*(one(number) for number in range(clients)))

    uvloop.run(every())
    queue.put(times)


def _new(number: int, at: int) -> str:
    return f"SELECT a, count(*) FROM e WHERE b = '{number}' AND c > {at} GROUP BY a"


async def _client(endpoint: Endpoint, user: str) -> Client:
    reader, writer = await asyncio.open_connection(endpoint.host, endpoint.port)
    client = Client(reader, writer)
    writer.write(client_negotiation(user, "pw"))
    assert await reader.readexactly(5) == b"\5\0\0\0\0"
    assert error_of(await client.open()) is None
    return client


if __name__ == "__main__":
    main()
