"""Scripts of Spark 4 read and write what their statements do; some are refused."""

import pytest

from conf.catalog.tables import ViewText
from dialect.analyze import analyze
from dialect.statement import Known, Namespace, SessionVariable, Unknown
from tests.dialect.catalogs import TestCatalog, written

VARIABLES = {"t": SessionVariable(True, "e.a"), "u": SessionVariable()}
VIEWS = {"s": ViewText("SELECT x FROM b", "d")}
NAMESPACE = Namespace("d", temp_views=VIEWS, session_variables=VARIABLES)


def answer(sql: str) -> Known | Unknown:
    found = analyze(sql, NAMESPACE, TestCatalog())
    assert isinstance(found, Known | Unknown)
    return found


@pytest.mark.parametrize(
    ("body", "what"),
    [
        ("", ""),
        ("SELECT * FROM a; SELECT * FROM b;", "reads d.a, d.b"),
        ("INSERT INTO a SELECT * FROM b;", "reads d.b; insert d.a"),
        ("IF EXISTS (SELECT 1 FROM a) THEN DELETE FROM b; END IF;", "reads d.a, d.b; insert d.b"),
        (
            "DECLARE n INT DEFAULT (SELECT max(x) FROM a); SET n = (SELECT 1 FROM b);",
            "reads d.a, d.b",
        ),
        ("DECLARE n, m INT; SET (n, m) = (SELECT x, y FROM a);", "reads d.a"),
        (
            "FOR r AS SELECT x FROM a DO INSERT INTO b VALUES (r.x, 1); END FOR;",
            "reads d.a; insert d.b",
        ),
        ("SELECT * FROM v;", "reads d.p@[ds=2020-01-01/hr=11 ds=2020-01-02/hr=11]; views d.v"),
        # the partitions of two statements; all where one of them writes the table
        (
            "SELECT k FROM p WHERE hr = 0; SELECT k FROM p WHERE ds = '2020-01-01';",
            "reads d.p@[ds=2020-01-01/hr=0 ds=2020-01-01/hr=11 ds=2020-01-02/hr=0]",
        ),
        (
            "INSERT INTO p PARTITION (ds = '2020-01-03', hr = 1) SELECT 1, 2;"
            " SELECT k FROM p WHERE hr = 0;",
            "reads d.p@*; insert d.p@[] named ds=2020-01-03/hr=1",
        ),
        ("DECLARE n STRING = '2020-01-01'; SELECT k FROM p WHERE ds = n;", "reads d.p@*"),
        # a table that the script makes
        (
            "DROP TABLE IF EXISTS n; CREATE TABLE n (x INT);",
            "new drop d.n; new create d.n",
        ),
        ("CREATE TABLE n AS SELECT * FROM a; SELECT * FROM n;", "reads d.a, d.n; new create d.n"),
        (
            "DROP TABLE a; CREATE TABLE IF NOT EXISTS a AS SELECT * FROM b;",
            "reads d.b; drop d.a",
        ),
        (
            "TRUNCATE TABLE q PARTITION (ds = '2020-01-01');",
            "insert d.q@[ds=2020-01-01] named ds=2020-01-01",
        ),
        ("SELECT * FROM s;", "reads d.b; temps s"),
        ("SELECT u;", "temps system.session.u"),
        ("SELECT * FROM IDENTIFIER('e.' || 'a');", "reads e.a"),
        ("EXECUTE IMMEDIATE 'DELETE FROM b';", "reads d.b; insert d.b"),
        ("DECLARE n INT; EXECUTE IMMEDIATE 'SELECT x FROM a' INTO n;", "reads d.a"),
        ("INSERT INTO s VALUES (1);", "temps s"),  # Spark refuses it
        ("SELECT * FROM parquet.`/data/x`;", "paths_read /data/x"),
    ],
)
def test_a_script_reads_and_writes_the_union_of_its_statements(body: str, what: str) -> None:
    assert written(answer(f"BEGIN {body} END")) == "; ".join(filter(None, ("script", what)))


