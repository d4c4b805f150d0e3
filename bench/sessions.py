"""Compares sessions that run point selects at the same time: Causeway, HAProxy, direct.

    python -m bench.sessions [--sessions 200] [--seconds 30] [--rounds 5]

Each round takes the ways in turn. It opens the sessions of the way, and counts the statements that
end within the time: whole ones, from ExecuteStatement to CloseOperation, whose texts differ. The
sessions are closed before those of the next way are opened, since those of three ways fill the heap
of a Thrift Server. One process with a thread a session asks; it decodes nothing, and takes its
share of the processors on all ways.
"""

import argparse
import resource
import statistics
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from itertools import count

from bench.proxy import RawClient, haproxy, read_and_close
from bench.support.dashboard import POINT, SCHEMA
from bench.support.embedded import EAST, embedded
from conf.topology import Endpoint
from pipeline.spark.jar import guard_jar
from proxy.protocol.cluster_calls import RemoteSession, close_session_call

TARGET = "target >= 0.95 x HAProxy"
MORE_CONNECTIONS = {"spark.hadoop.hive.server2.thrift.max.worker.threads": "1000"}  # all ways'
OPENERS = 8  # sessions that are opened at the same time
_numbers = count()  # of statements, so that no two texts are the same


@dataclass(frozen=True, slots=True)
class Window:
    """What the sessions of one way did in the time: statements a second, and the slowest seconds of
    99 in 100."""

    rate: float
    p99: float


@contextmanager
def opened(endpoint: Endpoint, sessions: int) -> Iterator[list[tuple[RawClient, RemoteSession]]]:
    """So many sessions; each of them has run one statement."""
    with ExitStack() as exits:
        clients = [exits.enter_context(RawClient(endpoint)) for _ in range(sessions)]
        with ThreadPoolExecutor(OPENERS) as openers:
            found = list(zip(clients, openers.map(RawClient.open, clients), strict=True))
            list(openers.map(_ask, *zip(*found, strict=True)))
        yield found
        for client, session in found:
            client.result("CloseSession", close_session_call(session))


def ask_all(found: Sequence[tuple[RawClient, RemoteSession]], seconds: float) -> Window:
    """Runs statements in all of the sessions. The time begins when each session has ended one: the
    first ones, which begin at the same time, also end at the same time."""
    first: list[float] = []  # the ends of the sessions' first statements

    def is_over() -> bool:
        return len(first) == len(found) and time.perf_counter() > max(first) + seconds

    def one(way: tuple[RawClient, RemoteSession]) -> list[tuple[float, float]]:
        times = []
        while not is_over():
            began = time.perf_counter()
            _ask(*way)
            times.append((began, time.perf_counter()))
            if len(times) == 1:
                first.append(times[0][1])
        return times

    with ThreadPoolExecutor(len(found)) as pool:
        every = [each for mine in pool.map(one, found) for each in mine]
    start = max(first)
    times = sorted(end - began for began, end in every if start < end <= start + seconds)
    return Window(len(times) / seconds, times[int(len(times) * 0.99)])


def _ask(client: RawClient, session: RemoteSession) -> None:
    """Through Causeway a statement waits for one of the Thrift Server's 100 threads, as it does
    directly."""
    read_and_close(client, client.execute(session, POINT.text(next(_numbers))))


def measure(
    ways: Sequence[tuple[str, Endpoint]], sessions: int, seconds: float, rounds: int
) -> Iterator[str]:
    """A line a way; the last one is Causeway, which is compared with the one before it."""
    windows: dict[str, list[Window]] = {name: [] for name, _ in ways}
    for number in range(rounds + 1):
        for name, at in ways if number % 2 else reversed(ways):
            with opened(at, sessions) as found:
                window = ask_all(found, seconds)
            if number:
                windows[name].append(window)
    yield f"{sessions} sessions, point selects"
    for name, each_round in windows.items():
        rate = statistics.median(each.rate for each in each_round)
        p99 = statistics.median(each.p99 for each in each_round)
        yield f"{name:9} {rate:8.1f} statements a second, p99 {p99:6.2f} s"
    (base, theirs), (_, ours) = list(windows.items())[-2:]
    pairs = zip(ours, theirs, strict=True)
    ratio = statistics.median(mine.rate / its.rate for mine, its in pairs)
    yield f"Causeway's throughput: {ratio:.3f} x {base}, {TARGET}"


def run(direct: Endpoint, proxy: Endpoint, sessions: int, seconds: float, rounds: int) -> None:
    """Prints the lines."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, max(soft, 8 * sessions)), hard))
    with ExitStack() as exits:
        client = exits.enter_context(RawClient(direct))
        session = client.open()
        for statement in SCHEMA:
            client.execute(session, statement)
        between = exits.enter_context(haproxy(direct))
        if between is None:
            print("HAProxy is not installed; its rows are left out.")
        other = [("HAProxy", between[0])] if between is not None else []
        ways = [("direct", direct), *other, ("Causeway", proxy)]
        for line in measure(ways, sessions, seconds, rounds):
            print(line, flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.sessions", description=__doc__)
    parser.add_argument("--sessions", type=int, default=200, help="(%(default)s)")
    parser.add_argument("--seconds", type=float, default=30, help="of each window (%(default)s)")
    parser.add_argument("--rounds", type=int, default=5, help="(%(default)s)")
    args = parser.parse_args()
    with embedded(EAST, guard=guard_jar(), spark=MORE_CONNECTIONS) as (stack, listen):
        run(stack.ports.hs2[EAST], listen, args.sessions, args.seconds, args.rounds)


if __name__ == "__main__":
    main()
