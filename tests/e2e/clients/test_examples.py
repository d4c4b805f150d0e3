"""The example table of document 001, row by row, on three real clusters through the proxy.

Scenario A: T11, T12 in C1, T21 in C2, T31 in C3. Scenario B: the same, and T11 has a copy in C2.
The rows of a statement contain the environment of the server that ran it.
"""

import pytest
from pyhive.exc import OperationalError

from cli.stack.stack import Stack
from conf.names import ClusterName
from tests.e2e.conftest import C1, C2, C3, Connect, Sql, Tables, rows, run_sql

pytestmark = pytest.mark.e2e

WHERE = "java_method('java.lang.System', 'getenv', 'CAUSEWAY_CLUSTER')"
HOMES = {"t11": C1, "t12": C1, "t21": C2, "t31": C3}
FAILS = None


@pytest.fixture(scope="module", params=["A", "B"])
def scenario(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def example(stack: Stack, scenario: str) -> str:
    """A database with the scenario's tables, one row each, for all tests of the scenario."""
    db = f"example_{scenario.lower()}"
    run_sql(stack, f"CREATE DATABASE {db}")
    for table, home in HOMES.items():
        run_sql(
            stack,
            f"USE CLUSTER {home}",
            f"CREATE TABLE {db}.{table} (id INT, ran STRING) USING parquet",
            f"INSERT INTO {db}.{table} VALUES (1, '{table}')",
        )
    if scenario == "B":
        Tables(stack).copy(f"{db}.t11", C2)
    return db


def _ran(sql: Sql, example: str, query: str) -> str:
    [(cluster,)] = sql(f"USE {example}", query)
    return str(cluster)


CASES: list[tuple[str, dict[str, ClusterName | None]]] = [
    (f"SELECT DISTINCT {WHERE} FROM t11", {"A": C1, "B": C1}),
    (f"SELECT DISTINCT {WHERE} FROM t11 JOIN t12 USING (id)", {"A": C1, "B": C1}),
    (f"SELECT DISTINCT {WHERE} FROM t21", {"A": C2, "B": C2}),
    (f"SELECT DISTINCT {WHERE} FROM t11 JOIN t21 USING (id)", {"A": FAILS, "B": C2}),
    (f"SELECT DISTINCT {WHERE} FROM t21 JOIN t11 USING (id)", {"A": FAILS, "B": C2}),
    (f"SELECT DISTINCT {WHERE} FROM t11 JOIN t31 USING (id)", {"B": FAILS}),
]


@pytest.mark.parametrize(("query", "expected"), CASES, ids=[query for query, _ in CASES])
def test_reading(
    sql: Sql, example: str, scenario: str, query: str, expected: dict[str, ClusterName | None]
) -> None:
    if scenario not in expected:
        pytest.skip("the document has no such row in this scenario")
    cluster = expected[scenario]
    if cluster is FAILS:
        with pytest.raises(OperationalError, match="CW104"):
            _ran(sql, example, query)
    else:
        assert _ran(sql, example, query) == cluster


def test_a_new_table_is_made_in_the_cluster_of_its_input(
    sql: Sql, stack: Stack, tables: Tables, example: str
) -> None:
    sql(f"USE {example}", f"CREATE TABLE t13 USING parquet AS SELECT id, {WHERE} AS ran FROM t11")
    assert sql(f"SELECT id, ran FROM {example}.t13") == [(1, C1)]
    assert tables.location(f"{example}.t13").is_relative_to(stack.layout.warehouse(C1))


def test_an_existing_output_decides_the_cluster(
    sql: Sql, stack: Stack, tables: Tables, example: str, scenario: str
) -> None:
    insert = f"INSERT INTO {example}.t21 SELECT 2, {WHERE} FROM {example}.t11"
    if scenario == "A":
        with pytest.raises(OperationalError, match="CW104"):
            sql(insert)
        assert sql(f"SELECT id, ran FROM {example}.t21") == [(1, "t21")]  # nothing came
        return
    sql(insert)
    assert sql(f"SELECT id, ran FROM {example}.t21 ORDER BY id") == [(1, "t21"), (2, C2)]
    assert tables.location(f"{example}.t21").is_relative_to(stack.layout.warehouse(C2))


def test_use_cluster_runs_there_or_fails(
    connect: Connect, example: str, scenario: str, tables: Tables
) -> None:
    cursor = connect().cursor()
    query = f"SELECT {WHERE} FROM {example}.t11"
    assert rows(cursor, f"USE CLUSTER {C1}", query) == [(C1,)]
    if scenario == "B":
        assert rows(cursor, f"USE CLUSTER {C2}", query) == [(C2,)]
    else:
        with pytest.raises(OperationalError, match="CW105"):
            rows(cursor, f"USE CLUSTER {C2}", query)
    with pytest.raises(OperationalError, match="CW105"):
        rows(cursor, f"USE CLUSTER {C3}", query)
    # The session goes on, and is still pinned (DC-U4).
    with pytest.raises(OperationalError, match="CW105"):
        rows(cursor, query)
    with pytest.raises(OperationalError, match="CW10"):
        rows(cursor, f"USE CLUSTER {C2}", f"INSERT INTO {example}.t11 VALUES (3, 'no')")
    assert rows(cursor, "USE CLUSTER", query) == [(C1,)]


def test_a_copy_has_its_own_bytes(sql: Sql, example: str, scenario: str, tables: Tables) -> None:
    if scenario == "A":
        pytest.skip("no copies in this scenario")
    pinned = sql(f"USE CLUSTER {C2}", f"SELECT input_file_name() FROM {example}.t11")
    assert "/copies/" in pinned[0][0]
    assert "/copies/" not in sql(f"SELECT input_file_name() FROM {example}.t11")[0][0]


def test_outputs_of_several_primaries_always_fail(
    connect: Connect, example: str, scenario: str
) -> None:
    insert = (
        f"FROM {example}.t11 INSERT INTO {example}.t12 SELECT id, ran"
        f" INSERT INTO {example}.t21 SELECT id, ran"
    )
    cursor = connect().cursor()
    for pin in ("USE CLUSTER", f"USE CLUSTER {C1}", f"USE CLUSTER {C2}"):
        with pytest.raises(OperationalError, match="CW102"):
            rows(cursor, pin, insert)


def test_statements_without_tables_run_in_the_default_cluster(sql: Sql, example: str) -> None:
    assert sql(f"SELECT {WHERE}") == [(C1,)]
    assert sql(f"USE CLUSTER {C3}", f"SELECT {WHERE}") == [(C3,)]


def test_use_of_an_unknown_cluster_changes_nothing(connect: Connect, example: str) -> None:
    cursor = connect().cursor()
    rows(cursor, f"USE CLUSTER {C2}")
    with pytest.raises(OperationalError, match="CW206"):
        rows(cursor, "USE CLUSTER nowhere")
    assert rows(cursor, f"SELECT {WHERE}") == [(C2,)]


def test_a_pin_holds_for_its_session_alone(connect: Connect) -> None:
    pinned, other = connect().cursor(), connect().cursor()
    rows(pinned, f"USE CLUSTER {C2}")
    assert rows(other, f"SELECT {WHERE}") == [(C1,)]
    assert rows(pinned, f"SELECT {WHERE}") == [(C2,)]


def test_views_ctes_and_subqueries_count_as_inputs(sql: Sql, example: str, scenario: str) -> None:
    sql(f"CREATE VIEW {example}.v21 AS SELECT * FROM {example}.t21")
    queries = [
        f"SELECT DISTINCT {WHERE} FROM {example}.v21",
        f"WITH w AS (SELECT * FROM {example}.t21) SELECT DISTINCT {WHERE} FROM w",
        f"SELECT DISTINCT {WHERE} FROM (SELECT * FROM {example}.t21) s",
        f"SELECT DISTINCT {WHERE} FROM (SELECT * FROM {example}.t21"
        f" UNION ALL SELECT * FROM {example}.t21) u",
    ]
    assert [sql(query) for query in queries] == [[(C2,)]] * len(queries)


def test_a_write_makes_the_copy_stale(sql: Sql, example: str, scenario: str) -> None:
    """The last one: the other tests need the copy fresh."""
    if scenario == "A":
        pytest.skip("no copies in this scenario")
    assert sql(f"SELECT count(*) FROM {example}.t11 JOIN {example}.t21 USING (id)") == [(1,)]
    sql(f"INSERT INTO {example}.t11 VALUES (2, 'new')")
    with pytest.raises(OperationalError, match="CW104"):
        sql(f"SELECT count(*) FROM {example}.t11 JOIN {example}.t21 USING (id)")
    assert sql(f"SELECT count(*) FROM {example}.t11") == [(2,)]
