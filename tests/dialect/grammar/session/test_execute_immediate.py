"""EXECUTE IMMEDIATE: the text that it runs is analysed."""

import pytest

from dialect.analyze import analyze
from dialect.statement import AssignVariables, Known, Unknown
from tests.dialect.catalogs import TestCatalog, written
from tests.dialect.grammar.session.variables import known, namespace


@pytest.mark.parametrize(
    ("sql", "answer"),
    [
        ("EXECUTE IMMEDIATE q", "select; reads d.b"),
        ("EXECUTE IMMEDIATE session.q", "select; reads d.b"),
        ("EXECUTE IMMEDIATE 'SELECT * FROM ' || x", "select; reads e.a"),
        ("EXECUTE IMMEDIATE 'INSERT INTO a VALUES (?, ?)' USING 4, n", "insert; insert d.a"),
        ("EXECUTE IMMEDIATE 'DROP TABLE e.a;'", "drop; drop e.a"),
        ("EXECUTE IMMEDIATE 'SELECT * FROM IDENTIFIER(?)' USING 'e.' || 'a'", "select; reads e.a"),
        ("EXECUTE IMMEDIATE 'SELECT * FROM IDENTIFIER(:x)' USING x", "select; reads e.a"),
        ("EXECUTE IMMEDIATE 'SELECT * FROM IDENTIFIER(:t)' USING (x AS t)", "select; reads e.a"),
        ("EXECUTE IMMEDIATE 'SELECT ? FROM b LIMIT ?' USING n + 1, 5", "select; reads d.b"),
        ("EXECUTE IMMEDIATE 'SELECT * FROM p WHERE ds = ?' USING n", "select; reads d.p@*"),
        ("EXECUTE IMMEDIATE 'SELECT * FROM p WHERE ds = ?' USING 'no'", "select; reads d.p@[]"),
        ("EXECUTE IMMEDIATE 'SET a=b'", "set; effect SetVariable(key='a', value='b')"),
        ("EXECUTE IMMEDIATE 'USE e'", "use; effect UseDatabase(database='e')"),
        ("EXECUTE IMMEDIATE 'CREATE TEMPORARY VIEW u AS SELECT * FROM b'", "create_view; defines"),
    ],
)
def test_the_text_is_analysed(sql: str, answer: str) -> None:
    assert written(known(sql)).startswith(answer)


@pytest.mark.parametrize(
    ("sql", "why"),
    [
        ("EXECUTE IMMEDIATE n", "not known"),
        ("EXECUTE IMMEDIATE nosuch", "not known"),
        ("EXECUTE IMMEDIATE (SELECT 'DROP TABLE a')", "not known"),
        ("EXECUTE IMMEDIATE 5", "not known"),
        ("EXECUTE IMMEDIATE", "not known"),
        ("EXECUTE IMMEDIATE 'SELECT 1; SELECT 2'", "more than one"),
        ("EXECUTE IMMEDIATE 'BEGIN SELECT 1; END'", "a script"),
        ("EXECUTE IMMEDIATE 'EXECUTE IMMEDIATE ''SELECT 1'''", "in EXECUTE IMMEDIATE"),
        ("EXECUTE IMMEDIATE 'EXPLAIN SELECT 1'", "begin with EXPLAIN"),
        ("EXPLAIN EXECUTE IMMEDIATE 'INSERT INTO a VALUES (1)'", "which runs the statement"),
        ("EXECUTE IMMEDIATE '$' || '{a}'", "variables of SET"),
        ("EXECUTE IMMEDIATE 'SELECT ?' USING (SELECT 1)", "a query in USING"),
        ("EXECUTE IMMEDIATE 'SELECT ?, ?' USING 1", "more parameters"),
        ("EXECUTE IMMEDIATE 'SELECT s:p FROM b' USING 1 AS p", "a colon"),
        ("EXECUTE IMMEDIATE 'SELECT :o FROM b' USING 1 AS p", "a colon"),
        ("EXECUTE IMMEDIATE 'SELECT ?' USING INTERVAL 1 DAY", "a name without AS"),
        ("EXECUTE IMMEDIATE 'SELECT * FROM IDENTIFIER(?)' USING n", "no constant"),
        ("EXECUTE IMMEDIATE 'SET VAR n = ?' USING 4", "without parameters"),
        ("EXECUTE IMMEDIATE 'CREATE TABLE t (a INT) LOCATION ?' USING n", "without parameters"),
        ("EXECUTE IMMEDIATE 'SET a=b' INTO x", "a statement that changes the session"),
        ("EXECUTE IMMEDIATE 'INSERT INTO a VALUES (1)' INTO x", "no query"),
        ("EXECUTE IMMEDIATE 'INSERT INTO p PARTITION (ds = ?) VALUES (1)' USING n", "partition"),
    ],
)
def test_uncertain_texts_are_refused(sql: str, why: str) -> None:
    answer = analyze(sql, namespace(), TestCatalog())
    assert isinstance(answer, Unknown)
    assert why in answer.why
    assert answer.writing
    assert not answer.sourceless


def test_the_result_goes_into_variables_of_one_cluster() -> None:
    effect = known("EXECUTE IMMEDIATE 'SELECT s FROM b WHERE s = :p' INTO x USING 1 AS p").effect
    assert isinstance(effect, AssignVariables)
    assert effect.names == ("system.session.x",)
    assert not effect.repeatable


def test_calls_and_variables_of_the_text_count_as_used() -> None:
    found = known("EXECUTE IMMEDIATE 'SELECT reflect(x, n) FROM b'")
    assert "reflect" in found.functions
    assert found.temps == ("system.session.x", "system.session.n")
    assert found.immediate == "SELECT reflect(x, n) FROM b"


def test_a_listing_is_not_answered_from_memory() -> None:
    answer = known("EXECUTE IMMEDIATE 'SHOW TABLES'")
    assert isinstance(answer, Known)
    assert answer.catalog is None
