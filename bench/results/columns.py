"""Compares a large result that executors pack in columns with one that Spark collects, by turns.

    python -m bench.results.columns [--rounds N]

The Thrift Server of an embedded stack is called directly, in a session that packs and in one that
does not. The clients are a bare socket that decodes nothing, PyHive, and the hive-jdbc in Spark's
jars. Processor time is that of the Thrift Server and its tasks. The last lines are for a result of
one row.
"""

import argparse
import os
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from pyhive import hive

from bench.proxy import BATCH, ROWS, WIDE, RawClient, fetch
from bench.results.jdbc import PROGRAM, asked, compiled
from bench.support.embedded import EAST, embedded
from cli.stack.stack import spark_home
from conf.topology import Endpoint
from pipeline.spark.jar import guard_jar
from proxy.protocol.cluster_calls import operation_call
from proxy.protocol.types import Orientation

SETTING = "spark.causeway.results.columnar"
TARGETS = {"a socket": "<= 0.6 x", "hive-jdbc": "<= 0.6 x"}
PACKED = {"direct": "false", "packed": "true"}
SMALL = "SELECT max(id) FROM range(1000)"
WARM = 5


@dataclass(frozen=True, slots=True)
class Taken:
    """The milliseconds of one statement until it was executed, and in all; -1 if not measured."""

    executing: float
    whole: float
    processor: float = -1

    @property
    def reading(self) -> float:
        return self.whole - self.executing


Client = Callable[[str], Taken]  # asks the statement once, in the way of that name
Found = dict[str, list[Taken]]


def by_turns(client: Client, rounds: int, warm: int = WARM) -> Found:
    found: Found = {name: [] for name in PACKED}
    for number in range(warm + rounds):
        for name in sorted(PACKED, reverse=number % 2 == 0):
            taken = client(name)
            if number >= warm:
                found[name].append(taken)
    return found


def raw(endpoint: Endpoint, rounds: int, sql: str, rows: int, server: int) -> Found:
    """Measures with a socket that decodes nothing."""
    with RawClient(endpoint) as client:
        sessions = {name: client.open() for name in PACKED}
        for name, packs in PACKED.items():
            client.execute(sessions[name], f"SET {SETTING}={packs}")

        def asking(name: str) -> Taken:
            before, began = processor_time(server), time.perf_counter()
            operation = client.execute(sessions[name], sql)
            executed = time.perf_counter()
            for _ in range(-(-rows // BATCH)):
                client.call(fetch(operation, Orientation.NEXT, BATCH))
            ended = time.perf_counter()
            used = processor_time(server) - before
            client.call(operation_call("CloseOperation", operation))
            return Taken((executed - began) * 1000, (ended - began) * 1000, used)

        return by_turns(asking, rounds)


def pyhive(endpoint: Endpoint, rounds: int) -> Found:
    def asking(name: str) -> Taken:
        settings = {f"set:{SETTING}": PACKED[name]}
        with closing(
            hive.connect(endpoint.host, endpoint.port, configuration=settings)
        ) as connection:
            cursor = connection.cursor(arraysize=BATCH)
            began = time.perf_counter()
            cursor.execute(WIDE)
            executed = time.perf_counter()
            assert len(cursor.fetchall()) == ROWS
            return Taken((executed - began) * 1000, (time.perf_counter() - began) * 1000)

    return by_turns(asking, rounds, warm=1)


def jdbc(endpoint: Endpoint, rounds: int) -> Found:
    with tempfile.TemporaryDirectory() as folder:
        classpath = f"{compiled(PROGRAM, Path(folder))}:{spark_home() / 'jars'}/*"
        urls = {name: f"{endpoint}/?{SETTING}={packs}" for name, packs in PACKED.items()}
        found = asked(classpath, WIDE, urls, rounds, ROWS)
    return {name: [Taken(e.executing, e.whole) for e in each] for name, each in found.items()}


def processor_time(process: int) -> float:
    """Milliseconds that the process has used."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) * 1000 / os.sysconf("SC_CLK_TCK")


def lines(what: str, found: Found) -> Iterator[str]:
    """A line for each way; ratios are medians of pairs."""
    for name, each in found.items():
        parts = (
            column(each, found["direct"], lambda taken: taken.executing),
            column(each, found["direct"], lambda taken: taken.reading),
            column(each, found["direct"], lambda taken: taken.whole),
            column(each, found["direct"], lambda taken: taken.processor),
        )
        target = TARGETS.get(what, "") if name == "packed" else ""
        yield f"{what:22} {name:7} {'  '.join(parts)}  {target}"


def column(mine: Sequence[Taken], base: Sequence[Taken], part: Callable[[Taken], float]) -> str:
    ratio = statistics.median(part(a) / max(part(b), 1e-9) for a, b in zip(mine, base, strict=True))
    median = statistics.median(map(part, mine))
    return f"{'':18}" if median < 0 else f"{median:9.1f} {ratio:6.2f} x"


def run(endpoint: Endpoint, server: int, rounds: int) -> None:
    """Prints the table. `server` is the Thrift Server's process."""
    heads = ("executing ms", "reading ms", "whole ms", "processor ms")
    print(f"{ROWS:,} rows x 4 {'':15} {'  '.join(f'{head:>18}' for head in heads)}  target (whole)")
    for what, found in (
        ("a socket", raw(endpoint, rounds, WIDE, ROWS, server)),
        ("hive-jdbc", jdbc(endpoint, rounds)),
        ("PyHive", pyhive(endpoint, max(3, rounds // 3))),
        ("a socket, one row", raw(endpoint, 10 * rounds, SMALL, 1, server)),
    ):
        for line in lines(what, found):
            print(line, flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.results.columns", description=__doc__)
    parser.add_argument("--rounds", type=int, default=11, help="(%(default)s)")
    args = parser.parse_args()
    with embedded(EAST, guard=guard_jar()) as (stack, _):
        run(stack.ports.hs2[EAST], stack.pid(EAST), args.rounds)
        print(f"load {os.getloadavg()[0]:.1f} after it")


if __name__ == "__main__":
    main()
