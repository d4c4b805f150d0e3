"""Words that Spark may read as names: if tables depend on that, the statement is refused."""

import pytest

from dialect.analyze import FAILED, analyze
from dialect.statement import Namespace, Unknown
from tests.dialect.catalogs import TestCatalog, written

# Each of these was found by generated statements: the analysis named other tables than Spark.
AMBIGUOUS = [
    # a column called join
    "SELECT 1 FROM a JOIN b ON join IS NOT NULL, p",
    "SELECT 1 FROM a JOIN b ON join FULL JOIN p",
    "FROM a SELECT x, join end_",
    # an alias called as, and a table called on
    "FROM a LEFT JOIN b AS join ON order LEFT JOIN p ON true SELECT x",
    # a column called from
    "SELECT CASE WHEN from THEN x ELSE 1 END LIMIT 3",
    "SELECT 1, from `d e`, k",
    "SELECT 1. * FROM a",
    # a table called table
    "SELECT 1 FROM (table FOR VERSION AS OF 1), b",
    "SELECT 1 FROM (table a JOIN b)",
    "SELECT 1 FROM (table AS x)",
    # a table called select, with an alias
    "SELECT 1 FROM a, (select x LEFT SEMI JOIN b USING (x)) c",
    "SELECT 1 FROM (select AS s (x, y))",
    "SELECT 1 FROM (select s UNPIVOT (v FOR n IN (x, y)))",
    # an alias called select, which a query with its own SELECT follows
    "FROM a select, b SELECT 1",
    "INSERT INTO p FROM a select, b JOIN c SELECT 1",
    "FROM a select (x, y), b SELECT 1",
    "FROM a select (x) JOIN b MAP y USING 'cat'",
    "FROM a select (x), map JOIN b SELECT y",
    "SELECT * FROM (FROM a select (x), b SELECT TRANSFORM (y) USING 'cat')",
    # a partition, or a function called partition
    "DESCRIBE SELECT partition (x)",
    # a table called where, or limit
    "SELECT 1 FROM a, where x",
    "SELECT 1 FROM a JOIN where x",
    "SELECT 1 FROM a, limit x",
    # an alias called limit
    "SELECT 1 FROM a limit, b",
    "SELECT 1 FROM a limit (x), b",
    "SELECT 1 FROM VALUES limit, b",
    "SELECT 1 FROM map limit, b",
    "SELECT 1 FROM VALUES left trim, b",
    "SELECT 1 FROM lateral (distinct, b)",
    "SELECT 1 FROM a JOIN values USING (x) like, b",
    "DESCRIBE values PARTITION (ds = version)",
    "SELECT 1 FROM VALUES on date, b",
    # a table called inner
    "SELECT 1 FROM a, inner JOIN b",
    "SELECT 1 FROM a JOIN VALUES using x, b",
    "SELECT 1 FROM lateral connect_by_root x, b",
    "SELECT 1 FROM LATERAL current_date",
    "SELECT 1 FROM (select limit JOIN b)",
    "SELECT exists (SELECT DISTINCT * FROM a, b left)",
    "SELECT 1 FROM VALUES lateral else, b",
    # a column called intersect with an alias select
    "SELECT DISTINCT intersect select FROM a, b",
    # a table called lateral
    "SELECT 1 FROM lateral UNION (FROM if SELECT x)",
    "SELECT 1 FROM lateral UNPIVOT (v FOR n IN (x)), b",
    # columns called by a type's name or from, and operators before from
    "SELECT int * FROM a, b",
    "SELECT x div FROM a",
    "SELECT 1 regexp FROM a",
    "SELECT drop IS DISTINCT FROM a",
    # functions and views of LATERAL VIEW called join
    "SELECT 1 FROM a GROUP BY join (x, y)",
    "SELECT 1 FROM a LATERAL VIEW explode(x) join y",
    # rows of VALUES with an operator, a name as the row, and a table called values
    "SELECT 1 FROM VALUES (1) and (x), b",
    "SELECT 1 FROM VALUES x after, b",
    "SELECT 1 FROM VALUES cross, b",
    "SELECT 1 FROM VALUES f() IS NULL, b",
    "SELECT 1 FROM p, VALUES - d1.f(1) OVER rows, b, `t 4`",
    "SELECT 1 FROM VALUES f() IGNORE NULLS OVER w, b",
    "SELECT 1 FROM VALUES CASE WHEN true THEN 1 END, b",
    # rows of VALUES, of which the first is no alias of a table called values
    "SELECT 1 FROM VALUES exists (SELECT * FROM p) LEFT JOIN b",
    "SELECT 1 FROM VALUES x (1) LEFT JOIN b",
    "SELECT 1 FROM VALUES exists (SELECT (SELECT x)), b",
    "SELECT 1 FROM VALUES `x` -> 1, b",
    "SELECT 1 FROM VALUES `x` + (SELECT 1 FROM p)",
    "SELECT 1 FROM VALUES x, exists (SELECT * FROM p)",
    "SELECT 1 FROM VALUES x, y AND exists (SELECT * FROM p)",
    # a number of rows called table
    "SELECT 1 FROM a TABLESAMPLE (table ROWS), b",
    # a function called table
    "SELECT f(1, TABLE(a))",
    # a table function called in
    "SELECT 1 FROM in (1), IDENTIFIER('a')",
    "SELECT 1 FROM a, in (1), b",
    # a query after a table's name, or its columns
    "CREATE TABLE n (TABLE d.a)",
    "CREATE TABLE n (TABLE a) EXCEPT SELECT 1",
    "CREATE TABLE n (TABLE int) UNION SELECT 1",
    "CREATE TABLE n ((TABLE a))",
    "CREATE TABLE n (MAP x USING 'cat' FROM a)",
    # a table called as a query of WITH that follows: Spark reads that query in a command
    "INSERT INTO a WITH c AS (SELECT 1 FROM p), p AS (SELECT * FROM b)"
    " (WITH e AS (SELECT 1) SELECT * FROM c)",
    # where the condition ends
    "INSERT INTO a REPLACE WHERE table TABLE b",
    "INSERT INTO a REPLACE WHERE select TABLE b",
    "INSERT INTO a REPLACE WHERE x AND values TABLE b",
    "INSERT INTO a REPLACE WHERE x = table TABLE b",
    "INSERT INTO a REPLACE WHERE x || order (TABLE b) UNION SELECT 1",
]


