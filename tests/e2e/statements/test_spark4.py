"""Statements of Spark 4 have the same rows, errors and protocol versions through the proxy as
directly. Those that cannot be analysed with certainty are refused by name. `make test SPARK=4` runs
this.
"""

import re
import time
from contextlib import closing
from typing import Any

import pytest
from pyhive import hive
from pyhive.exc import OperationalError
from TCLIService import ttypes

from cli.stack.stack import Stack
from conf.catalog.tables import ViewText
from metastore.catalog import functions_client
from metastore.catalog.sql_functions import sql_function_texts
from metastore.client.metastore_client import HmsClient
from pipeline.spark.jar import SPARK_MAJOR
from tests.e2e.conftest import C1, C2, Connect, Sql, rows, run_sql, server
from tests.e2e.support.claims import refused_directly

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.spark4,
    pytest.mark.skipif(SPARK_MAJOR < 4, reason="pyspark is older than 4: make test SPARK=4"),
]

DB = "spark_four"
SAME = (
    "SELECT split(version(), '[.]')[0]",
    f"SELECT id, name FROM {DB}.t |> WHERE id > 1 |> ORDER BY id",
    "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r WHERE n < 4) SELECT * FROM r",
    "WITH RECURSIVE r(n, name) AS (SELECT id, name FROM spark_four.t WHERE id = 1 UNION ALL"
    " SELECT t.id, t.name FROM r JOIN spark_four.t t ON t.id = r.n + 1) SELECT * FROM r ORDER BY n",
    f"SELECT count(*) FROM {DB}.t WHERE name COLLATE UTF8_LCASE = 'TWO'",
    "SELECT variant_get(parse_json('{\"a\": 5}'), '$.a', 'int')",
    "SELECT try_divide(1, 0), TIMESTAMP '2026-03-29 02:30:00 Europe/Berlin', 1.0 / 3",
    "SELECT TIMESTAMP_NTZ '2026-01-31 12:00:00', DATE '2026-01-31', INTERVAL 1 DAY",
    # ANSI mode is on: these are errors, with their class and SQLSTATE
    "SELECT 1 / 0",
    "SELECT CAST('x' AS INT)",
    "SELECT 2147483647 + 1",
    "SELECT array(1, 2)[5]",
    f"SELECT no_such_column FROM {DB}.t",
    "SELECT no_such_function(1)",
    "SELEC 1",
)
REFUSED = {
    "EXECUTE IMMEDIATE 'SELECT ' || version()": "EXECUTE IMMEDIATE of a text that is not known",
    f"EXPLAIN EXECUTE IMMEDIATE 'DROP TABLE {DB}.t'": "EXPLAIN of EXECUTE IMMEDIATE",
    f"BEGIN CREATE VIEW {DB}.v AS SELECT 1; END": "CREATE of a view in a script",
    f"FROM {DB}.t |> SELECT id": "select",
    f"SELECT IDENTIFIER('{DB}.' || lower('TOTAL'))()": "the name of a function is computed",
}


@pytest.fixture(scope="module", autouse=True)
def made(stack: Stack) -> None:
    run_sql(
        stack,
        f"CREATE DATABASE {DB}",
        f"CREATE TABLE {DB}.t (id INT, name STRING) USING parquet",
        f"INSERT INTO {DB}.t VALUES (1, 'one'), (2, 'two'), (3, 'three')",
        f"CREATE TABLE {DB}.provoked_t USING parquet AS SELECT 7 AS id",
        f"CREATE VIEW {DB}.seen AS SELECT id FROM {DB}.t",
    )
    functions = (
        "area(w INT, h INT) RETURNS INT RETURN w * h",
        "total() RETURNS BIGINT RETURN SELECT max(id) FROM spark_four.provoked_t",
        "outer_one() RETURNS BIGINT RETURN spark_four.total() + 1",
        "numbers() RETURNS TABLE (id INT) RETURN SELECT id FROM spark_four.provoked_t",
    )
    run_sql(stack, *(f"CREATE FUNCTION {DB}.{each}" for each in functions), cluster=C1)
    time.sleep(functions_client.MAX_AGE)  # for the list of functions that the proxy has read


def outcome(connection: hive.Connection, statement: str) -> object:
    """The rows with their types, or the error's text, SQLSTATE and code."""
    cursor = connection.cursor()
    try:
        found = rows(cursor, statement)
    except OperationalError as error:
        status = error.args[0].status
        text = re.sub(r"#\d+", "#", status.errorMessage)  # Spark numbers columns
        return text, status.sqlState, status.errorCode
    return found, cursor.description


@pytest.mark.parametrize("statement", SAME)
def test_statements_have_the_results_of_the_thrift_server(connect: Connect, statement: str) -> None:
    through, direct = connect(), connect(C1)
    for each in (through, direct):
        rows(each.cursor(), "SET TIME ZONE 'Asia/Tokyo'")
    assert outcome(through, statement) == outcome(direct, statement)


@pytest.mark.parametrize(
    "statement",
    [
        "SHOW DATABASES",
        "SHOW NAMESPACES LIKE 'sp*|def*'",
        f"SHOW TABLES IN {DB}",
        f"SHOW TABLES FROM {DB} LIKE 'T*'",
        f"SHOW TABLES IN {DB} 'nothing'",
        f"SHOW VIEWS IN {DB}",
        f"DESCRIBE EXTENDED {DB}.t id",
    ],
)
def test_lists_are_those_of_the_thrift_server(connect: Connect, statement: str) -> None:
    through, direct = connect(), connect(C1)
    assert outcome(through, statement) == outcome(direct, statement)


