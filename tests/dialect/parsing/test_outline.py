"""Queries that the parser cannot read: their outline names every table that Spark reads."""

import pytest

from conf.catalog.tables import ViewText
from dialect.analyze import FAILED, analyze
from dialect.errors import NotUnderstood
from dialect.lexing.tokenize import tokenize
from dialect.parsing.outline import outline
from dialect.statement import Known, Namespace, Unknown
from tests.dialect.catalogs import TestCatalog, written

NAMESPACE = Namespace("d")

# Statements that Spark's parser accepts and sqlglot's does not, with what they read.
UNDERSTOOD = {
    "SELECT CAST(NULL AS VOID) FROM a": "select; reads d.a",
    "SELECT -INTERVAL -1 DAY 1 HOUR FROM a": "select; reads d.a",
    "SELECT * FROM a PIVOT (ceil(sum(e)), avg(e) + 1 AS m FOR c IN ('x'))": "select; reads d.a",
    "SELECT * FROM a JOIN b PIVOT (ceil(sum(e)) FOR c IN ('x'))": "select; reads d.a, d.b",
    "SELECT * FROM (FROM a SELECT x SELECT y)": "select; reads d.a",
    "SELECT * FROM a WHERE x IN (FROM b SELECT x SELECT z)": "select; reads d.a, d.b",
    "WITH c AS (TABLE a) TABLE c": "select; reads d.a",
    "WITH c AS (TABLE a), e AS (TABLE c) SELECT * FROM e, b": "select; reads d.a, d.b",
    "WITH c AS (SELECT * FROM a) VALUES ((SELECT max(x) FROM c))": "select; reads d.a",
    "SELECT x AS between, y AS collate FROM a": "select; reads d.a",
    "SELECT 1 AS join FROM a": "select; reads d.a",
    "SELECT * FROM a between JOIN b AS create ON true": "select; reads d.a, d.b",
    "SELECT * FROM alter, d.create": "select; reads d.alter, d.create",
    "WITH distinct AS (SELECT * FROM a) SELECT * FROM distinct": "select; reads d.a",
    "SELECT * FROM a TABLESAMPLE (x + 1 ROWS) JOIN b": "select; reads d.a, d.b",
    "SELECT * FROM a LIMIT x > 3": "select; reads d.a",
    "SELECT x, y -> 1.5BD FROM a": "select; reads d.a",
    "SELECT x FROM a WHERE CAST(NULL AS VOID) IN (SELECT x FROM b)": "select; reads d.a, d.b",
    "SELECT CAST(NULL AS VOID), trim(FROM x), x IS DISTINCT FROM y FROM a": "select; reads d.a",
    "SELECT CAST(NULL AS VOID) UNION ALL (SELECT x FROM a EXCEPT TABLE b)": (
        "select; reads d.a, d.b"
    ),
    "SELECT CAST(NULL AS VOID) FROM ((SELECT * FROM a) x JOIN (b)) y": "select; reads d.a, d.b",
    "SELECT CAST(NULL AS VOID) FROM VALUES (1), (2) AS t(i), a": "select; reads d.a",
    "SELECT CAST(NULL AS VOID) FROM a LATERAL VIEW explode(x) t AS i, j": "select; reads d.a",
    "SELECT CAST(NULL AS VOID) FROM a, LATERAL (SELECT * FROM b)": "select; reads d.a, d.b",
    "SELECT CAST(NULL AS VOID) FROM a group, b": "select; reads d.a, d.b",
    "SELECT CAST(NULL AS VOID), is distinct FROM a": "select; reads d.a",
    "SELECT * FROM stack(1, TABLE(a))": "select; reads d.a",
    "SELECT * FROM f(TABLE(SELECT * FROM a))": "select; reads d.a",
    "SELECT * FROM f(x => TABLE(a) PARTITION BY i, 2)": "select; reads d.a",
    "SELECT * FROM range(1, (SELECT max(x) FROM a))": "select; reads d.a",
    "SELECT * FROM a TIMESTAMP AS OF (SELECT max(x) FROM b)": "select; reads d.a, d.b",
    "SELECT * FROM my_function(1, -2)": "select",
    "SELECT * FROM hudi_filesystem_view('d.a', '*')": "select; reads d.a",
    "WITH s AS (SELECT * FROM u), u AS (SELECT * FROM s) SELECT * FROM s": "select; reads d.s",
    # After a pipe commas are its operator's.
    "TABLE a |> DROP x, y": "select; reads d.a",
    "SELECT * FROM a |> EXTEND x, (SELECT max(y) FROM b) |> SET x = 1, z = 2": (
        "select; reads d.a, d.b"
    ),
    "SELECT * FROM a |> AGGREGATE sum(x), y GROUP BY z, k": "select; reads d.a",
    # Strings are no keywords.
    "SELECT boolean('on') AS true FROM a": "select; reads d.a",
    "SELECT 'timestamplocaltz' 'x', f('map' USING 'x') FROM a": "select; reads d.a",
    "INSERT INTO b FROM a SELECT CAST(NULL AS VOID), x": "insert; reads d.a; insert d.b",
}


@pytest.mark.parametrize("sql", UNDERSTOOD)
def test_queries_that_the_parser_cannot_read_are_outlined(sql: str) -> None:
    assert written(analyze(sql, NAMESPACE, TestCatalog())) == UNDERSTOOD[sql]


