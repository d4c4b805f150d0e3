"""Statements through the proxy, whose claims the guard compares with Spark's plans: errors of Spark
itself, cached views, unused parts of a statement.
"""

import pytest
from pyhive.exc import OperationalError
from TCLIService import ttypes

from cli.stack.stack import Stack
from tests.e2e.conftest import C1, C2, Connect, Sql, Tables
from tests.e2e.support.claims import days_statements, execute_claimed
from tests.e2e.support.refusals import REFUSALS

pytestmark = [pytest.mark.e2e, pytest.mark.spark4]


@pytest.fixture(autouse=True)
def guarded(stack: Stack) -> None:
    if stack.spec.guard is None:
        pytest.skip("no guard: nothing checks claims")


@pytest.mark.provokes("CW362")
def test_a_query_of_which_spark_reads_more_partitions_runs_where_all_are(
    sql: Sql, tables: Tables, db: str
) -> None:
    """No row of p fulfils the condition, so the analysis names none of its partitions, and c2 seems
    to have all that is read. Spark reads two of them."""
    p, q = f"{db}.provoked_p", f"{db}.provoked_q"
    for table, cluster in ((p, C1), (q, C2)):
        sql(
            f"USE CLUSTER {cluster}",
            f"CREATE TABLE {table} (k INT, ds STRING) USING parquet PARTITIONED BY (ds)",
            f"INSERT INTO {table} VALUES (1, 'a'), (2, 'b'), (3, 'c')",
        )
    query = (
        f"SELECT s.k, q.k FROM (SELECT o.k, t.ds FROM {p} o JOIN {p} t ON o.ds = t.ds"
        f" WHERE o.ds <> 'c') s RIGHT JOIN {q} q ON s.ds = q.ds"
        " AND (q.ds IS NULL AND (q.ds NOT LIKE 'c%' AND s.ds >= 'a'))"
    )
    with pytest.raises(OperationalError, match=rf"CW104.*{p}"):
        sql(query)
    (refused,) = REFUSALS.take()
    assert (refused["cluster"], refused["code"]) == (C2, "CW362")
    for day in "abc":
        tables.copy(q, C1, f"ds={day}")
    assert sorted(sql(query)) == [(None, 1), (None, 2), (None, 3)]


def test_clients_cannot_claim_through_the_proxy(connect: Connect) -> None:
    response = execute_claimed(connect(), "SELECT 1", mode="probe")
    assert response.status.statusCode == ttypes.TStatusCode.SUCCESS_STATUS


def test_syntax_errors_are_sparks_own(connect: Connect) -> None:
    cursors = [connect(cluster).cursor() for cluster in (None, C1)]
    for statement in (
        "SELECT 1\n  FROM t t2 t3",
        "FROBNICATE TABLE x",
        "SELECT 'a",
        "INSERT INTO t VALUES (1",
        "CREATE TABLE t (a FROB(1,2)",
    ):
        seen = []
        for cursor in cursors:
            with pytest.raises(OperationalError) as caught:
                cursor.execute(statement)
            status = caught.value.args[0].status
            text = status.errorMessage.split("\n\tat ")[0]
            seen.append((text, status.sqlState, status.errorCode))
        assert seen[0] == seen[1]
        assert seen[0][1] == "42601"


def test_what_parses_and_is_not_understood_is_refused_by_name(sql: Sql) -> None:
    with pytest.raises(OperationalError, match="CW101"):
        sql("SELECT * FROM cat.d.t")


def test_an_error_of_analysis_is_sparks_own_where_nothing_is_read(connect: Connect) -> None:
    cursors = [connect(cluster).cursor() for cluster in (C1, None)]
    for statement in (
        "CREATE TABLE cat.d.t (x INT) USING csv",
        "CREATE VIEW cat.d.t AS VALUES (1)",
        "DROP TABLE cat.d.t",
        "COMMENT ON TABLE cat.d.x.t IS 'x'",
    ):
        seen = []
        for cursor in cursors:
            with pytest.raises(OperationalError, match="REQUIRES_SINGLE_PART_NAMESPACE") as caught:
                cursor.execute(statement)
            seen.append(caught.value.args[0].status.sqlState)
        assert seen == ["42K05", "42K05"], statement


