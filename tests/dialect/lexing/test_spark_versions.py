"""Words that Spark 3.5 and Spark 4 read differently: if tables depend on them, the statement is
refused."""

import pytest

from dialect.analyze import FAILED, analyze
from dialect.statement import Namespace, Unknown
from tests.dialect.catalogs import TestCatalog, written

OTHERWISE = [
    # a table with an alias, or a stream of the table a
    "SELECT 1 FROM stream a",
    "SELECT 1 FROM stream AS a",
    "SELECT 1 FROM stream d.a, b",
    "SELECT 1 FROM stream (a)",
    "SELECT 1 FROM b, stream a",
    "SELECT 1 FROM b JOIN c ON f(x, y), stream a",
    "SELECT 1 FROM b JOIN (stream a JOIN c)",
    "SELECT 1 FROM stream WHERE b",
    "SELECT 1 FROM stream JOIN b",
    "FROM stream a INSERT INTO b SELECT 1",
    "SET VAR x = (SELECT max(x) FROM stream a)",
    "EXECUTE IMMEDIATE 'SELECT * FROM stream a'",
    "MERGE INTO b USING stream a ON true WHEN MATCHED THEN DELETE",
    # a query called recursive, or a recursive one called as
    "WITH recursive AS (SELECT * FROM a) SELECT * FROM recursive",
    "SELECT (WITH recursive AS (SELECT * FROM a) SELECT * FROM recursive)",
    # an alias called collate, or a collation called from
    "SELECT x collate FROM a",
    "SELECT CASE WHEN x THEN 1 END collate FROM a",
    # a column of a table called procedure, or a procedure
    "DESCRIBE procedure a",
    "DESC procedure d.a",
    # a column called c, or a part of the table's name
    "INSERT INTO d.identifier('a') SELECT 1",
    "DROP TABLE d.identifier('a')",
    "UNCACHE TABLE d.identifier('a')",
    # the text in $$, or a view
    "CREATE VIEW v WITH METRICS LANGUAGE YAML AS $$ AS SELECT * FROM a -- $$",
    # an alias, or no name
    "DELETE FROM a identifier(':')",
]


@pytest.mark.parametrize("sql", OTHERWISE)
def test_forms_that_sparks_versions_read_differently_are_refused(sql: str) -> None:
    answer = analyze(sql, Namespace("d"), TestCatalog())
    assert isinstance(answer, Unknown)
    assert answer.why != FAILED


ALIKE = {
    "SELECT * FROM stream": "select; reads d.stream",
    "SELECT * FROM stream, a": "select; reads d.stream, d.a",
    "SELECT * FROM `stream` a": "select; reads d.stream",
    "SELECT * FROM d.stream a": "select; reads d.stream",
    "SELECT * FROM stream WHERE x = 1": "select; reads d.stream",
    "SELECT * FROM stream JOIN a ON true": "select; reads d.stream, d.a",
    "SELECT x, stream AS y FROM a": "select; reads d.a",
    "SELECT f(x, stream) FROM a GROUP BY x, stream ORDER BY x": "select; reads d.a",
    "WITH recursive (x) AS (SELECT x FROM a) SELECT * FROM recursive": "select; reads d.a",
    "WITH recursive r AS (SELECT x FROM a) SELECT * FROM r": "select; reads d.a",
    "SET x = FROM stream a": "set; effect SetVariable(key='x', value='FROM stream a')",
    "SELECT collate FROM a": "select; reads d.a",
    "SELECT x COLLATE utf8_lcase FROM a": "select; reads d.a",
    "DESCRIBE procedure": "metadata_read; reads d.procedure",
    "SELECT d.identifier('a') FROM a": "select; reads d.a",
}


@pytest.mark.parametrize("sql", ALIKE)
def test_forms_that_sparks_versions_read_alike_are_understood(sql: str) -> None:
    assert written(analyze(sql, Namespace("d"), TestCatalog())) == ALIKE[sql]


@pytest.mark.parametrize(
    "sql",
    [
        "CREATE TABLE n (x INT DEFAULT (SELECT max(x) FROM a))",
        "CREATE TABLE n (x INT, CONSTRAINT c CHECK (x IN (SELECT x FROM a)))",
        "ALTER TABLE b ADD COLUMN y INT DEFAULT (SELECT max(x) FROM a)",
        "ALTER TABLE b ADD CONSTRAINT c CHECK (exists (TABLE a))",
    ],
)
def test_a_query_among_a_tables_columns_is_refused(sql: str) -> None:
    assert isinstance(analyze(sql, Namespace("d"), TestCatalog()), Unknown)


def test_a_column_with_the_name_table_is_no_query() -> None:
    answer = analyze("ALTER TABLE b ADD COLUMNS (table INT)", Namespace("d"), TestCatalog())
    assert written(answer) == "alter; alter d.b"


DOUBLED = {
    # to Spark 3 the text is 2020-01-01, to Spark 4 it has a quote
    "SELECT * FROM q WHERE ds = '2020-01-''01'": "select; reads d.q@*",
    "SELECT * FROM q WHERE ds = '2020-01-' '01'": "select; reads d.q@[ds=2020-01-01]",
    "SELECT 'it''s', \"a\"\"b\" FROM a": "select; reads d.a",
    "INSERT OVERWRITE q PARTITION (ds = '2020-01-''01') SELECT 1": "insert; insert d.q@* dynamic",
    "EXECUTE IMMEDIATE 'SELECT * FROM q WHERE ds = ''2020-01-01'''": (
        "select; reads d.q@[ds=2020-01-01]"
    ),
    "SELECT * FROM VALUES ('it''s'), ('a') AS t(x)": "select",
}


@pytest.mark.parametrize("sql", DOUBLED)
def test_the_value_of_a_text_with_a_doubled_quote_is_not_known(sql: str) -> None:
    assert written(analyze(sql, Namespace("d"), TestCatalog())) == DOUBLED[sql]


@pytest.mark.parametrize(
    "sql",
    [
        "INSERT OVERWRITE DIRECTORY '/a''b' SELECT 1",
        "CREATE TABLE n (x INT) USING parquet LOCATION '/a''b'",
        "LOAD DATA INPATH '/a''b' INTO TABLE a",
        "SELECT * FROM IDENTIFIER('a''b')",
        "ALTER TABLE q ADD PARTITION (ds = 'a''b')",
    ],
)
def test_a_path_or_name_with_a_doubled_quote_is_refused(sql: str) -> None:
    assert isinstance(analyze(sql, Namespace("d"), TestCatalog()), Unknown)


def test_a_doubled_quote_in_a_name_is_refused() -> None:
    settings = {
        "spark.sql.ansi.enabled": "true",
        "spark.sql.ansi.doubleQuotedIdentifiers": "true",
    }
    for sql, known in (('SELECT * FROM "a" "b"', True), ('SELECT * FROM "a""b"', False)):
        answer = analyze(sql, Namespace("d", settings), TestCatalog())
        assert isinstance(answer, Unknown) is not known
