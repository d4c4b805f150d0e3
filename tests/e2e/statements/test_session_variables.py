"""Session variables and EXECUTE IMMEDIATE through the proxy: on Spark 4 they travel with the
session, and Spark 3.5 refuses them by its own errors.
"""

import pytest
from pyhive.exc import OperationalError

from cli.stack.stack import Stack
from pipeline.spark.jar import SPARK_MAJOR
from tests.e2e.conftest import C1, C2, Connect, Sql, Tables, rows, run_sql

pytestmark = pytest.mark.e2e
on_spark_4 = pytest.mark.skipif(SPARK_MAJOR < 4, reason="pyspark is older than 4")

DB = "session_variables"
SAME = (
    "SELECT x, n, session.x",
    "SELECT * FROM IDENTIFIER(x) ORDER BY id",
    f"SELECT id FROM {DB}.first WHERE id > n ORDER BY id",
    f"SELECT count(*) FROM {DB}.first LIMIT n",
    "EXECUTE IMMEDIATE q",
    f"EXECUTE IMMEDIATE 'SELECT id FROM {DB}.first WHERE id > ? ORDER BY id' USING n",
    "EXECUTE IMMEDIATE 'SELECT id FROM IDENTIFIER(:t) WHERE id = :n' USING x AS t, n",
    "EXECUTE IMMEDIATE 'SELECT :a, :b' USING (1 + n AS a, DATE '2026-01-31' AS b)",
    "SELECT nosuch",
    "SET VAR nosuch = 1",
    "DECLARE n = 1",
    "DROP TEMPORARY VARIABLE nosuch",
    "EXECUTE IMMEDIATE 'SELECT 1' INTO nosuch",
    f"EXECUTE IMMEDIATE 'SELECT id FROM {DB}.first' INTO n",
)
DECLARED = (
    f"DECLARE OR REPLACE x STRING DEFAULT '{DB}.first'",
    "DECLARE OR REPLACE VARIABLE n INT",
    "SET VAR n = 1",
    f"DECLARE OR REPLACE q = 'SELECT max(id) FROM {DB}.first'",
)


@pytest.fixture(scope="module")
def made(stack: Stack) -> None:
    """Table `first` is in c1 alone, `second` in c2 alone, `both` in both."""
    tables = Tables(stack)
    run_sql(stack, f"CREATE DATABASE {DB}")
    for name, cluster in (("first", C1), ("second", C2), ("both", C1)):
        create = f"CREATE TABLE {DB}.{name} (id INT) USING parquet"
        insert = f"INSERT INTO {DB}.{name} VALUES (1), (2), (3)"
        run_sql(stack, f"USE CLUSTER {cluster}", create, insert)
    tables.copy(f"{DB}.both", C2)


def outcome(connection: object, statement: str) -> object:
    """The rows, or the error's text, SQLSTATE and code."""
    try:
        return rows(connection.cursor(), statement)  # type: ignore[attr-defined]
    except OperationalError as error:
        status = error.args[0].status
        return status.errorMessage.partition("\n")[0], status.sqlState, status.errorCode


@pytest.mark.spark4
@on_spark_4
@pytest.mark.usefixtures("made")
def test_variables_have_the_results_of_the_thrift_server(connect: Connect) -> None:
    through, direct = connect(), connect(C1)
    for statement in (*DECLARED, *SAME):
        got, wanted = outcome(through, statement), outcome(direct, statement)
        assert (statement, got) == (statement, wanted)


@pytest.mark.spark4
@on_spark_4
@pytest.mark.usefixtures("made")
def test_variables_travel_to_the_other_cluster(sql: Sql) -> None:
    travelled = (*DECLARED, "SET VAR n = n + 1", f"SELECT * FROM {DB}.first")
    assert sql(*travelled, f"SELECT id, n, x FROM {DB}.second WHERE id = n") == [
        (2, 2, f"{DB}.first")
    ]
    dropped = ("DROP TEMPORARY VARIABLE n", f"SELECT * FROM {DB}.second")
    with pytest.raises(OperationalError, match="UNRESOLVED_COLUMN"):
        sql(*travelled, *dropped, f"SELECT n FROM {DB}.second")
    view = f"EXECUTE IMMEDIATE 'CREATE TEMPORARY VIEW v AS SELECT n AS c FROM {DB}.both'"
    pins = [f"USE CLUSTER {cluster}" for cluster in (C1, C2)]
    assert sql(*travelled, pins[0], view, pins[1], "SELECT DISTINCT c FROM v") == [(2,)]


@pytest.mark.spark4
@on_spark_4
@pytest.mark.usefixtures("made")
def test_the_value_of_a_query_is_in_the_cluster_that_ran_it(connect: Connect) -> None:
    cursor = connect().cursor()
    rows(cursor, "DECLARE OR REPLACE n INT DEFAULT 7", f"SELECT * FROM {DB}.second")
    rows(cursor, f"SET VAR n = (SELECT max(id) FROM {DB}.first)")
    assert rows(cursor, f"SELECT n FROM {DB}.both") == [(3,)] * 3
    with pytest.raises(OperationalError, match=r"\[CW106\] the value of variable n is in c1"):
        rows(cursor, f"SELECT n FROM {DB}.second")
    assert rows(cursor, f"SELECT count(*) FROM {DB}.second") == [(3,)]
    rows(cursor, f"EXECUTE IMMEDIATE 'SELECT min(id) FROM {DB}.first WHERE id > ?' INTO n USING 1")
    assert rows(cursor, "SELECT n") == [(2,)]
    rows(cursor, "DECLARE OR REPLACE n INT DEFAULT 7")
    assert rows(cursor, f"SELECT DISTINCT n FROM {DB}.second") == [(7,)]


@pytest.mark.spark4
@on_spark_4
@pytest.mark.usefixtures("made")
def test_writes_by_name_and_text_go_to_the_primary(sql: Sql) -> None:
    name = f"DECLARE OR REPLACE x STRING DEFAULT '{DB}.second'"
    insert = "EXECUTE IMMEDIATE 'INSERT INTO IDENTIFIER(?) VALUES (?)' USING x, 7"
    sql(name, insert, "INSERT INTO IDENTIFIER(x) VALUES (8)")
    delete = f"EXECUTE IMMEDIATE 'INSERT OVERWRITE {DB}.second SELECT id FROM {DB}.both'"
    assert sql(f"SELECT count(*) FROM {DB}.second WHERE id > 6") == [(2,)]
    sql(delete)
    assert sql(f"SELECT count(*) FROM {DB}.second") == [(3,)]


@pytest.mark.skipif(SPARK_MAJOR >= 4, reason="Spark 4 knows them")
def test_spark_3_5_refuses_variables_by_its_own_errors(connect: Connect) -> None:
    through, direct = connect(), connect(C1)
    for statement in (
        *("DECLARE x = 1", "SET VAR x = 1", "DROP TEMPORARY VARIABLE x", "SELECT x"),
        *("EXECUTE IMMEDIATE 'SELECT 1'", "EXECUTE IMMEDIATE x", "BEGIN SELECT 1; END"),
    ):
        got, wanted = outcome(through, statement), outcome(direct, statement)
        assert (statement, got) == (statement, wanted)
        assert not isinstance(got, list)