# What Spark reads here depends on which keyword is a name; nothing is guessed.
AMBIGUOUS = [
    "SELECT CAST(NULL AS VOID) FROM a where, b",
    "SELECT CAST(NULL AS VOID) FROM a where (x), b",
    "SELECT CAST(NULL AS VOID) FROM a having JOIN b",
    "SELECT CAST(NULL AS VOID) FROM from AS y, b",
    "SELECT CAST(NULL AS VOID) AS from FROM a",
    "SELECT CAST(NULL AS VOID) FROM (values)",
    "SELECT CAST(NULL AS VOID) FROM VALUES (1), a",
    "SELECT CAST(NULL AS VOID) FROM table, b",
    "SELECT * FROM (FROM a)",
    "SELECT * FROM (FROM a JOIN (SELECT 1))",
    "SELECT CAST(NULL AS VOID) FROM a LATERAL VIEW explode(x) t AS i JOIN b",
    "SELECT CAST(NULL AS VOID) FROM a INSERT INTO b SELECT x",
    "WITH RECURSIVE c AS (SELECT 1) SELECT CAST(NULL AS VOID) FROM c",
    "SELECT * FROM my_function('d.a')",
    "FROM a JOIN b ON select, d.c AS x SELECT 1",
    # A column called join.
    "SELECT CAST(NULL AS VOID) FROM a JOIN b ON 1 BETWEEN join AND 2",
    # A table called as.
    "SELECT 1 FROM a window, AS s",
    "SELECT CAST(NULL AS VOID) FROM a AS window, AS s",
    # A function called table inside an expression.
    "SELECT * FROM stack(1, 1 / TABLE(a))",
    "SELECT * FROM stack(1, TABLE(a) + 1)",
]


@pytest.mark.parametrize("sql", AMBIGUOUS)
def test_ambiguous_queries_are_refused(sql: str) -> None:
    assert isinstance(analyze(sql, NAMESPACE, TestCatalog()), Unknown)


@pytest.mark.parametrize("sql", ["SELECT", "SELECT x FROM", "(SELECT x", "SELECT x)", "x", ""])
def test_texts_that_are_no_query_are_refused(sql: str) -> None:
    with pytest.raises(NotUnderstood):
        outline(tokenize(sql))


EVERY = "select; reads d.p@*"


def test_an_outline_prunes_nothing() -> None:
    sql = "SELECT CAST(NULL AS VOID) FROM p WHERE ds = '2020-01-01'"
    assert written(analyze(sql, NAMESPACE, TestCatalog())) == EVERY


def test_no_condition_passes_an_outlined_view() -> None:
    """Its columns may be any: `ds` is neither another table's column nor its own partition key."""
    view = ViewText("SELECT CAST(NULL AS VOID) AS n, k AS ds FROM p", "d")
    namespace = Namespace("d", temp_views={"n": view})
    outer = "SELECT * FROM p WHERE hr = 0 AND EXISTS (SELECT 1 FROM q, n WHERE ds = '2020-01-01')"
    for sql in ("SELECT * FROM n WHERE ds = '2020-01-01'", outer):
        answer = written(analyze(sql, namespace, TestCatalog()))
        assert "d.p@*" in answer
        assert "d.q@[" not in answer


@pytest.mark.parametrize(
    ("sql", "reads"),
    [
        ("CREATE TABLE x (SELECT `a` FROM b)", {"d.b"}),
        ("REPLACE TABLE x (SELECT 'a' FROM b) INTERSECT SELECT 1 FROM p", {"d.b", "d.p"}),
    ],
)
def test_a_query_in_brackets_after_a_new_table_is_read(sql: str, reads: set[str]) -> None:
    answer = analyze(sql, Namespace("d"), TestCatalog())
    assert isinstance(answer, Known)
    assert {str(read.table) for read in answer.reads} == reads


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT 1 FROM VALUES (1), (partition b), (b)",
        "SELECT 1 FROM VALUES (1), (b AS c)",
        "SELECT 1 FROM VALUES (1), (d.b AS c)",
        "SELECT 1 FROM a JOIN VALUES (1), (d.b c)",
        "SELECT 1 FROM VALUES (1), ((b c))",
        "SELECT 1 FROM VALUES (1), (((d.b)) AS c)",
        "SELECT 1 FROM VALUES (1), (spark_catalog.d.b c)",
        "SELECT 1 FROM VALUES (1), (f(1) c)",
        "SELECT 1 FROM VALUES (1), (b) TABLESAMPLE (1 ROWS)",
        "SELECT 1 FROM VALUES (1), (b TABLESAMPLE (1 ROWS))",
        "SELECT 1 FROM VALUES (1), (d.b VERSION AS OF 1)",
        "SELECT 1 FROM VALUES (1), (b PIVOT (sum(x) FOR y IN (1)))",
        "SELECT 1 FROM VALUES (1), ((d.b)) TABLESAMPLE (1 ROWS)",
        "MERGE INTO b AS using USING p ON true WHEN MATCHED THEN DELETE",
        "INSERT INTO table PARTITION (ds = DATE '2020-01-01') SELECT 1",
        "SELECT * FROM IDENTIFIER('a'",
        "SELECT 1 FROM (select) AS c",
    ],
)
def test_words_that_spark_may_read_as_other_tables_are_refused(sql: str) -> None:
    answer = analyze(sql, Namespace("d"), TestCatalog())
    assert isinstance(answer, Unknown)
    assert answer.why != FAILED