@pytest.mark.parametrize(
    ("body", "why"),
    [
        ("USE e; SELECT * FROM a;", "USE in a script, which changes the session"),
        ("CACHE TABLE a;", "CACHE in a script"),
        ("CREATE TEMPORARY VIEW w AS SELECT 1;", "CREATE in a script"),
        ("CREATE OR REPLACE VIEW v AS SELECT * FROM a; SELECT * FROM v;", "CREATE of a view"),
        ("DROP VIEW v;", "DROP of a view"),
        ("CREATE DATABASE f;", "CREATE of this kind"),
        ("CREATE FUNCTION f AS 'a.B';", "CREATE of this kind"),
        ("ALTER TABLE a RENAME TO c;", "another name"),
        ("ALTER TABLE a SET LOCATION '/x';", "location of a table"),
        ("SHOW TABLES;", "SHOW of this kind"),
        ("DESCRIBE a;", "DESCRIBE of this kind"),
        ("EXPLAIN SELECT 1;", "begin with EXPLAIN"),
        ("ADD JAR x;", "ADD in a script"),
        ("REFRESH TABLE a;", "REFRESH of this kind"),
        ("SET spark.sql.x = 1;", "no local variable"),
        ("SET u = 1;", "no local variable"),
        ("SET TIME ZONE 'UTC';", "no local variable"),
        ("DECLARE u INT; SET u = 1;", "which the session has as well"),
        ("DECLARE u INT; EXECUTE IMMEDIATE 'SELECT 1' INTO u;", "which the session has as well"),
        ("EXECUTE IMMEDIATE 'SELECT 1' INTO n;", "changes the session"),
        ("EXECUTE IMMEDIATE 'DECLARE n INT';", "changes the session"),
        ("EXECUTE IMMEDIATE 'SET a = 1';", "changes the session"),
        ("EXECUTE IMMEDIATE 'BEGIN SELECT 1; END';", "a script in EXECUTE IMMEDIATE"),
        # a row or a variable of the script may hide the session's
        ("SELECT * FROM IDENTIFIER(t);", "no constant"),
        ("EXECUTE IMMEDIATE t;", "not known"),
        ("SELECT * FROM a WHERE x = ?;", "a parameter"),
        ("SELECT * FROM IDENTIFIER('a b');", "no name"),
        ("FOR INSERT INTO a SELECT * FROM b DO SELECT 1; END FOR;", "query of a loop expected"),
        ("FOR WITH c AS (SELECT 1) DELETE FROM a DO SELECT 1; END FOR;", "in the place of a query"),
        ("NO SUCH;", "begin with NO"),
    ],
)
def test_uncertain_scripts_are_refused_by_name(body: str, why: str) -> None:
    found = answer(f"BEGIN {body} END")
    assert isinstance(found, Unknown)
    assert why in found.why
    assert found.writing
    assert not found.sourceless


def test_a_script_needs_all_tables_that_are_not_loaded() -> None:
    sql = "BEGIN SELECT * FROM unloaded.a; INSERT INTO unloaded.b SELECT 1; END"
    assert written(analyze(sql, NAMESPACE, TestCatalog())) == "needs unloaded.a, unloaded.b"


def test_a_script_has_the_functions_of_all_its_statements() -> None:
    found = answer("BEGIN SELECT f(1); IF e.g() THEN SELECT 1; END IF; END")
    assert isinstance(found, Known)
    assert {"f", "g"} <= found.functions
    assert {"d.f", "e.g"} <= found.permanent


def test_a_script_reads_what_its_functions_read() -> None:
    texts = {"d.f": ViewText("SELECT max(x) FROM e.a", db="")}
    sql = "BEGIN DECLARE n INT; SET n = f(); SELECT n; END"
    assert written(analyze(sql, Namespace("d", functions=texts), TestCatalog())) == (
        "script; reads e.a"
    )


def test_many_variables_are_too_much_work() -> None:
    names = ", ".join(f"v{number}" for number in range(10_000))
    selects = "EXECUTE IMMEDIATE 'SELECT 1'; " * 900
    found = analyze(f"BEGIN DECLARE {names} INT; {selects} END", NAMESPACE, TestCatalog())
    assert isinstance(found, Unknown)
    assert "too much work" in found.why


def test_the_parts_of_a_script_have_their_kinds_and_writes() -> None:
    found = answer("BEGIN DELETE FROM a; INSERT INTO b SELECT * FROM a; END")
    assert isinstance(found, Known)
    assert [(part.kind, len(part.writes)) for part in found.parts] == [("delete", 1), ("insert", 1)]
