"""The 99 queries of TPC-DS over three clusters with random primaries and no copies: the data that a
query lacks is copied to one cluster, and its rows are those of a cluster with all tables.

By hand, since it takes minutes: `make on-demand` (CAUSEWAY_SEED chooses other primaries,
CAUSEWAY_BANDWIDTH limits the links, as in `100k`).
"""

import os
import statistics
import time
from collections.abc import Iterator
from contextlib import ExitStack
from random import Random
from typing import Any

import pytest
from pyhive import hive

from cli.stack.stack import Stack
from conf.names import TableRef
from metastore.client.metastore_client import HmsClient
from tests.e2e.conftest import C1, C2, C3, rows, server
from tests.e2e.operations.proxy_site import Site
from tests.e2e.support import tpcds

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.skipif(not tpcds.SHARED.is_dir(), reason="no shared TPC-DS data"),
    pytest.mark.skipif(not os.environ.get("CAUSEWAY_ON_DEMAND"), reason="make on-demand"),
]
APART, WHOLE = "on_demand_apart", "on_demand_whole"
QUERIES = dict(tpcds.queries()) if tpcds.SHARED.is_dir() else {}


@pytest.fixture(scope="module")
def through(stack: Stack, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A session in which data is copied on demand, up to a gigabyte for a query."""
    random = Random(int(os.environ.get("CAUSEWAY_SEED", "0")))
    with ExitStack() as exits:
        site = Site(stack, tmp_path_factory.mktemp("site"), exits, forwarded=False)
        bandwidth = os.environ.get("CAUSEWAY_BANDWIDTH", "0")
        site.configure(
            site.endpoints[:1],
            'router.fetch.limit = "1g"',
            f'router.fetch.bandwidth = "{bandwidth}"',
            _third(stack),
        )
        site.start()
        cursor = site.connect().cursor()
        for database in (APART, WHOLE):
            rows(cursor, f"CREATE DATABASE {database}")
        for table in tpcds.table_names():
            home = random.choice((C1, C2, C3))
            rows(cursor, f"USE CLUSTER {home}", *tpcds.load_statements(table, APART))
            rows(cursor, f"USE CLUSTER {C1}", *tpcds.load_statements(table, WHOLE))
        rows(cursor, "USE CLUSTER", f"USE {APART}")
        yield cursor


def _third(stack: Stack) -> str:
    return "\n".join(
        [
            f"[hive.cluster.properties.{C3}]",
            f'FileSystem = "{stack.layout.filesystem(C3)}"',
            f'JobTracker = "{stack.ports.hs2[C3]}"',
            f'MetastoreView = "{stack.ports.views[C3]}"',
        ]
    )


@pytest.fixture(scope="module")
def direct(stack: Stack, through: Any) -> Iterator[Any]:
    """A session on c1's Thrift Server, which has all tables of the other database."""
    endpoint = server(stack, C1)
    connection = hive.connect(endpoint.host, endpoint.port)
    cursor = connection.cursor()
    rows(cursor, f"USE {WHOLE}")
    yield cursor
    connection.close()


def copied_bytes(stack: Stack) -> int:
    """The bytes of all copies."""
    total = 0
    with HmsClient((stack.ports.metastore,)) as client:
        for name in tpcds.table_names():
            table = client.get_table(TableRef(APART, name))
            size = int(table.parameters["totalSize"])
            total += size * sum(key.startswith("causeway.copy.") for key in table.parameters)
    return total


def test_the_data_of_queries_is_copied_on_demand(stack: Stack, through: Any, direct: Any) -> None:
    refused, waits = 0, dict[bool, list[float]]({False: [], True: []})
    rows(through, "SET causeway.fetch.missing = 1GB")
    order = sorted(QUERIES)
    Random(1).shuffle(order)
    for number in order:
        lacks = rows(through, f"EXPLAIN CLUSTER {QUERIES[number]}")[0][0] == "refuse"
        refused, began = refused + lacks, time.monotonic()
        found = sorted(map(repr, rows(through, QUERIES[number])))
        waits[lacks].append(time.monotonic() - began)
        assert found == sorted(map(repr, rows(direct, QUERIES[number]))), number
    sizes = f"{copied_bytes(stack):,} bytes of copies"
    print(f"{len(order)} queries, {refused} were refused when they came, {sizes}")
    for lacks, seconds in waits.items():
        if seconds:
            middle, most = statistics.median(seconds), max(seconds)
            what = "with copies" if lacks else "without"
            print(
                f"{what}: {middle:.1f} s (median), {most:.1f} s (most), {sum(seconds):.0f} s in all"
            )
