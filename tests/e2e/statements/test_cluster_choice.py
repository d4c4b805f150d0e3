"""Queries that either of two real clusters may run: `router.choice = cost` spreads them, by default
the first primary runs all.
"""

import json
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest
from pyhive import hive

from cli.stack.stack import Stack
from tests.e2e.conftest import C1, C2, Sql, Tables, rows
from tests.e2e.support.fronts import Front, serving

pytestmark = pytest.mark.e2e
CLIENTS, ROUNDS = 6, 2


@pytest.fixture
def query(db: str, sql: Sql, tables: Tables) -> str:
    """A query of a table of c1 and one of c2, each with a copy in the other cluster."""
    for name, home, other in (("a", C1, C2), ("b", C2, C1)):
        table = f"{db}.{name}"
        sql(
            f"USE CLUSTER {home}",
            f"CREATE TABLE {table} USING parquet AS SELECT id FROM range(800)",
        )
        tables.copy(table, other)
    return f"SELECT max(sqrt(a.id + b.id)) FROM {db}.a JOIN {db}.b ON a.id != b.id + {{}}"


def run_all(front: Front, query: str, rounds: int) -> None:
    """Runs the query with different literals by some clients at the same time."""

    def run(number: int) -> None:
        with closing(hive.connect(front.binary.host, front.binary.port)) as connection:
            for _ in range(rounds):
                assert len(rows(connection.cursor(), query.format(number))) == 1

    with ThreadPoolExecutor(CLIENTS) as threads:
        list(threads.map(run, range(CLIENTS)))


def decisions(audit: Path) -> list[tuple[str, str]]:
    """The rule and the cluster of each query."""
    lines = [json.loads(line) for line in audit.read_text().splitlines()]
    queries = [each for each in lines if str(each.get("text", "")).startswith("SELECT max(")]
    assert {each["state"] for each in queries} == {"FINISHED"}
    return [(each["rule"], each["cluster"]) for each in queries]


def test_queries_of_many_clients_go_to_both_clusters_by_cost(
    stack: Stack, query: str, tmp_path: Path
) -> None:
    audit = tmp_path / "audit.log"
    more = f"proxy.audit.file = '{audit}'\nrouter.choice = 'cost'\n"
    with serving(stack, tmp_path / "cost.toml", more) as front:
        run_all(front, query, ROUNDS)
        with closing(hive.connect(front.binary.host, front.binary.port)) as connection:
            (explained,) = rows(connection.cursor(), f"EXPLAIN CLUSTER {query.format(0)}")
        assert "has all inputs, and is expected to take" in str(explained)
    found = decisions(audit)
    assert len(found) == CLIENTS * ROUNDS
    assert {cluster for _, cluster in found} == {C1, C2}
    assert {rule for rule, _ in found} == {"cost"}


def test_by_default_the_first_primary_runs_them_all(
    stack: Stack, query: str, tmp_path: Path
) -> None:
    audit = tmp_path / "audit.log"
    with serving(stack, tmp_path / "first.toml", f"proxy.audit.file = '{audit}'\n") as front:
        run_all(front, query, 1)
    assert decisions(audit) == [("inputs", C1)] * CLIENTS
