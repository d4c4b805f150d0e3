"""What a claim costs a statement: the guard's look at Spark's plans, and the claim's making.

    python -m bench.claims [--rounds N]

Both ways go to the same Thrift Server with the guard, directly and in turn; one sends a claim.
Differences are medians over the pairs. The claim's making is measured beside it, in this process.
"""

import argparse
import statistics
from collections.abc import Sequence
from time import perf_counter

from bench.embedded import EAST, embedded
from bench.proxy import SPARK_THREADS, RawClient, fetch
from cli.stack.stack import guard_jar
from conf.names import TableRef
from conf.partitions import Holders, PartitionKey, PartitionSet, PlacedPartitions, TableFacts
from conf.settings import Coverage
from dialect.statement import Known, PartitionPredicate, Read
from proxy.wire.replies import started_operation
from proxy.wire.requests import RemoteSession, execute_call, operation_call
from proxy.wire.types import Orientation
from router.claim import KEY, claim_of, encoded

PARTITIONS = 100
DAYS = TableRef("default", "days")
POINT = f"SELECT id FROM {DAYS} WHERE day = 'd050'"


class _Day(PartitionPredicate):
    def select(self, partitions: PartitionSet) -> list[int]:
        return list(partitions.rows_with(0, "d050"))


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.claims", description=__doc__)
    parser.add_argument("--rounds", type=int, default=300, help="(%(default)s)")
    rounds = parser.parse_args().rounds
    with (
        embedded(EAST, guard=guard_jar()) as (stack, _),
        RawClient(stack.ports.hs2[EAST]) as client,
    ):
        session = client.open()
        _fill(client, session)
        for sql, known in (("SELECT 1", Known("select")), (POINT, _point())):
            _pairs(client, session, sql, known, rounds)


def _point() -> Known:
    return Known("select", (Read(DAYS, _Day()),))


def _facts() -> dict[TableRef, TableFacts]:
    holders = Holders(EAST, frozenset())
    names = [[f"d{number:03}"] for number in range(PARTITIONS)]
    partitions = PartitionSet([PartitionKey("day", "string")], names)
    placed = PlacedPartitions(partitions, (holders,), [0] * PARTITIONS)
    return {DAYS: TableFacts(holders, placed)}


def _fill(client: RawClient, session: RemoteSession) -> None:
    columns = "(id INT, day STRING) USING parquet PARTITIONED BY (day)"
    client.execute(session, f"CREATE TABLE {DAYS} {columns}")
    rows = f"SELECT CAST(id AS INT), format_string('d%03d', id) FROM range({PARTITIONS})"
    client.execute(session, f"INSERT INTO {DAYS} {rows}")
    for _ in range(SPARK_THREADS):
        _run(client, session, "SELECT 1", {})


def _pairs(client: RawClient, session: RemoteSession, sql: str, known: Known, rounds: int) -> None:
    facts, making = _facts(), []
    times: dict[bool, list[float]] = {False: [], True: []}
    for number in range(rounds + 20):
        began = perf_counter()
        overlay = {KEY: encoded(claim_of(known, EAST, facts, Coverage.READ))}
        making.append(perf_counter() - began)
        for claimed in (number % 2 == 0, number % 2 == 1):
            began = perf_counter()
            _run(client, session, sql, overlay if claimed else {})
            if number >= 20:  # the first are compiled
                times[claimed].append(perf_counter() - began)
    plus = [one - other for one, other in zip(times[True], times[False], strict=True)]
    print(
        f"{sql[:40]:40} without {_ms(times[False])}, with a claim {_ms(times[True])},"
        f" median of the differences {_ms(plus)}, making the claim {_ms(making)}",
        flush=True,
    )


def _run(client: RawClient, session: RemoteSession, sql: str, overlay: dict[str, str]) -> None:
    request = execute_call(session, sql, overlay, 0, run_async=False)
    operation = started_operation(client.result("ExecuteStatement", request))
    client.result("FetchResults", fetch(operation, Orientation.NEXT, 10))
    client.result("CloseOperation", operation_call("CloseOperation", operation))


def _ms(seconds: Sequence[float]) -> str:
    return f"{statistics.median(seconds) * 1e3:.3f} ms"


if __name__ == "__main__":
    main()
