"""Compares the view with the metastore itself: the same calls by turns, medians of both.

    python -m bench.catalogs.metastore [HOST:PORT] [--partitions N] [--rounds N]

The client sends prepared bytes and only looks for the end of the reply, so that no decoding is
measured. There are two clusters; a third of the partitions has a copy in the client's cluster.
"""

import argparse
import json
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from uuid import uuid4

from bench.support.filled import COLUMNS, EAST, FIRST_DAY, WEST, WHOLE, filled, table_of
from conf.names import TableRef
from conf.placement import Copy, Placement, write_placement
from conf.settings.settings import Writers
from conf.topology import Cluster, Endpoint, Topology
from metastore.client.metastore_client import HmsClient
from metastore.client.types import Database, Partition, Table
from metastore.view.locations import ClusterView
from metastore.view.outbound.locations_out import ReplyStream
from thriftcodec.values import I16, STRING, Struct
from thriftcodec.writer import call_bytes

_ROOT = Path(tempfile.gettempdir(), "causeway-bench")
TOPOLOGY = {name: Cluster(name, f"{_ROOT.as_uri()}/{name}", ()) for name in (EAST, WEST)}
_CHUNK = 1 << 20


@dataclass(frozen=True, slots=True)
class PairedTimes:
    """One line of the table. Times are medians in milliseconds; `ratio` is the median of the
    ratios of paired calls."""

    what: str
    direct: float
    view: float
    ratio: float


