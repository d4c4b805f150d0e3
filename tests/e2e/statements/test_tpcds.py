"""The 99 TPC-DS queries have the same rows through Causeway as on a Thrift Server.

A third of them runs, and the others are planned; all of them run with CAUSEWAY_TPCDS=all.

Stores, warehouses and dimensions belong to c1, catalog sales to c2, web sales to c3. c2 has copies
of all tables that are not its own, and c3 has copies of those of c1, so that the inputs decide
where each query runs. ANSI mode, the default of Spark 4, is off: query 90 divides by the number of
rows that it finds, which is 0 in this little data.
"""

import os
from collections.abc import Iterator
from typing import Any

import pytest
from pyhive import hive

from cli.stack.stack import Stack
from conf.names import ClusterName
from tests.e2e.conftest import C1, C2, C3, Tables, rows, server
from tests.e2e.support import tpcds

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.skipif(not tpcds.SHARED.is_dir(), reason="no shared TPC-DS data"),
]

DATABASE = "tpcds"
NULLS = "SET spark.sql.ansi.enabled=false"
QUERIES = dict(tpcds.queries()) if tpcds.SHARED.is_dir() else {}
RUN = [each for each in sorted(QUERIES) if each % 3 == 0 or "CAUSEWAY_TPCDS" in os.environ]
PLANNED = sorted(QUERIES.keys() - set(RUN))


def _home(table: str) -> ClusterName:
    if table.startswith("catalog_"):
        return C2
    return C3 if table.startswith("web_") else C1


@pytest.fixture(scope="module")
def through(stack: Stack) -> Iterator[Any]:
    """A session through the proxy, after the tables were made."""
    proxy = server(stack, None)
    connection = hive.connect(proxy.host, proxy.port)
    cursor = connection.cursor()
    rows(cursor, f"CREATE DATABASE {DATABASE}")
    tables = Tables(stack)
    for table in tpcds.table_names():
        home = _home(table)
        rows(cursor, f"USE CLUSTER {home}", *tpcds.load_statements(table, DATABASE))
        if home != C2:
            tables.copy(f"{DATABASE}.{table}", C2)
        if home == C1:
            tables.copy(f"{DATABASE}.{table}", C3)
    rows(cursor, "USE CLUSTER", f"USE {DATABASE}", NULLS)
    yield cursor
    connection.close()


@pytest.fixture(scope="module")
def direct(stack: Stack, through: Any) -> Iterator[Any]:
    """A session on c2's Thrift Server, which can read everything."""
    endpoint = server(stack, C2)
    connection = hive.connect(endpoint.host, endpoint.port)
    cursor = connection.cursor()
    rows(cursor, f"USE {DATABASE}", NULLS)
    yield cursor
    connection.close()


def test_there_are_99_queries() -> None:
    assert sorted(QUERIES) == list(range(1, 100))


@pytest.mark.parametrize("number", RUN)
def test_the_queries_have_the_same_rows(through: Any, direct: Any, number: int) -> None:
    query = QUERIES[number]
    assert sorted(map(repr, rows(through, query))) == sorted(map(repr, rows(direct, query)))


@pytest.mark.parametrize("number", PLANNED)
def test_spark_plans_the_reads_of_the_decision(through: Any, number: int) -> None:
    """The guard compares the plan with the claim. A refusal fails the test and is in the plan."""
    (plan,) = rows(through, f"EXPLAIN {QUERIES[number]}")
    assert plan[0].startswith("== Physical Plan ==")
    assert "CW3" not in plan[0]


def test_the_inputs_decide_the_cluster(through: Any) -> None:
    """Of the 99, some run in each cluster."""
    where = set()
    for number in (3, 5, 20, 86):
        plan = rows(through, f"EXPLAIN CLUSTER {QUERIES[number]}")
        where |= {name for name in (C1, C2, C3) if name in repr(plan[0])}
    assert where == {C1, C2, C3}
