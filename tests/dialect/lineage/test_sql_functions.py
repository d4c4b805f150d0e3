"""Which functions written in SQL may read tables, and what a call of one reads."""

import pytest

from conf.catalog.tables import ViewText
from dialect.analyze import analyze
from dialect.lineage import sql_functions
from dialect.lineage.sql_functions import MOST_STEPS
from dialect.parsing.function_calls import COMPUTED
from dialect.statement import (
    ChangeFunction,
    CreateTempFunction,
    Known,
    Namespace,
    SessionVariable,
    Unknown,
)
from tests.dialect.catalogs import TestCatalog, written


def reading_functions(texts: dict[str, str | None]) -> frozenset[str]:
    stored = {name: None if text is None else ViewText(text, "") for name, text in texts.items()}
    return sql_functions.reading_functions(stored)


def test_a_query_reads_and_an_expression_does_not() -> None:
    texts = {
        "db.area": "width * height",
        "db.total": "SELECT sum(x) FROM t",
        "db.rows": "TABLE t",
        "db.hidden": "(/* */ SELECT max(x)\nfrom`t`)",
        "db.one": "SELECT 1",
    }
    assert reading_functions(texts) == {"db.total", "db.rows", "db.hidden", COMPUTED}
    assert reading_functions({"db.area": texts["db.area"]}) == frozenset()


def test_a_function_reads_if_it_calls_one_that_reads() -> None:
    texts = {
        "db.outer": "middle(x) + 1",
        "db.middle": "other.`Inner`(x)",
        "other.inner": "SELECT x FROM t",
        "db.computed": "IDENTIFIER(name)(1)",
        "db.plain": "abs(x)",
    }
    assert reading_functions(texts) == {*texts, COMPUTED} - {"db.plain"}


def test_an_unreadable_or_too_long_text_may_read() -> None:
    assert reading_functions({"db.f": None}) == {"db.f", COMPUTED}
    assert "db.f" in reading_functions({"db.f": "1 /* never closed"})
    assert "db.f" in reading_functions({"db.f": "1 + " * MOST_STEPS + "1"})


FUNCTIONS = {
    "d.total": ViewText("SELECT max(s) FROM e.a", ""),
    "d.outer_one": ViewText("SELECT d.total() + other.lines(1)", ""),
    "other.lines": ViewText("SELECT * FROM d.b WHERE s = given", ""),
    "d.unread": None,
    "own": ViewText("SELECT (SELECT max(s) FROM d.b)", ""),
    "d.again": ViewText("WITH a AS (TABLE d.a) SELECT d.again() FROM a", ""),
    "d.bare": ViewText("SELECT max(s) FROM b", ""),
    "d.calling": ViewText("SELECT total()", ""),
    "d.strange": ViewText("SELECT 1 FROM a WHERE (", ""),
}
VIEWS = {"v": ViewText("SELECT total() AS c", "d"), "a": ViewText("SELECT * FROM b", "d")}


def answer(sql: str) -> str:
    return written(analyze(sql, Namespace("d", {}, VIEWS, functions=FUNCTIONS), TestCatalog()))


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("SELECT total()", "select; reads e.a"),
        ("SELECT d.`Total`() FROM b", "select; reads d.b, e.a"),
        ("SELECT IDENTIFIER('d.total')()", "select; reads e.a"),
        ("SELECT * FROM other.lines(1)", "select; reads d.b"),
        ("SELECT outer_one()", "select; reads e.a, d.b"),
        ("SELECT own(1), session.own(2)", "select; reads d.b"),
        ("SELECT other.own(1)", "select"),
        ("SELECT other.total()", "select"),
        ("SELECT c FROM v", "select; reads e.a; temps v"),
        ("SELECT again()", "select; reads d.a"),
        ("INSERT INTO b SELECT total()", "insert; reads e.a; insert d.b"),
        ("CREATE TABLE n AS SELECT total() AS c", "ctas; reads e.a; new create d.n"),
        ("CREATE VIEW w AS SELECT total() AS c", "create_view; defines e.a"),
        ("EXECUTE IMMEDIATE 'SELECT total()'", "select; reads e.a"),
        ("SET VAR x = total()", "set; reads e.a; effect AssignVariables"),
    ],
)
def test_a_call_reads_what_the_function_reads(sql: str, expected: str) -> None:
    assert answer(sql).startswith(expected)


def test_a_function_that_is_not_understood_is_named() -> None:
    assert answer("SELECT unread()").startswith("unknown")
    assert "d.unread is a function with a text that cannot be read" in answer("SELECT unread()")
    assert "the function d.strange" in answer("SELECT strange()")
    assert "the function d.bare: b without a database" in answer("SELECT bare()")
    assert "the function d.calling: total() without a database" in answer("SELECT calling()")


@pytest.mark.parametrize(
    ("sql", "defined", "query"),
    [
        ("f() RETURNS INT RETURN 1 + 1", "", "SELECT 1 + 1"),
        ("f(w INT DEFAULT 1, h STRUCT<a: INT>) RETURN w * h.a", "", "SELECT w * h.a"),
        ("f() RETURNS INT COMMENT 'RETURN' RETURN SELECT max(s) FROM b", "d.b", ""),
        ("f() RETURNS TABLE (s INT) READS SQL DATA RETURN TABLE b", "d.b", "TABLE b"),
        ("f(k INT) RETURNS INT RETURN (SELECT max(s) FROM b WHERE s < k) + 1", "d.b", ""),
        ("f() RETURN total()", "e.a", "SELECT total()"),
    ],
)
def test_a_new_function_reads_nothing_until_it_is_called(
    sql: str, defined: str, query: str
) -> None:
    namespace = Namespace("d", {}, VIEWS, functions=FUNCTIONS)
    for create in ("CREATE FUNCTION", "CREATE OR REPLACE TEMPORARY FUNCTION"):
        found = analyze(f"{create} {sql}", namespace, TestCatalog())
        assert isinstance(found, Known)
        assert not found.reads
        assert ", ".join(str(read.table) for read in found.defined) == defined
        match found.effect:
            case CreateTempFunction("f", ViewText(text, "")):
                assert text == (query or f"{sql.partition('RETURN ')[2]}") or query == ""
            case effect:
                assert effect == ChangeFunction("d", "f", is_new=True)
                assert found.database_written == "d"


@pytest.mark.parametrize(
    "sql",
    [
        "CREATE TEMPORARY FUNCTION f() RETURNS INT RETURN SELECT count(*) FROM v",
        "CREATE FUNCTION f() RETURNS INT RETURN x + 1",
        "CREATE TEMPORARY FUNCTION f() RETURNS INT",
        "CREATE TEMPORARY FUNCTION f(a INT DEFAULT total()) RETURNS INT RETURN a",
        "CREATE TEMPORARY FUNCTION f() RETURNS INT RETURN",
        "CREATE TEMPORARY FUNCTION abs(a INT) RETURNS INT RETURN 5",
    ],
)
def test_other_new_functions_are_refused(sql: str) -> None:
    variables = {"x": SessionVariable()}
    namespace = Namespace("d", {}, VIEWS, session_variables=variables, functions=FUNCTIONS)
    assert isinstance(analyze(sql, namespace, TestCatalog()), Unknown)
