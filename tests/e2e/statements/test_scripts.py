"""Scripts of Spark 4, `BEGIN .. END`, have the same rows, states and errors through the proxy as
directly. The guard compares each statement in them with the script's claim.
"""

from typing import Any

import pytest
from pyhive.exc import OperationalError

from cli.stack.stack import Stack
from pipeline.spark.jar import SPARK_MAJOR
from tests.e2e.conftest import C1, C2, Connect, Sql, Tables, rows, run_sql, server
from tests.e2e.statements.test_spark4 import outcome
from tests.e2e.support.claims import refused_directly

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.spark4,
    pytest.mark.skipif(SPARK_MAJOR < 4, reason="pyspark is older than 4: make test SPARK=4"),
]

DB = "scripts"
LOOP = "BEGIN DECLARE n INT DEFAULT 0; l: LOOP SET n = n + 1; IF n > 3 THEN LEAVE l; END IF;"
SAME = (
    "BEGIN SELECT 1; SELECT id, day FROM scripts.t ORDER BY id; END",
    "BEGIN END",
    "BEGIN DECLARE n BIGINT DEFAULT 7; SET n = n + (SELECT max(id) FROM scripts.t); SELECT n; END;",
    "BEGIN DECLARE n, m INT; SET (n, m) = (SELECT min(id), max(id) FROM scripts.t);"
    " SELECT n, m; END",
    f"{LOOP} END LOOP l; SELECT n; END",
    "BEGIN DECLARE s STRING DEFAULT ''; FOR r AS SELECT day FROM scripts.t ORDER BY id DO"
    " SET s = s || r.day; END FOR; SELECT s; END",
    "BEGIN IF EXISTS (SELECT 1 FROM scripts.t WHERE id = 9) THEN SELECT 'yes'; ELSE"
    " SELECT 'no', count(*) FROM scripts.t; END IF; END",
    "BEGIN CASE (SELECT count(*) FROM scripts.t) WHEN 3 THEN SELECT 'three'; ELSE SELECT 'other';"
    " END CASE; END",
    "BEGIN DECLARE day STRING DEFAULT 'tue'; SELECT id, scripts.t.day FROM scripts.t"
    " WHERE t.day = 'mon'; END",
    "BEGIN DECLARE EXIT HANDLER FOR DIVIDE_BY_ZERO BEGIN SELECT 'caught'; END;"
    " SELECT 1; SELECT 1 / 0; SELECT 2; END",
    "BEGIN DECLARE CONTINUE HANDLER FOR SQLEXCEPTION BEGIN END; SELECT 5; SELECT * FROM no; END",
    "BEGIN DECLARE n INT; EXECUTE IMMEDIATE 'SELECT max(id) FROM scripts.t' INTO n; SELECT n; END",
    "BEGIN DECLARE c CURSOR FOR SELECT id FROM scripts.t ORDER BY id; DECLARE n INT; OPEN c;"
    " FETCH c INTO n; FETCH c INTO n; CLOSE c; SELECT n; END",
    # errors
    "BEGIN SELECT 1; SELECT 1 / 0; END",
    "BEGIN SELECT * FROM scripts.no_such_table; END",
    "BEGIN SELECT no_such_column FROM scripts.t; END",
    "BEGIN DECLARE n INT; SET n = 'x'; END",
    "BEGIN SELECT 1 END",
)
SETTINGS = ("cursorEnabled", "continueHandlerEnabled")


@pytest.fixture(scope="module", autouse=True)
def made(stack: Stack) -> None:
    days = "(1, 'mon'), (2, 'tue'), (3, 'wed')"
    run_sql(
        stack,
        f"CREATE DATABASE {DB}",
        f"CREATE TABLE {DB}.t (id INT, day STRING) USING parquet PARTITIONED BY (day)",
        f"INSERT INTO {DB}.t VALUES {days}",
        f"CREATE TABLE {DB}.copied USING parquet AS SELECT 1 AS id",
        f"CREATE TABLE {DB}.provoked USING parquet AS SELECT 1 AS id",
    )
    run_sql(stack, f"CREATE TABLE {DB}.second USING parquet AS SELECT 9 AS id", cluster=C2)
    Tables(stack).copy(f"{DB}.copied", C2)


def allowed(cursor: Any) -> Any:
    rows(cursor, *(f"SET spark.sql.scripting.{each} = true" for each in SETTINGS))
    return cursor


@pytest.mark.parametrize("script", SAME)
def test_scripts_have_the_results_of_the_thrift_server(connect: Connect, script: str) -> None:
    through, direct = connect(), connect(C1)
    for each in (through, direct):
        allowed(each.cursor())
    assert outcome(through, script) == outcome(direct, script)