@pytest.mark.parametrize("sql", AMBIGUOUS)
def test_a_word_that_may_be_a_name_is_refused(sql: str) -> None:
    answer = analyze(sql, Namespace("d"), TestCatalog())
    assert isinstance(answer, Unknown)
    assert answer.why != FAILED


UNDERSTOOD = {
    "SELECT 1 FROM (TABLE a) x, b": "select; reads d.a, d.b",
    "SELECT 1 FROM (TABLE d.a ORDER BY x LIMIT 1)": "select; reads d.a",
    "SELECT * FROM ((TABLE a) UNION (TABLE b))": "select; reads d.a, d.b",
    "SELECT * FROM stack(1, TABLE(a))": "select; reads d.a",
    "SELECT * FROM a between JOIN b AS create ON true": "select; reads d.a, d.b",
    "SELECT 1 AS join FROM a": "select; reads d.a",
    "WITH c AS (SELECT (x), y FROM a) SELECT (x), y FROM c": "select; reads d.a",
    "SELECT (x), map FROM a WHERE (SELECT (x) FROM b) UNION SELECT 1": "select; reads d.a, d.b",
    "FROM a SELECT x, y SELECT z": "from_select; reads d.a",
    # Spark tries a table and its column before a query.
    "DESCRIBE FROM a": "metadata_read; reads d.from",
    "DESC FORMATTED select d.x": "metadata_read; reads d.select",
    "DESC QUERY a": "metadata_read; reads d.query",
    "DESCRIBE select PARTITION (ds = 1)": "metadata_read; reads d.select",
    "DESCRIBE TABLE values PARTITION (ds = 'x')": "metadata_read; reads d.values",
    "DESCRIBE table PARTITION (ds = 1)": "metadata_read; reads d.table",
    "DESC extended PARTITION (ds = 1)": "metadata_read; reads d.extended",
    "DESCRIBE database PARTITION (ds = 1)": "metadata_read; reads d.database",
    "DESCRIBE SELECT partition (x) FROM a": "metadata_read; reads d.a",
    "MERGE INTO a USING values v ON a.x = v.x WHEN MATCHED THEN DELETE": (
        "merge; reads d.a, d.values; insert d.a"
    ),
    "DESC TABLE a UNION TABLE b": "metadata_read; reads d.a, d.b",
    "DESC TABLE FORMATTED sort x": "metadata_read; reads d.sort",
    "SELECT 1 FROM a, fetch": "select; reads d.a, d.fetch",
    "SELECT 1 FROM a, qualify x, b": "select; reads d.a, d.qualify, d.b",
    "SELECT 1 FROM a JOIN b window ON x, p": "select; reads d.a, d.b, d.p@*",
    "SELECT window.end FROM a GROUP BY window(x, '1 day')": "select; reads d.a",
    "SELECT 1 FROM default (x), b": "select; reads d.b",
    "CREATE TABLE n USING select TABLE b": "ctas; reads d.b; new create d.n",
    "CREATE TABLE n STORED AS table TABLE b": "ctas; reads d.b; new create d.n",
    "INSERT OVERWRITE DIRECTORY '/x' USING table TABLE a": "insert; reads d.a; paths_written /x",
    "CREATE INDEX i ON TABLE a (x)": "ddl_other; reads d.a",
    "DROP INDEX i ON a": "ddl_other; reads d.a",
    "SELECT * FROM values v, d.a b WHERE (x > 1)": "select; reads d.values, d.a",
    "SELECT * FROM values `v w` WHERE `x` > 1": "select; reads d.values",
    "SELECT * FROM values v (x, y), a": "select; reads d.values, d.a",
    "DESC MAP x, y USING 'cat'": "metadata_read",
    "DESCRIBE REDUCE x USING 'cat' FROM a": "metadata_read; reads d.a",
    "SELECT 1 FROM (REDUCE x USING r'cat' AS y FROM a)": "select; reads d.a",
    "SELECT 1 FROM (MAP x USING 'cat' AS y, z FROM a)": "select; reads d.a",
    "DESC map x": "metadata_read; reads d.map",
    # `!` is the keyword NOT
    "CREATE TABLE IF ! EXISTS n AS SELECT * FROM a": "ctas; reads d.a; new create d.n",
    "CREATE VIEW IF ! EXISTS n AS SELECT * FROM a": "create_view; defines d.a; new view d.n",
    "CREATE DATABASE IF ! EXISTS n": "ddl_other; database_written n",
    "DESC QUERY TABLE a": "metadata_read; reads d.a",
    "DESC SELECT 1": "metadata_read",
    "DESC DATABASE": "metadata_read; reads d.database",
    "DESC SELECT x y": "metadata_read",
    "DESC SELECT X '1F'": "metadata_read",
    "SELECT * FROM (SELECT x join, offset, limit FROM a) JOIN b": "select; reads d.a, d.b",
    "INSERT INTO a WITH c AS (SELECT 1 FROM p), p AS (SELECT * FROM b) SELECT * FROM c": (
        "insert; reads d.p@*; insert d.a"
    ),
    "CREATE TABLE n (table INT)": "create_table; new create d.n",
    "CREATE TABLE n (map MAP<INT, INT>, table STRING)": "create_table; new create d.n",
    "INSERT INTO a REPLACE WHERE x = 1 TABLE b": "insert; reads d.b; insert d.a",
    # To Spark it is a row of two columns, `select * from` and `b`: too many reads harm nothing.
    "SELECT (SELECT * FROM a, b)": "select; reads d.a, d.b",
}


@pytest.mark.parametrize("sql", UNDERSTOOD)
def test_a_keyword_in_its_place_is_understood(sql: str) -> None:
    assert written(analyze(sql, Namespace("d"), TestCatalog())) == UNDERSTOOD[sql]
