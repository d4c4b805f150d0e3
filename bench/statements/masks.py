"""What a filter on rows and a mask on a column cost a query.

    python -m bench.statements.masks [--rounds N]

Three ways take turns through one proxy before one Thrift Server with the guard: a user without
rules; a user for whom rules filter the rows and mask a column; and the first user with a query that
has the same condition and mask in its text. No two texts are the same. A line has the medians: of
the first way, and of the pairwise differences of the others.
"""

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.proxy import SPARK_THREADS, RawClient, read_and_close
from bench.statements.processor import started
from bench.support.embedded import EAST, embedded
from cli.stack.stack import Stack, free_ports
from pipeline.spark.jar import guard_jar
from proxy.protocol.cluster_calls import RemoteSession

ROWS = 500_000
TABLE = "default.people"
WARM = 10  # rounds that are not counted
_THE_STACKS = ("hive.server2.", "proxy.admin.", "proxy.writes.", "history.")
CONDITION, MASK = "region <> 'r3'", "sha2(ssn, 256)"
RULES = f"""
[[rules]]
name = "regions"
effect = "filter"
users = ["restricted"]
tables = ["{TABLE}"]
expression = "{CONDITION}"

[[rules]]
name = "numbers"
effect = "mask"
users = ["restricted"]
tables = ["{TABLE}"]
columns = ["ssn"]
expression = "{MASK.replace("ssn", "{col}")}"
"""
_BY_HAND = f"(SELECT id, {MASK} AS ssn, region, amount FROM {TABLE} WHERE {CONDITION})"


@dataclass(frozen=True, slots=True)
class Question:
    """A query of `n` and of what stands for the table."""

    name: str
    text: Callable[[int, str], str]


QUESTIONS = (
    Question("a point", lambda n, table: f"SELECT ssn, amount FROM {table} WHERE id = {n}"),
    Question(
        "a sum, masked column unread",
        lambda n, table: f"SELECT region, sum(amount) + {n} FROM {table} GROUP BY region",
    ),
    Question(
        "a group by the masked column",
        lambda n, table: f"SELECT substr(ssn, 1, 1), count(*) + {n} FROM {table} GROUP BY 1",
    ),
)


@dataclass(frozen=True, slots=True)
class Way:
    client: RawClient
    session: RemoteSession
    table: str

    def seconds(self, text: str) -> float:
        began = time.perf_counter()
        read_and_close(self.client, self.client.execute(self.session, text))
        return time.perf_counter() - began


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.statements.masks", description=__doc__)
    parser.add_argument("--rounds", type=int, default=40, help="(%(default)s)")
    rounds = parser.parse_args().rounds
    with embedded(EAST, guard=guard_jar()) as (stack, _), tempfile.TemporaryDirectory() as folder:
        run(stack, Path(folder), rounds)


def run(stack: Stack, folder: Path, rounds: int) -> None:
    rules, conf, listen = folder / "access.toml", folder / "causeway.toml", free_ports(1)[0]
    rules.write_text(RULES)
    theirs = stack.layout.settings.read_text().splitlines(keepends=True)
    kept = "".join(line for line in theirs if not line.startswith(_THE_STACKS))
    conf.write_text(f"hive.server2.thrift.port = {listen.port}\naccess.rules = '{rules}'\n{kept}")
    with (
        started(conf, "serve"),
        RawClient(listen, "anyone") as anyone,
        RawClient(listen, "restricted") as restricted,
    ):
        plain = Way(anyone, anyone.open(), TABLE)
        ruled = Way(restricted, restricted.open(), TABLE)
        by_hand = Way(anyone, plain.session, _BY_HAND)
        plain.seconds(
            f"CREATE TABLE {TABLE} USING parquet AS SELECT CAST(id AS INT) AS id, CAST(id * 7919 AS"
            f" STRING) AS ssn, concat('r', id % 10) AS region, id / 3 AS amount FROM range({ROWS})"
        )
        for _ in range(SPARK_THREADS):
            plain.seconds("SELECT 1")
        print(f"{'query':32}{'no rules':>11}{'rules':>12}{'in its text':>13}")
        for question in QUESTIONS:
            print(measured(question, (plain, ruled, by_hand), rounds), flush=True)


def measured(question: Question, ways: Sequence[Way], rounds: int) -> str:
    """The line of the question."""
    found = []
    for number in range(WARM + rounds):
        turn = ways if number % 2 else ways[::-1]
        times = {id(way): way.seconds(question.text(number, way.table)) for way in turn}
        if number >= WARM:
            found.append([times[id(way)] * 1e3 for way in ways])
    base = statistics.median(each[0] for each in found)
    more = [statistics.median(each[at] - each[0] for each in found) for at in (1, 2)]
    return f"{question.name:32}{base:8.1f} ms{more[0]:+9.1f} ms{more[1]:+10.1f} ms"


if __name__ == "__main__":
    main()