def test_a_temporary_view_of_no_files_reads_nothing(sql: Sql) -> None:
    made = "CREATE OR REPLACE TEMPORARY VIEW no_files (x INT) USING json"
    assert sql(made, "SELECT * FROM no_files") == []


@pytest.mark.parametrize("change", ["DROP VIEW {0}.v", "CREATE OR REPLACE VIEW {0}.v AS {1}"])
def test_a_changed_view_is_no_longer_cached(sql: Sql, db: str, change: str) -> None:
    query = f"SELECT id + 1 AS next FROM {db}.t"
    cached = [
        f"CREATE TABLE {db}.t USING parquet AS SELECT 1 AS id",
        f"CREATE VIEW {db}.v AS {query}",
        f"CACHE TABLE {db}.v",
    ]
    plan = sql(*cached, f"EXPLAIN {query}")[0][0]
    assert "InMemoryRelation" in plan
    assert "InMemoryRelation" not in sql(change.format(db, query), f"EXPLAIN {query}")[0][0]


def test_a_cached_view_is_counted(sql: Sql, db: str) -> None:
    sql(f"CREATE TABLE {db}.t USING parquet AS SELECT 1 AS id")
    sql(f"CREATE VIEW {db}.v AS SELECT * FROM {db}.t", f"CACHE TABLE {db}.v")
    assert sql(f"ANALYZE TABLE {db}.v COMPUTE STATISTICS") == []


def test_a_write_has_cached_queries_of_other_sessions_planned_again(sql: Sql, db: str) -> None:
    sql(*(f"CREATE TABLE {db}.{name} USING parquet AS SELECT 1 AS id" for name in "ab"))
    joined = f"SELECT a.id FROM {db}.a JOIN {db}.b ON a.id = b.id"
    sql(f"CREATE VIEW {db}.v AS {joined}", f"CACHE TABLE {db}.v")
    for name in "ab":
        sql(f"INSERT INTO {db}.{name} VALUES (2)")
    assert sorted(sql(f"SELECT * FROM {db}.v")) == [(1,), (2,)]
    assert sorted(sql(f"SELECT * FROM {db}.a")) == [(1,), (2,)]
    sql(f"DROP TABLE {db}.b")
    assert sql(f"INSERT INTO {db}.a VALUES (3)") == []


def test_a_query_of_with_that_is_not_used_is_claimed(sql: Sql, db: str) -> None:
    sql(*(f"CREATE TABLE {db}.{name} USING parquet AS SELECT 1 AS id" for name in "ab"))
    sql(f"CREATE VIEW {db}.v AS SELECT * FROM {db}.a")
    for unused in ("SELECT * FROM {}.a", "SELECT * FROM {}.v", "SELECT 1 WHERE 1 IN (TABLE {}.a)"):
        assert sql(f"WITH s AS ({unused.format(db)}) SELECT * FROM {db}.b") == [(1,)]


def test_create_if_not_exists_of_an_existing_table_writes_nothing(sql: Sql, db: str) -> None:
    sql(*(f"CREATE TABLE {db}.{name} USING parquet AS SELECT 1 AS id" for name in "ab"))
    sql(f"CREATE TABLE IF NOT EXISTS {db}.a USING parquet AS SELECT * FROM {db}.b")
    sql(f"CREATE TABLE IF NOT EXISTS {db}.a LIKE {db}.b")
    sql(f"CREATE TABLE IF NOT EXISTS {db}.a (id INT) USING parquet")
    assert sql(f"SELECT * FROM {db}.a") == [(1,)]


def test_delete_from_a_table_of_files_has_sparks_own_error(sql: Sql, db: str) -> None:
    sql(*days_statements(f"{db}.t", "parquet"))
    with pytest.raises(OperationalError, match=r"UNSUPPORTED_FEATURE\.TABLE_OPERATION"):
        sql(f"DELETE FROM {db}.t WHERE day = 'mon'")


def test_show_clusters_says_that_claims_are_checked(sql: Sql) -> None:
    checked = {row[0]: row[5] for row in sql("USE CLUSTER c1", "SELECT 1", "SHOW CLUSTERS")}
    assert checked["c1"] == "true"
    assert "false" not in checked.values()
