"""The delay of other clients beside large unread results of a Thrift Server with 1 GB of heap.

    python -m bench.results.unread [--results 6] [--megabytes 300] [--seconds 30] [--spark K=V]..

Each result belongs to another user, who does not fetch it. Meanwhile, and some time longer, another
client runs a statement that needs no task. (`SELECT 1` needs one, which would wait for the
tasks of the results.) One kind of result has random rows. The rows of the other kind are easy to
compress: Spark compares compressed rows with spark.driver.maxResultSize, so they count as small.
"""

import argparse
import statistics
import time
from collections.abc import Iterator
from contextlib import ExitStack
from threading import Event, Thread

from bench.proxy import RawClient
from bench.support.embedded import EAST, embedded
from conf.topology import Endpoint
from pipeline.spark.jar import guard_jar

_ROW = 1_000  # characters
_ASKED = "SELECT * FROM VALUES (1)"
KINDS = {
    "random": "substr(concat_ws('', transform(sequence(1, 32), i -> md5(concat(id, i)))), 1, 1000)",
    "compressible": "repeat('x', 1000)",
}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.results.unread", description=__doc__)
    parser.add_argument("--results", type=int, default=6)
    parser.add_argument("--megabytes", type=int, default=300, help="of each result")
    parser.add_argument("--seconds", type=float, default=30.0, help="after the last statement")
    parser.add_argument("--kinds", nargs="*", choices=KINDS, default=list(KINDS))
    parser.add_argument("--plain", action="store_true", help="without the guard")
    parser.add_argument("--spark", nargs="*", default=[], metavar="KEY=VALUE", help="settings")
    args = parser.parse_args()
    spark = dict(each.split("=", 1) for each in args.spark)
    for kind in args.kinds:
        guard = None if args.plain else guard_jar()
        with embedded(EAST, guard=guard, spark=spark) as (_, listen):
            for line in run(listen, kind, args.results, args.megabytes, args.seconds):
                print(f"{kind}: {line}", flush=True)


def run(listen: Endpoint, kind: str, results: int, megabytes: int, seconds: float) -> Iterator[str]:
    """What became of the results, and of others' statements before and beside them."""
    yield f"another statement alone: {others(listen, Event(), 5.0)}"
    ended, found = Event(), list[str]()
    beside = Thread(target=lambda: found.append(others(listen, ended, float("inf"))))
    beside.start()
    with ExitStack() as exits:
        outcomes: list[str] = []
        asking = [
            Thread(target=ask, args=(exits, listen, number, kind, megabytes, outcomes))
            for number in range(results)
        ]
        for each in asking:
            each.start()
        for each in asking:
            each.join()
        time.sleep(seconds)
        ended.set()
        beside.join()
        for outcome in sorted(set(outcomes)):
            yield f"{outcomes.count(outcome)} of {results} statements: {outcome}"
        yield f"beside them: {found[0]}"


def ask(
    exits: ExitStack,
    listen: Endpoint,
    number: int,
    kind: str,
    megabytes: int,
    outcomes: list[str],
) -> None:
    """Runs one statement with a large result, and keeps its session open."""
    client = exits.enter_context(RawClient(listen, f"reader{number}"))
    rows = megabytes * 1_000_000 // _ROW
    try:
        client.execute(client.open(), f"SELECT {KINDS[kind]} AS c FROM range({rows})")
        outcomes.append("has its result, which is not read")
    except RuntimeError as error:
        words = str(error).partition("\n")[0]
        known = ("maxResultSize", "CW366")
        outcomes.append(next((each for each in known if each in words), words[:150]))


def others(listen: Endpoint, ended: Event, seconds: float) -> str:
    """The times of another user's statement, until the end, and how many failed."""
    times, failed = list[float](), 0
    with RawClient(listen, "other") as client:
        session = client.open()
        client.execute(session, _ASKED)  # opens the session in the cluster
        until = time.monotonic() + seconds
        while not ended.is_set() and time.monotonic() < until:
            began = time.perf_counter()
            try:
                client.execute(session, _ASKED)
            except RuntimeError:
                failed += 1
            times.append(time.perf_counter() - began)
            time.sleep(0.02)
    times.sort()
    p99 = times[int(len(times) * 0.99)]
    return (
        f"{len(times)} times, median {statistics.median(times) * 1e3:.0f} ms,"
        f" p99 {p99 * 1e3:.0f} ms, most {times[-1] * 1e3:.0f} ms, {failed} failed"
    )


if __name__ == "__main__":
    main()
