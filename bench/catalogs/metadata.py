"""Metadata calls of many clients at once, through Causeway and directly, in one run.

    python -m bench.catalogs.metadata [--clients 100] [--tables 200] [--rounds 3]

Each client has a session. In each round all clients start at the same time and make every call
once, in different orders. The first round is listed separately: it has the first calls of new
sessions, and it fills Causeway's memory. One table of the database is changed before each round.
"""

import argparse
import statistics
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack

from bench.catalogs.catalog import CALLS, DATABASE, Way, make_model, make_tables
from bench.proxy import RawClient
from bench.support.embedded import EAST, embedded
from cli.stack.stack import Stack
from conf.topology import Endpoint
from pipeline.spark.jar import guard_jar

ASKED = ("GetSchemas", "GetTables", "GetColumns of one table", "GetColumns")
Times = dict[str, list[float]]  # seconds, by call


def crowd(ways: list[Way]) -> Times:
    """Each client makes every call once; all start at the same time."""
    together = threading.Barrier(len(ways))

    def one(number: int) -> list[tuple[str, float]]:
        found = []
        together.wait()
        for each in range(len(ASKED)):
            what = ASKED[(number + each) % len(ASKED)]
            began = time.perf_counter()
            rows = ways[number].rows(*CALLS[what])
            assert rows, f"{what} has no rows"
            found.append((what, time.perf_counter() - began))
        return found

    times: Times = {what: [] for what in ASKED}
    with ThreadPoolExecutor(len(ways)) as pool:
        for found in pool.map(one, range(len(ways))):
            for what, taken in found:
                times[what].append(taken)
    return times


def measure(ways: dict[str, list[Way]], rounds: int, change: Callable[[int], object]) -> None:
    """Prints the first round's times and those of all others, by call and way."""
    print(f"{'':32} {'way':9} {'median s':>9} {'p99 s':>8} {'longest s':>10}", flush=True)
    later: dict[str, Times] = {name: {what: [] for what in ASKED} for name in ways}
    for number in range(rounds + 1):
        change(number)
        for name in ways if number % 2 else reversed(ways):
            times = crowd(ways[name])
            if number == 0:
                _print("first round: ", name, times)
            else:
                for what, found in times.items():
                    later[name][what] += found
    for name, times in later.items():
        _print("", name, times)


def _print(prefix: str, name: str, times: Times) -> None:
    for what, found in times.items():
        ordered = sorted(found)
        p99 = ordered[int(len(ordered) * 0.99)]
        middle = statistics.median(ordered)
        title = prefix + what
        print(f"{title:32} {name:9} {middle:9.3f} {p99:8.3f} {ordered[-1]:10.3f}", flush=True)


def run(stack: Stack, listen: Endpoint, clients: int, tables: int, rounds: int) -> None:
    direct = stack.ports.hs2[EAST]
    with ExitStack() as exits:
        writer = exits.enter_context(RawClient(direct))
        writing = writer.open()
        make_model(writer, writing)
        make_tables(stack.ports.metastore, tables)
        ways = {"direct": _sessions(exits, direct, clients)}
        ways["Causeway"] = _sessions(exits, listen, clients)

        def change(number: int) -> None:
            writer.execute(writing, f"ALTER TABLE {DATABASE}.model ADD COLUMNS (more{number} int)")

        measure(ways, rounds, change)


def _sessions(exits: ExitStack, endpoint: Endpoint, count: int) -> list[Way]:
    opened = [exits.enter_context(RawClient(endpoint)) for _ in range(count)]
    return [Way(client, client.open()) for client in opened]


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.catalogs.metadata", description=__doc__)
    parser.add_argument("--clients", type=int, default=100, help="(%(default)s)")
    parser.add_argument("--tables", type=int, default=200, help="(%(default)s)")
    parser.add_argument("--rounds", type=int, default=3, help="(%(default)s)")
    args = parser.parse_args()
    with embedded(EAST, guard=guard_jar()) as (stack, listen):
        run(stack, listen, args.clients, args.tables, args.rounds)


if __name__ == "__main__":
    main()
