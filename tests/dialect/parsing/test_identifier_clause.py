"""IDENTIFIER('db.t'): a name that is written as an expression."""

import pytest

from dialect.analyze import analyze
from dialect.statement import Known, Namespace
from tests.dialect.catalogs import TestCatalog, written

NAMESPACE = Namespace("d", {"v": "e.a"})


@pytest.mark.parametrize(
    ("sql", "answer"),
    [
        ("SELECT * FROM IDENTIFIER('e.a')", "select; reads e.a"),
        ("SELECT * FROM identifier('e' || '.' || 'a') x JOIN b", "select; reads e.a, d.b"),
        ("SELECT * FROM IDENTIFIER(concat('`e`', '.`a`'))", "select; reads e.a"),
        ("SELECT * FROM IDENTIFIER('${v}')", "select; reads e.a"),
        ("SELECT * FROM IDENTIFIER(('e.' 'a'))", "select; reads e.a"),
        ("SELECT * FROM ıdentıfıer(lower('E.A'))", "select; reads e.a"),
        ("INSERT INTO IDENTIFIER('e.a') SELECT * FROM b", "insert; reads d.b; insert e.a"),
        ("CREATE TABLE IDENTIFIER('e.n') (x INT)", "create_table; new create e.n"),
        ("DROP TABLE IDENTIFIER('e.a')", "drop; drop e.a"),
        ("ALTER TABLE IDENTIFIER('e.a') ADD COLUMN z INT", "alter; alter e.a"),
        ("TRUNCATE TABLE IDENTIFIER('e.a')", "truncate; insert e.a"),
        ("ANALYZE TABLE IDENTIFIER('e.a') COMPUTE STATISTICS", "analyze; reads e.a; alter e.a"),
        ("MSCK REPAIR TABLE IDENTIFIER('e.a')", "msck; alter e.a"),
        ("COMMENT ON TABLE IDENTIFIER('e.a') IS 'c'", "alter; alter e.a"),
        ("DESCRIBE IDENTIFIER('e.a')", "metadata_read; reads e.a"),
        ("USE IDENTIFIER('e')", "use; effect UseDatabase(database='e')"),
        ("CREATE TEMP VIEW IDENTIFIER('w') AS SELECT * FROM b", "create_view; defines d.b"),
        (
            "INSERT INTO identifier (x, y) SELECT * FROM b",
            "insert; reads d.b; new insert d.identifier",
        ),
        ("SELECT * FROM `identifier` WHERE x = 1", "select; reads d.identifier"),
    ],
)
def test_evaluates_a_constant_name(sql: str, answer: str) -> None:
    assert written(analyze(sql, NAMESPACE, TestCatalog())).startswith(answer)


@pytest.mark.parametrize(
    "name",
    [
        *("x", "'e.' || x", "current_database() || '.a'", "replace('a','b')"),
        *("'e' || 07", "lower('É.a')", "NULL", ":name"),
    ],
)
def test_refuses_a_name_that_is_not_certain(name: str) -> None:
    for sql in (f"SELECT * FROM IDENTIFIER({name})", f"DROP TABLE IDENTIFIER({name})"):
        assert written(analyze(sql, NAMESPACE, TestCatalog())).startswith("unknown"), sql


@pytest.mark.parametrize("name", ["'e a'", "'e.'", "''", "1"])
def test_a_text_that_is_no_name_is_refused_by_spark(name: str) -> None:
    for sql in (f"SELECT * FROM a WHERE IDENTIFIER({name}) = 1", f"DROP TABLE IDENTIFIER({name})"):
        assert written(analyze(sql, NAMESPACE, TestCatalog())) == "refused", sql
    for sql in (
        f"SELECT * FROM a LATERAL VIEW IDENTIFIER({name}) t",
        # In a command Spark passes over a query of WITH that nothing refers to.
        f"INSERT INTO a WITH c AS (SELECT 1 FROM IDENTIFIER({name})) VALUES (1)",
    ):
        assert written(analyze(sql, NAMESPACE, TestCatalog())).startswith("unknown"), sql
    called = analyze(f"SELECT d.IDENTIFIER({name})", NAMESPACE, TestCatalog())
    assert isinstance(called, Known)
    assert called.functions == {"identifier"}