@pytest.mark.parametrize("view", [f"seen FROM {DB}", "seen_of_all FROM global_temp"])
def test_columns_are_those_of_the_view_that_is_named_apart(connect: Connect, view: str) -> None:
    """Spark's command then has the view without its database, which is not the current one."""
    through, direct = connect(), connect(C1)
    rows(through.cursor(), "CREATE OR REPLACE GLOBAL TEMPORARY VIEW seen_of_all AS SELECT 1 AS id")
    assert rows(through.cursor(), f"SHOW COLUMNS IN {view}") == [("id",)]
    assert outcome(through, f"SHOW COLUMNS IN {view}") == outcome(direct, f"SHOW COLUMNS IN {view}")


def test_sessions_have_the_protocol_version_of_the_thrift_server(stack: Stack) -> None:
    def versions(cluster: Any) -> list[int]:
        endpoint = server(stack, cluster)
        found = []
        for version in range(11):
            connection = hive.connect(endpoint.host, endpoint.port)
            request = ttypes.TOpenSessionReq(client_protocol=version)
            reply = connection._client.OpenSession(request)
            found.append(reply.serverProtocolVersion)
            connection._client.CloseSession(ttypes.TCloseSessionReq(reply.sessionHandle))
            connection.close()
        return found

    assert versions(None) == versions(C1)


@pytest.mark.parametrize("statement", REFUSED)
def test_statements_that_are_not_analysed_are_refused_by_name(
    connect: Connect, statement: str
) -> None:
    with pytest.raises(OperationalError, match=r"\[CW101\]") as error:
        rows(connect().cursor(), statement)
    assert REFUSED[statement] in str(error.value)


@pytest.mark.parametrize(
    "call",
    [
        f"SELECT {DB}.total()",
        f"SELECT {DB}.`Outer_One`() FROM {DB}.t",
        f"SELECT * FROM {DB}.numbers()",
        f"SELECT IDENTIFIER('{DB}.total')()",
        f"EXECUTE IMMEDIATE 'SELECT {DB}.total()'",
        f"EXPLAIN SELECT {DB}.total()",
    ],
)
def test_reads_of_a_function_count_as_reads_of_its_caller(sql: Sql, call: str) -> None:
    assert len(sql(call)) == len(sql(call, cluster=C1))
    if not call.startswith("EXPLAIN"):
        assert sql(call) == sql(call, cluster=C1)
        ((decision, cluster, *_, reads, _, _),) = sql(f"EXPLAIN CLUSTER {call}")
        assert (decision, cluster) == ("run", C1)
        assert f"{DB}.provoked_t" in reads


def test_functions_are_made_and_used_through_the_proxy(connect: Connect, sql: Sql) -> None:
    cursor = connect().cursor()
    rows(cursor, f"USE CLUSTER {C2}", f"CREATE TABLE {DB}.second USING parquet AS SELECT 9 AS id")
    rows(cursor, "USE CLUSTER", f"USE {DB}")
    create, body = "FUNCTION latest() RETURNS INT RETURN", f"SELECT max(id) FROM {DB}"
    rows(cursor, f"CREATE {create} {body}.second")
    assert rows(cursor, "SELECT latest()") == [(9,)]
    rows(cursor, f"CREATE OR REPLACE {create} {body}.t")
    assert rows(cursor, f"SELECT {DB}.latest()") == [(3,)]
    rows(cursor, "DROP FUNCTION latest")
    two = "CREATE TEMPORARY FUNCTION two(a INT) RETURNS INT RETURN a * 2"
    rows(
        cursor,
        two,
        f"CREATE TEMPORARY FUNCTION all_of() RETURNS TABLE (id INT) RETURN SELECT id FROM {DB}.t",
    )
    assert rows(cursor, "SELECT two(id) FROM second") == [(18,)]
    assert rows(cursor, "SELECT two(max(id)) FROM all_of()") == [(6,)]
    assert rows(cursor, "DROP TEMPORARY FUNCTION two", "SELECT count(*) FROM second") == [(1,)]


def test_a_function_without_tables_runs(sql: Sql) -> None:
    assert sql(f"SELECT {DB}.area(2, 3)") == [(6,)]
    assert sql(f"USE {DB}", "SELECT area(id, 2) FROM t ORDER BY id") == [(2,), (4,), (6,)]


def test_the_metastore_has_the_functions_texts(stack: Stack) -> None:
    with HmsClient((stack.ports.metastore,)) as client:
        texts = sql_function_texts(client.get_all_functions())
    assert texts[f"{DB}.area"] == ViewText("SELECT w * h", db="")
    assert texts[f"{DB}.total"] == ViewText("SELECT max(id) FROM spark_four.provoked_t", db="")


@pytest.mark.provokes("CW361")
@pytest.mark.parametrize(
    "call", [f"SELECT {DB}.total()", f"SELECT {DB}.outer_one()", f"SELECT * FROM {DB}.numbers()"]
)
def test_the_guard_refuses_reads_of_a_function(stack: Stack, call: str) -> None:
    if stack.spec.guard is None:
        pytest.skip("no guard: nothing checks claims")
    message = refused_directly(server(stack, C1), call)
    assert f"[CW361] Spark reads table {DB}.provoked_t" in message


@pytest.mark.parametrize("name", ["enabled", "dualRunWithLegacy"])
def test_the_guard_refuses_an_analyzer_without_its_rules(stack: Stack, name: str) -> None:
    if stack.spec.guard is None:
        pytest.skip("no guard: nothing checks claims")
    there = server(stack, C1)
    with closing(hive.connect(there.host, there.port)) as connection:
        cursor = connection.cursor()
        rows(cursor, f"SET spark.sql.analyzer.singlePassResolver.{name} = true")
        with pytest.raises(OperationalError, match=rf"CW365.*{name}"):
            rows(cursor, f"SELECT * FROM {DB}.t")
