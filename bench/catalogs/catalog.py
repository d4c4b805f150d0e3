"""Metadata calls over a catalog of many tables, by turns through Causeway and directly.

    python -m bench.catalogs.catalog [--tables N] [--rounds N]

The client is a bare socket that fetches pages of 1,000 rows and decodes nothing. Both ways must
return the same number of rows. The first call of each kind fills Causeway's memory, so its time is
separate; so is the time of the first call after a table of the database was created.
"""

import argparse
import statistics
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from bench.proxy import RawClient, fetch
from bench.support.embedded import EAST, embedded
from cli.stack.stack import Stack
from conf.names import TableRef
from conf.topology import Endpoint
from metastore.client.metastore_client import HmsClient
from metastore.client.types import Table
from proxy.protocol.cluster_calls import RemoteSession, metadata_call, operation_call
from proxy.protocol.replies import started_operation
from proxy.protocol.types import Orientation
from thriftcodec.values import LIST, STRING, STRUCT, Struct

DATABASE, COLUMNS, PAGE, MAKERS = "many", 10, 1000, 4
# A struct in field 7, in it a list of texts in field 1.
_FIRST_COLUMN = bytes((STRUCT, 0, 7, LIST, 0, 1, STRING))
_SCHEMA, _TABLE, _COLUMN = 3, 4, 5
_ALL = Struct({_SCHEMA: (STRING, DATABASE.encode()), _TABLE: (STRING, b"%")})
CALLS: dict[str, tuple[str, Struct]] = {
    "GetTables": ("GetTables", _ALL),
    "GetColumns": ("GetColumns", Struct({**_ALL.fields, _COLUMN: (STRING, b"%")})),
    "GetColumns of one table": (
        "GetColumns",
        Struct({_SCHEMA: (STRING, DATABASE.encode()), _TABLE: (STRING, b"t00042")}),
    ),
    "GetTables of one name": ("GetTables", Struct({**_ALL.fields, _TABLE: (STRING, b"t00042")})),
    "GetTables of all": ("GetTables", Struct({_SCHEMA: (STRING, b"%")})),
    "GetSchemas": ("GetSchemas", Struct()),
    "GetTypeInfo": ("GetTypeInfo", Struct()),
    "GetTableTypes": ("GetTableTypes", Struct()),
    "GetFunctions": ("GetFunctions", Struct({_COLUMN - 1: (STRING, b"a%")})),
}


@dataclass(frozen=True, slots=True)
class Way:
    """A session with the Thrift Server, directly or by the proxy."""

    client: RawClient
    session: RemoteSession

    def rows(self, name: str, arguments: Struct) -> int:
        """The rows of the call, all fetched."""
        request = metadata_call(name, self.session, arguments)
        operation = started_operation(self.client.result(name, request))
        total = 0
        while True:
            reply = bytes(self.client.call(fetch(operation, Orientation.NEXT, PAGE)))
            count = _count(reply)
            total += count
            if count < PAGE:
                break
        self.client.call(operation_call("CloseOperation", operation))
        return total


def _count(reply: bytes) -> int:
    """How many rows a FetchResults reply has: its first column is one of texts."""
    at = reply.index(_FIRST_COLUMN) + len(_FIRST_COLUMN)
    return int.from_bytes(reply[at : at + 4], "big")


def make_model(client: RawClient, session: RemoteSession) -> None:
    """The database with the table that `make_tables` repeats."""
    client.execute(session, f"CREATE DATABASE {DATABASE}")
    columns = ", ".join(f"c{number} {kind}" for number, kind in enumerate(_kinds()))
    model = f"CREATE TABLE {DATABASE}.model ({columns}) COMMENT 'one of many' STORED AS PARQUET"
    client.execute(session, model)


def make_tables(metastore: Endpoint, count: int) -> None:
    """So many tables like one that Spark made."""
    with HmsClient((metastore,), 60.0) as client:
        model = client.get_table(TableRef(DATABASE, "model"))

    def make(numbers: range) -> None:
        with HmsClient((metastore,), 60.0) as client:
            for number in numbers:
                table = Table(Struct(model.struct.fields))
                table.set_text(1, f"t{number:05}")
                client.create_table(table)

    with ThreadPoolExecutor(MAKERS) as makers:
        list(makers.map(make, (range(first, count - 1, MAKERS) for first in range(MAKERS))))


def measure(direct: Way, proxied: Way, rounds: int, change: Callable[[], object]) -> None:
    """Prints the table."""
    print(f"{'':26} {'rows':>7} {'direct ms':>10} {'Causeway ms':>12} {'ratio':>7} {'first':>9}")
    for what, (name, arguments) in CALLS.items():
        first, _ = _timed(proxied, name, arguments)
        pairs = []
        for number in range(rounds):
            ways = (proxied, direct) if number % 2 else (direct, proxied)
            found = {id(way): _timed(way, name, arguments) for way in ways}
            (mine, rows), (theirs, their_rows) = found[id(proxied)], found[id(direct)]
            assert rows == their_rows, f"{name}: {rows} rows, directly {their_rows}"
            pairs.append((mine, theirs))
        ratio = statistics.median(mine / theirs for mine, theirs in pairs)
        ours, base = (statistics.median(column) for column in zip(*pairs, strict=True))
        print(
            f"{what:26} {rows:7,} {base:10.1f} {ours:12.1f} {ratio:7.3f} {first:9.1f}", flush=True
        )
    change()
    name, arguments = CALLS["GetColumns"]
    after, _ = _timed(proxied, name, arguments)
    print(f"{'GetColumns after a change':26} {'':7} {'':10} {after:12.1f}", flush=True)


def _timed(way: Way, name: str, arguments: Struct) -> tuple[float, int]:
    began = time.perf_counter()
    rows = way.rows(name, arguments)
    return (time.perf_counter() - began) * 1000, rows


def run(stack: Stack, listen: Endpoint, tables: int, rounds: int) -> None:
    with RawClient(stack.ports.hs2[EAST]) as direct, RawClient(listen) as proxied:
        ways = Way(direct, direct.open()), Way(proxied, proxied.open())
        make_model(direct, ways[0].session)
        make_tables(stack.ports.metastore, tables)
        alter = f"ALTER TABLE {DATABASE}.model ADD COLUMNS (more int)"
        measure(*ways, rounds, lambda: direct.execute(ways[0].session, alter))


def _kinds() -> tuple[str, ...]:
    kinds = ("bigint", "string COMMENT 'a name'", "decimal(12,2)", "int", "timestamp", "double")
    return (*kinds, "array<string>", "varchar(50)", "boolean", "date")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.catalogs.catalog", description=__doc__)
    parser.add_argument("--tables", type=int, default=2000, help="(%(default)s)")
    parser.add_argument("--rounds", type=int, default=5, help="(%(default)s)")
    args = parser.parse_args()
    with embedded(EAST) as (stack, listen):
        run(stack, listen, args.tables, args.rounds)


if __name__ == "__main__":
    main()