def test_a_script_runs_where_its_tables_are_written(sql: Sql) -> None:
    script = (
        f"BEGIN DECLARE n INT; SET n = (SELECT max(id) FROM {DB}.copied);"
        f" IF n = 1 THEN INSERT INTO {DB}.second SELECT id + 1 FROM {DB}.copied; END IF;"
        f" SELECT id FROM {DB}.second ORDER BY id; END"
    )
    ((decision, cluster, *_, reads, writes, _),) = sql(f"EXPLAIN CLUSTER {script}")
    assert (decision, cluster, writes) == ("run", C2, f"{DB}.second")
    assert reads == f"{DB}.copied, {DB}.second"
    assert sql(script) == [(2,), (9,)]


def test_tables_that_a_script_makes_belong_to_its_cluster(stack: Stack, sql: Sql) -> None:
    table = f"{DB}.made"
    script = (
        f"BEGIN DROP TABLE IF EXISTS {table}; CREATE TABLE {table} (id INT, k STRING) USING parquet"
        f" PARTITIONED BY (k); INSERT INTO {table} SELECT id, 'a' FROM {DB}.second;"
        f" FOR r AS SELECT id FROM {table} DO INSERT INTO {table} VALUES (r.id + 1, 'b'); END FOR;"
        f" SELECT count(*) FROM {table}; END"
    )
    for _ in range(2):  # the second time the table exists
        ((count,),) = sql(f"USE CLUSTER {C2}", script)
        assert count == 2 * len(sql(f"SELECT * FROM {DB}.second"))
        assert sql(f"EXPLAIN CLUSTER SELECT * FROM {table}")[0][1] == C2
        Tables(stack).copy(table, C1)
        assert len(sql(f"SELECT * FROM {table}")) == count
        rows_in_c1 = sql(f"USE CLUSTER {C1}", f"SELECT count(*) FROM {table}")
        assert rows_in_c1 == [(count,)]


def test_writes_of_a_script_that_failed_stay(stack: Stack, sql: Sql) -> None:
    table = f"{DB}.failed"
    sql(f"CREATE TABLE {table} USING parquet AS SELECT 1 AS id")
    Tables(stack).copy(table, C2)
    script = (
        f"BEGIN INSERT INTO {table} VALUES (2); CREATE TABLE {DB}.half (a INT); SELECT 1 / 0; END"
    )
    with pytest.raises(OperationalError, match="DIVIDE_BY_ZERO"):
        sql(script)
    assert sql(f"SELECT count(*) FROM {table}") == [(2,)]
    assert {row[2]: row[3] for row in sql(f"SHOW COPIES OF {table}")}[C2] == "stale"
    assert sql(f"EXPLAIN CLUSTER INSERT INTO {DB}.half VALUES (1)")[0][1] == C1


@pytest.mark.parametrize(
    ("script", "why"),
    [
        (f"BEGIN USE {DB}; SELECT * FROM t; END", "USE in a script"),
        ("BEGIN DECLARE t STRING; SELECT * FROM IDENTIFIER(t); END", "no constant"),
        ("BEGIN DECLARE q STRING; EXECUTE IMMEDIATE q; END", "a text that is not known"),
        (f"BEGIN CREATE VIEW {DB}.v AS SELECT 1 AS a; END", "CREATE of a view"),
        ("BEGIN SET spark.sql.shuffle.partitions = 1; END", "no local variable"),
    ],
)
def test_what_is_not_certain_is_refused_by_name(sql: Sql, script: str, why: str) -> None:
    with pytest.raises(OperationalError, match=rf"\[CW101\].*{why}"):
        sql(script)


def test_writes_of_several_primaries_are_refused(sql: Sql) -> None:
    script = f"BEGIN INSERT INTO {DB}.t VALUES (4, 'x'); INSERT INTO {DB}.second VALUES (1); END"
    with pytest.raises(OperationalError, match=r"\[CW102\]"):
        sql(script)
    assert sql(f"SELECT count(*) FROM {DB}.t") == [(3,)]


@pytest.mark.parametrize("kind", ["CONTINUE", "EXIT"])
@pytest.mark.parametrize(
    ("statement", "message"),
    [
        pytest.param(
            f"SELECT * FROM {DB}.provoked",
            f"[CW361] Spark reads table {DB}.provoked",
            marks=pytest.mark.provokes("CW361"),
        ),
        pytest.param(
            f"INSERT INTO {DB}.provoked VALUES (2)", "[CW364]", marks=pytest.mark.provokes("CW364")
        ),
    ],
)
def test_no_handler_catches_a_refusal_of_the_guard(
    stack: Stack, sql: Sql, kind: str, statement: str, message: str
) -> None:
    if stack.spec.guard is None:
        pytest.skip("no guard: nothing checks claims")
    handler = f"DECLARE {kind} HANDLER FOR SQLEXCEPTION SELECT 'caught'"
    script = f"BEGIN {handler}; SELECT id FROM {DB}.t; {statement}; SELECT 'after'; END"
    settings = [f"SET spark.sql.scripting.{each} = true" for each in SETTINGS]
    claim = {"v": 5, "script": True, "reads": {f"{DB}.t": {}}}
    assert message in refused_directly(server(stack, C1), script, settings, **claim)
    assert sql(f"SELECT count(*) FROM {DB}.provoked") == [(1,)]
