"""Measures the cost of a claim: the guard's check of Spark's plans, and building the claim.

    python -m bench.statements.claims [--blocks N]

Blocks of statements with and without a claim go to the same Thrift Server with the guard, directly
and by turns. Differences are medians over pairs of blocks, for one statement: of the client's
waiting time, and of the server's processor time, which is more exact if other work uses the cores.
Building the claim is measured in this process.
"""

import argparse
import os
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter, process_time

from bench.proxy import SPARK_THREADS, RawClient, fetch
from bench.support.embedded import EAST, embedded
from conf.names import TableRef
from conf.partitions import PartitionKey, PartitionSet, PlacedPartitions, Replicas, TableFacts
from conf.settings.settings import Coverage
from dialect.statement import Known, PartitionPredicate, Read
from pipeline.spark.jar import guard_jar
from proxy.protocol.cluster_calls import RemoteSession, execute_call, operation_call
from proxy.protocol.replies import started_operation
from proxy.protocol.types import Orientation
from router.claim import KEY, claim_of, encode

PARTITIONS = 100
BLOCK, WARM = 40, 4  # statements, and blocks that are not counted
DAYS = TableRef("default", "days")
POINT = f"SELECT id FROM {DAYS} WHERE day = 'd050'"


class _Day(PartitionPredicate):
    def select(self, partitions: PartitionSet) -> list[int]:
        return list(partitions.rows_with(0, "d050"))

    def required(self, keys: Sequence[PartitionKey]) -> Sequence[frozenset[str] | None]:
        return (frozenset({"d050"}),)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.statements.claims", description=__doc__)
    parser.add_argument("--blocks", type=int, default=20, help="of each kind (%(default)s)")
    blocks = parser.parse_args().blocks
    with (
        embedded(EAST, guard=guard_jar()) as (stack, _),
        RawClient(stack.ports.hs2[EAST]) as client,
    ):
        session = client.open()
        _fill(client, session)
        for sql, known in (("SELECT 1", Known("select")), (POINT, _point())):
            _measure(Server(client, session, stack.pid(EAST)), sql, known, blocks)


@dataclass(frozen=True, slots=True)
class Server:
    """A session of a Thrift Server, and its process."""

    client: RawClient
    session: RemoteSession
    pid: int

    def block(self, sql: str, overlay: Mapping[str, str]) -> tuple[float, float]:
        """Milliseconds a statement: that a client waits, and of the server's processor time."""
        began, used = perf_counter(), self._used()
        for _ in range(BLOCK):
            _run(self.client, self.session, sql, overlay)
        waited, worked = perf_counter() - began, self._used() - used
        return waited * 1e3 / BLOCK, worked * 1e3 / BLOCK

    def _used(self) -> float:
        fields = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _point() -> Known:
    return Known("select", (Read(DAYS, _Day()),))


def _facts() -> dict[TableRef, TableFacts]:
    replicas = Replicas(EAST, frozenset())
    names = [[f"d{number:03}"] for number in range(PARTITIONS)]
    partitions = PartitionSet([PartitionKey("day", "string")], names)
    placed = PlacedPartitions(partitions, (replicas,), [0] * PARTITIONS)
    return {DAYS: TableFacts(replicas, placed)}


def _fill(client: RawClient, session: RemoteSession) -> None:
    columns = "(id INT, day STRING) USING parquet PARTITIONED BY (day)"
    client.execute(session, f"CREATE TABLE {DAYS} {columns}")
    rows = f"SELECT CAST(id AS INT), format_string('d%03d', id) FROM range({PARTITIONS})"
    client.execute(session, f"INSERT INTO {DAYS} {rows}")
    for _ in range(SPARK_THREADS):
        _run(client, session, "SELECT 1", {})


def _measure(server: Server, sql: str, known: Known, blocks: int) -> None:
    overlay = {KEY: encode(claim_of(known, EAST, _facts(), Coverage.READ))}
    for _ in range(WARM):
        server.block(sql, overlay)
    without, plus = [], []
    for number in range(blocks):
        pair = {claimed: server.block(sql, overlay if claimed else {}) for claimed in _turn(number)}
        without.append(pair[False])
        plus.append([one - other for one, other in zip(pair[True], pair[False], strict=True)])
    waits, works = (_median(each) for each in zip(*without, strict=True))
    more_wait, more_work = (_median(each) for each in zip(*plus, strict=True))
    print(
        f"{sql[:44]:44} {waits:8.3f} ms, with a claim {more_wait:+.3f} ms;"
        f" server's processor {works:.3f} ms, {more_work:+.3f} ms; making {_making(known):.3f} ms",
        flush=True,
    )


def _turn(number: int) -> tuple[bool, bool]:
    return (False, True) if number % 2 else (True, False)


def _making(known: Known) -> float:
    """Milliseconds that it takes to make the claim."""
    facts, rounds = _facts(), 2000
    began = process_time()
    for _ in range(rounds):
        encode(claim_of(known, EAST, facts, Coverage.READ))
    return (process_time() - began) * 1e3 / rounds


def _run(client: RawClient, session: RemoteSession, sql: str, overlay: Mapping[str, str]) -> None:
    request = execute_call(session, sql, overlay, 0, run_async=False)
    operation = started_operation(client.result("ExecuteStatement", request))
    client.result("FetchResults", fetch(operation, Orientation.NEXT, 10))
    client.result("CloseOperation", operation_call("CloseOperation", operation))


def _median(values: Sequence[float]) -> float:
    return statistics.median(values)


if __name__ == "__main__":
    main()
