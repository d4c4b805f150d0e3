"""Crawls of a catalog table by table, by turns through Causeway and directly.

    python -m bench.catalogs.crawl [--tables N] [--rounds N] [--all-tables N]

First three crawls: that of `dbt docs generate` (SHOW TABLE EXTENDED, and DESCRIBE EXTENDED of each
table), that of a BI tool (SHOW TABLES, and DESCRIBE of each table), and that of a catalog tool over
`--all-tables` further tables (SHOW TABLES, and DESCRIBE EXTENDED, SHOW CREATE TABLE and SHOW
TBLPROPERTIES of each table). Then each statement alone. The client is a bare socket that sends
statements as PyHive does, fetches all rows and decodes nothing. The replies of both ways are
compared byte by byte. Each crawl is Causeway's first one: its tables are not in memory.
"""

import argparse
import statistics
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from bench.catalogs.catalog import make_tables
from bench.proxy import RawClient, fetch
from bench.support.embedded import EAST, embedded
from cli.stack.stack import Stack
from conf.topology import Endpoint
from pipeline.spark.jar import guard_jar
from proxy.protocol.cluster_calls import RemoteSession, operation_call
from proxy.protocol.types import Orientation

DATABASE, PAGE = "many", 10_000
STATEMENTS = (
    "SHOW DATABASES",
    f"SHOW TABLES IN {DATABASE}",
    f"SHOW TABLES IN {DATABASE} LIKE 't0000*'",
    f"SHOW VIEWS IN {DATABASE}",
    f"SHOW COLUMNS IN {DATABASE}.model",
    f"DESCRIBE {DATABASE}.model",
    f"DESCRIBE EXTENDED {DATABASE}.model",
    f"SHOW TBLPROPERTIES {DATABASE}.model",
    f"SHOW CREATE TABLE {DATABASE}.model",
    f"DESCRIBE {DATABASE}.model b",
    f"DESCRIBE DATABASE {DATABASE}",
    f"SHOW PARTITIONS {DATABASE}.parts",
    f"SHOW PARTITIONS {DATABASE}.parts PARTITION (p=1)",
    f"SHOW TABLE EXTENDED IN {DATABASE} LIKE 'model'",
)
FORMS = ("DESCRIBE EXTENDED", "SHOW CREATE TABLE", "SHOW TBLPROPERTIES")
_TABLES = (
    f"CREATE DATABASE {DATABASE}",
    f"CREATE TABLE {DATABASE}.model (a bigint, b string COMMENT 'a name', c decimal(12,2), d int,"
    " e timestamp, f double, g array<string>, h varchar(50), i boolean, j date)"
    " COMMENT 'one of many' STORED AS PARQUET",
    f"CREATE TABLE {DATABASE}.parts (a int) PARTITIONED BY (p int) STORED AS PARQUET",
    f"ALTER TABLE {DATABASE}.parts ADD PARTITION (p=1) PARTITION (p=2)",
)


@dataclass(frozen=True, slots=True)
class Way:
    """A session with the Thrift Server, directly or by the proxy."""

    client: RawClient
    session: RemoteSession

    def ask(self, sql: str) -> tuple[bytes, bytes]:
        """The description and the rows of its result."""
        operation = self.client.execute(self.session, sql)
        described = bytes(self.client.call(operation_call("GetResultSetMetadata", operation)))
        rows = bytes(self.client.call(fetch(operation, Orientation.NEXT, PAGE)))
        self.client.call(operation_call("CloseOperation", operation))
        return described, rows

    def seconds(self, statements: Iterable[str]) -> tuple[float, list[tuple[bytes, bytes]]]:
        began = time.perf_counter()
        replies = [self.ask(each) for each in statements]
        return time.perf_counter() - began, replies


def measure_statements(direct: Way, proxied: Way, rounds: int) -> None:
    """Prints the medians of each statement."""
    print(f"{'statement':46} {'direct ms':>10} {'Causeway ms':>12} {'ratio':>7}")
    for sql in STATEMENTS:
        pairs = []
        for number in range(rounds):
            ways = (proxied, direct) if number % 2 else (direct, proxied)
            found = {id(way): way.seconds((sql,)) for way in ways}
            (mine, replies), (theirs, expected) = found[id(proxied)], found[id(direct)]
            _check(sql, replies, expected)
            pairs.append((mine, theirs))
        ratio = statistics.median(mine / theirs for mine, theirs in pairs)
        ours, base = (statistics.median(column) * 1000 for column in zip(*pairs, strict=True))
        print(f"{sql:46} {base:10.1f} {ours:12.1f} {ratio:7.3f}", flush=True)


def measure_crawl(name: str, direct: Way, proxied: Way, statements: Sequence[str]) -> None:
    ours, replies = proxied.seconds(statements)
    base, expected = direct.seconds(statements)
    _check(name, replies, expected)
    print(
        f"{name:38} {len(statements):6,} statements: direct {base:7.1f} s, Causeway {ours:6.1f} s,"
        f" ratio {ours / base:.3f}",
        flush=True,
    )


def _check(what: str, replies: Sequence[object], expected: Sequence[object]) -> None:
    assert replies == expected, f"{what}: other replies than directly"


def run(stack: Stack, listen: Endpoint, tables: int, all_tables: int, rounds: int) -> None:
    with RawClient(stack.ports.hs2[EAST]) as direct, RawClient(listen) as proxied:
        ways = Way(direct, direct.open()), Way(proxied, proxied.open())
        for statement in _TABLES:
            ways[0].ask(statement)
        make_tables(stack.ports.metastore, all_tables + tables)
        made = [f"{DATABASE}.t{number:05}" for number in range(all_tables + tables - 1)]
        each_of, names = made[:all_tables], made[all_tables:]
        half = len(names) // 2
        show = f"SHOW TABLE EXTENDED IN {DATABASE} LIKE '*'"
        docs = [show, *(f"DESCRIBE EXTENDED {each}" for each in names[:half])]
        tool = [f"SHOW TABLES IN {DATABASE}", *(f"DESCRIBE {each}" for each in names[half:])]
        catalog = [f"SHOW TABLES IN {DATABASE}"]
        for name in each_of:
            catalog += [f"{form} {name}" for form in FORMS]
        ways[1].ask("SHOW DATABASES")  # which opens its session in the cluster
        measure_crawl("as dbt docs generate", *ways, docs)
        measure_crawl("as a BI tool", *ways, tool)
        measure_crawl("as a catalog tool", *ways, catalog)
        measure_statements(*ways, rounds)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.catalogs.crawl", description=__doc__)
    parser.add_argument("--tables", type=int, default=200, help="(%(default)s)")
    parser.add_argument("--all-tables", type=int, default=200, help="(%(default)s)")
    parser.add_argument("--rounds", type=int, default=15, help="(%(default)s)")
    args = parser.parse_args()
    with embedded(EAST, guard=guard_jar()) as (stack, listen):
        run(stack, listen, args.tables, args.all_tables, args.rounds)


if __name__ == "__main__":
    main()