@pytest.mark.parametrize(
    ("sql", "answer"),
    [
        ("VALUES (IDENTIFIER(CAST(NULL AS STRING)))", "select"),
        ("SELECT IDENTIFIER(substr('x', 1, rand() + 1)) FROM b", "select; reads d.b"),
        ("SELECT * FROM q WHERE IDENTIFIER(x || 'y') = 1 AND ds = '2020-01-01'", "select; reads"),
        ("WITH a AS (SELECT 1 AS a) SELECT IDENTIFIER('a') FROM a", "select"),
    ],
)
def test_a_column_may_have_any_name(sql: str, answer: str) -> None:
    assert written(analyze(sql, NAMESPACE, TestCatalog())).startswith(answer)


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT * FROM (SELECT IDENTIFIER(lower(x)) FROM q) WHERE ds = '2020-01-01'",
        "SELECT * FROM q WHERE IDENTIFIER('q').ds = '2020-01-01'",
        "SELECT * FROM (SELECT IDENTIFIER('q').ds FROM q) WHERE ds = '2020-01-01'",
    ],
)
def test_a_column_of_any_name_lets_no_condition_pass(sql: str) -> None:
    assert written(analyze(sql, NAMESPACE, TestCatalog())) == "select; reads d.q@*"


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT * FROM s.IDENTIFIER('a')",
        "SELECT * FROM IDENTIFIER('d').IDENTIFIER('a')",
        "SELECT * FROM IDENTIFIER('d').a",
        "SELECT IDENTIFIER((SELECT max(x) FROM e.a))",
        "SELECT IDENTIFIER(f(1))(x) FROM a",
    ],
)
def test_a_part_of_a_name_is_no_clause(sql: str) -> None:
    assert written(analyze(sql, NAMESPACE, TestCatalog())).startswith("unknown")


def test_refuses_a_name_that_with_may_define() -> None:
    sql = "WITH a AS (SELECT 1) SELECT * FROM IDENTIFIER('a')"
    assert written(analyze(sql, NAMESPACE, TestCatalog())).startswith("unknown")


@pytest.mark.parametrize(
    ("sql", "reads"),
    [
        ("SELECT * FROM (a JOIN b ON a.x IN (SELECT w FROM e.a))", "d.a, d.b, e.a"),
        ("FROM a JOIN b ON a.x IN (SELECT w FROM e.a) SELECT *", "d.a, d.b, e.a"),
        ("SELECT first(x, (SELECT w FROM e.a)) FROM b", "d.b, e.a"),
        ("SELECT * FROM a, LATERAL explode((SELECT w FROM e.a))", "d.a, e.a"),
        ("SELECT * FROM stack(1, TABLE(e.a))", "e.a"),
        ("SELECT * FROM values v EXCEPT SELECT * FROM a", "d.values, d.a"),
        ("WITH c AS (VALUES (1)) SELECT first(y, (SELECT w FROM e.a)) FROM b", "d.b, e.a"),
        ("SELECT first(y, (SELECT w FROM e.a)) FROM b UNION VALUES (1)", "d.b, e.a"),
        ("SELECT first(y, (SELECT w FROM e.a)) FROM b, (SELECT * FROM VALUES (1))", "d.b, e.a"),
        ("SELECT FROM FROM a", "d.a"),
        ("SELECT * FROM values TABLESAMPLE (10 PERCENT)", "d.values"),
        ("SELECT * FROM values WHERE (1 = 1)", "d.values"),
        ("SELECT FROM (SELECT x FROM b) a", "d.b"),
        ("SELECT 1 FROM VALUES (1) v, (b)", "d.b"),
        ("SELECT 1 FROM VALUES float(-1), float(-2) v(x), (b)", "d.b"),
    ],
)
def test_tables_that_the_parser_drops_are_read(sql: str, reads: str) -> None:
    found = written(analyze(sql, NAMESPACE, TestCatalog()))
    assert set(found.partition("; reads ")[2].split(", ")) == set(reads.split(", "))


@pytest.mark.parametrize(
    "sql",
    [
        "CREATE TABLE n USING parquet (TABLE e.a) INTERSECT SELECT * FROM b",
        "UPDATE a SET x = first(y, (SELECT w FROM e.a))",
        "INSERT INTO a FROM b, e.a AS select LEFT JOIN a ON true SELECT x",
        "SELECT * FROM VALUES (1), x AS v, e.a",
        "SELECT * FROM (select FOR VERSION AS OF 1)",
        "SELECT 1 FROM VALUES 1 v, (b)",
        "SELECT 1 FROM VALUES f(1) AS v, (b)",
        "SELECT 1 FROM VALUES (1), current_date `v`, (b)",
        "SELECT CAST(NULL AS VOID) FROM VALUES 1 + current_date v(x), (b)",
        "SELECT x.select FROM a",
        "INSERT INTO table SELECT (x) FROM b",
        "SELECT DISTINCT FROM a",
    ],
)
def test_ambiguous_queries_are_refused(sql: str) -> None:
    assert written(analyze(sql, NAMESPACE, TestCatalog())).startswith("unknown")


def test_a_list_of_columns_may_begin_with_the_column_table() -> None:
    sql = "CREATE TABLE n (table INT, y INT) USING parquet PARTITIONED BY (table)"
    assert written(analyze(sql, NAMESPACE, TestCatalog())) == "create_table; new create d.n"


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT FROM a",
        "SELECT FROM a GROUP BY x HAVING length(y) > 0",
        "SELECT * FROM (VALUES float(-2.5), float(-1.5), now()) t(x)",
        "SELECT * FROM VALUES float(-2.5), float(-1.5) t(x)",
        "SELECT CAST(NULL AS VOID) FROM (VALUES double(0.5), double(1)) t(x)",
    ],
)
def test_a_column_from_and_rows_of_calls_are_no_tables(sql: str) -> None:
    assert written(analyze(sql, NAMESPACE, TestCatalog())) == "select"