def run(
    metastore: Endpoint, partitions: int = 10_000, rounds: int = 9, many: TableRef | None = None
) -> list[PairedTimes]:
    """Measures with a running metastore, and removes what it creates there.

    `many` is a table of `filled` with many partitions; without it one is created.
    """
    database = f"bench_{uuid4().hex[:8]}"
    with HmsClient((metastore,), timeout=1800.0) as client:
        client.create_database(Database.make(database, f"{_ROOT.as_uri()}/{database}"))
        try:
            client.create_table(_table(TableRef(database, "plain"), keys=False))
            ref = many or _many_partitions(client, database, partitions)
            condition = f'ds = "{FIRST_DAY}"' if many else 'ds < "00100"'
            with (
                views(metastore, 0.0) as plain,
                views(metastore, 60.0) as cached,
                views(metastore, 60.0, Writers.VIEWS) as trusting,
            ):
                return [
                    *_reads(
                        metastore,
                        plain[WEST],
                        cached[WEST],
                        trusting[WEST],
                        (ref, condition),
                        database,
                        rounds,
                    ),
                    _adds(metastore, plain[EAST], client, database, max(2, rounds // 3)),
                ]
        finally:
            client.drop_database(database, delete_data=True, cascade=True)
            shutil.rmtree(_ROOT, ignore_errors=True)


def _reads(
    metastore: Endpoint,
    view: Endpoint,
    cached: Endpoint,
    trusting: Endpoint,
    many: tuple[TableRef, str],
    database: str,
    rounds: int,
) -> Iterator[PairedTimes]:
    """`many` is a table and a condition that 100 of its partitions satisfy."""
    ref, hundred = many
    named = {1: (STRING, ref.db), 2: (STRING, ref.name)}
    unpartitioned = {1: (STRING, database), 2: (STRING, "plain")}
    get_table = call_bytes("get_table", 1, Struct(unpartitioned))
    every = call_bytes("get_partitions", 1, Struct(named | {3: (I16, -1)}))
    condition = Struct(named | {3: (STRING, hundred), 4: (I16, -1)})
    some = call_bytes("get_partitions_by_filter", 1, condition)
    yield _paired("get_table", metastore, view, get_table, rounds * 20)
    yield _paired("get_table, cached", metastore, cached, get_table, rounds * 20)
    for where, how in ((view, ""), (trusting, ", writers = views")):
        yield _paired(f"get_partitions{how}", metastore, where, every, rounds)
        yield _paired(f"get_partitions_by_filter{how}", metastore, where, some, rounds * 5)


def _paired(
    what: str, direct: Endpoint, view: Endpoint, request: bytes, rounds: int
) -> PairedTimes:
    with _connected(direct) as one, _connected(view) as other:
        sizes = _size(one, request), _size(other, request)
        _timed(one, request, sizes[0])
        _timed(other, request, sizes[1])
        pairs = [
            (_timed(one, request, sizes[0]), _timed(other, request, sizes[1]))
            for _ in range(rounds)
        ]
    return _row(what, pairs)


def _adds(
    metastore: Endpoint, view: Endpoint, client: HmsClient, database: str, rounds: int
) -> PairedTimes:
    """Adds 1,000 new partitions at a time, into two tables by turns."""
    tables = []
    for name in ("added_directly", "added_by_view"):
        table = _table(TableRef(database, name))
        client.create_table(table)
        tables.append(table)
    pairs = []
    with HmsClient((view,), timeout=1800.0) as other:
        for turn in range(rounds):
            times = []
            for target, table in zip((client, other), tables, strict=True):
                new = [_partition(table, turn * 1000 + number, False) for number in range(1000)]
                began = perf_counter()
                target.add_partitions(table.ref, new)
                times.append(perf_counter() - began)
            pairs.append((times[0], times[1]))
    return _row("add_partitions of 1,000", pairs)


def _row(what: str, pairs: list[tuple[float, float]]) -> PairedTimes:
    direct, view = (statistics.median(times) * 1000 for times in zip(*pairs, strict=True))
    return PairedTimes(what, direct, view, statistics.median(b / a for a, b in pairs))


def _size(connection: socket.socket, request: bytes) -> int:
    """The length of the reply, which is the same every time."""
    stream = ReplyStream(None, ClusterView(EAST, Topology()))
    connection.sendall(request)
    size = 0
    while not stream.done:
        chunk = connection.recv(_CHUNK)
        size += len(chunk)
        stream.feed(chunk)
    return size


def _timed(connection: socket.socket, request: bytes, size: int) -> float:
    """Seconds until the reply's last byte."""
    began = perf_counter()
    connection.sendall(request)
    while size:
        size -= len(connection.recv(min(size, _CHUNK)))
    return perf_counter() - began


@contextmanager
def _connected(endpoint: Endpoint) -> Iterator[socket.socket]:
    with closing(socket.create_connection((endpoint.host, endpoint.port))) as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        yield connection


def _many_partitions(client: HmsClient, database: str, count: int) -> TableRef:
    table = _table(TableRef(database, "many"))
    client.create_table(table)
    client.add_partitions(
        table.ref, (_partition(table, number, number % 3 == 0) for number in range(count))
    )
    return table.ref


def _table(ref: TableRef, keys: bool = True) -> Table:
    return Table.make(
        ref,
        COLUMNS,
        location=f"{_ROOT.as_uri()}/east/{ref.db}/{ref.name}",
        partition_keys=[("ds", "string")] if keys else [],
        parameters=write_placement(Placement(EAST)),
        kind="EXTERNAL_TABLE",
    )


def _partition(table: Table, number: int, copied: bool) -> Partition:
    value = f"{number:05}"
    location = f"{table.location}/ds={value}"
    copies = (Copy(WEST, location.replace("east", "west"), "0/0"),) if copied else ()
    facts = write_placement(Placement(EAST, copies=copies)) if copied else {}
    return Partition.make(table, [value], location, {"numRows": "7", "totalSize": "99", **facts})


@contextmanager
def views(
    metastore: Endpoint, cache: float, writers: Writers = Writers.ANY
) -> Iterator[dict[str, Endpoint]]:
    """Runs `causeway metastore serve` as a process; yields the addresses by cluster."""
    clusters = {
        name: {
            "FileSystem": each.filesystem,
            "JobTracker": "127.0.0.1:1",
            "MetastoreView": "127.0.0.1:1",  # --ports says where
        }
        for name, each in TOPOLOGY.items()
    }
    settings = {
        "hive.metastore.uris": f"thrift://{metastore}",
        "hive.default.cluster.name": EAST,
        "snapshot.writers": writers.value,
        "hive.cluster.properties": json.dumps(clusters),
    }
    with tempfile.TemporaryDirectory() as folder:
        conf = Path(folder, "causeway.toml")
        lines = (f"{json.dumps(key)} = {json.dumps(value)}" for key, value in settings.items())
        conf.write_text("\n".join(lines))
        words = [sys.executable, "-m", "cli.main", "metastore", "serve", "--conf", str(conf)]
        words += ["--ports", "east=0,west=0", "--cache", str(cache)]
        process = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
        assert process.stdout is not None
        try:
            lines_read = (process.stdout.readline().split() for _ in TOPOLOGY)
            yield {name: Endpoint.parse(address) for _, name, address in lines_read}
        finally:
            process.terminate()
            process.wait()
            process.stdout.close()


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.catalogs.metastore", description=__doc__)
    parser.add_argument("metastore", nargs="?", type=Endpoint.parse, help="a running one")
    parser.add_argument("--partitions", type=int, default=10_000, help="(%(default)s)")
    parser.add_argument("--rounds", type=int, default=9, help="(%(default)s)")
    args = parser.parse_args()
    if args.metastore:
        _print(run(args.metastore, args.partitions, args.rounds))
        return
    partitions = min(args.partitions, WHOLE)
    with tempfile.TemporaryDirectory() as folder, filled(Path(folder), [partitions]) as metastore:
        _print(run(metastore, partitions, args.rounds, table_of(partitions)))


def _print(rows: list[PairedTimes]) -> None:
    print(f"{'call':<38} {'direct ms':>10} {'view ms':>10} {'ratio':>6}")
    for row in rows:
        print(f"{row.what:<38} {row.direct:>10.2f} {row.view:>10.2f} {row.ratio:>6.2f}")


if __name__ == "__main__":
    main()
