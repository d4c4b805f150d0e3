"""DECLARE, SET VARIABLE, DROP TEMPORARY VARIABLE, and statements that use the variables."""

import pytest

from dialect.analyze import analyze
from dialect.statement import AssignVariables, DropTemp, Namespace, SessionVariable, Unknown
from tests.dialect.catalogs import TestCatalog, written
from tests.dialect.grammar.session.variables import known, namespace


def assigned(sql: str) -> AssignVariables:
    effect = known(sql).effect
    assert isinstance(effect, AssignVariables)
    return effect


@pytest.mark.parametrize(
    ("sql", "name", "variable"),
    [
        ("DECLARE y = 1", "y", SessionVariable()),
        ("DECLARE y == 'a'", "y", SessionVariable(True, "a")),
        ("DECLARE OR REPLACE VARIABLE `Y` INT DEFAULT 5", "y", SessionVariable()),
        ("DECLARE VAR y STRING", "y", SessionVariable(True)),
        ("DECLARE session.y STRING DEFAULT 'a' || 1", "y", SessionVariable(True, "a1")),
        ("DECLARE system.session.y = upper('a')", "y", SessionVariable(True, "A")),
        ("DECLARE y = x || '2'", "y", SessionVariable(True, "e.a2")),
        ("DECLARE y CHAR(5) = 'a'", "y", SessionVariable()),
        ("DECLARE y = ARRAY(1, 2)", "y", SessionVariable()),
        ("DECLARE y = DATE '2026-01-31' + INTERVAL 1 DAY", "y", SessionVariable()),
        ("DECLARE y = CAST(5L AS STRING)", "y", SessionVariable()),
        ("SET VAR x = 'f'", "x", SessionVariable(True, "f")),
        ("SET VARIABLE session.x = DEFAULT", "x", SessionVariable(True)),
        ("SET VAR n = '7'", "n", SessionVariable()),
        ("SET VAR n = -n + 2.5", "n", SessionVariable()),
    ],
)
def test_a_value_that_is_the_same_everywhere(
    sql: str, name: str, variable: SessionVariable
) -> None:
    effect = assigned(sql)
    assert effect.variables == ((f"system.session.{name}", variable),)
    assert effect.repeatable


@pytest.mark.parametrize(
    "value",
    [
        *("rand()", "current_timestamp()", "current_user", "(SELECT 1)", "(SELECT max(s) FROM a)"),
        *("'now'", "' Today UTC'", "'tomor' || 'row'", "DATE 'yesterday'", "CAST('NOW' AS DATE)"),
        *("substring('xnow', 2)", "some_function(1)", "unknown_name", "CASE WHEN TRUE THEN 1 END"),
    ],
)
def test_a_value_that_is_computed_once(value: str) -> None:
    assert not assigned(f"SET VAR x = {value}").repeatable
    assert not assigned(f"SET VAR n = 1, x = {value}").repeatable


def test_assignments_read_the_tables_of_their_queries() -> None:
    for sql in ("SET VAR n = (SELECT max(s) FROM a)", "SET VAR (n, x) = (SELECT s, s FROM a)"):
        assert written(known(sql)).startswith("set; reads d.a; temps")
    for sql in ("DECLARE y == (SELECT max(s) FROM a)", "SET VAR n == (SELECT max(s) FROM a)"):
        assert "reads d.a" in written(known(sql))
    assert assigned("SET VAR (n, x) = (SELECT s, s FROM a)").names == (
        "system.session.n",
        "system.session.x",
    )


@pytest.mark.parametrize(
    "sql",
    [
        *("DECLARE 1y = 2", "DECLARE `a b` = 2", "DECLARE db.y = 2", "DECLARE"),
        *("DECLARE c CURSOR FOR SELECT * FROM a", "SET VAR x", "SET VAR x =", "SET VAR db.x = 1"),
        *("DROP TEMPORARY VARIABLE", "DROP TEMPORARY VARIABLE a.b"),
    ],
)
def test_other_forms_are_refused(sql: str) -> None:
    assert isinstance(analyze(sql, namespace(), TestCatalog()), Unknown)


def test_dropping_a_variable() -> None:
    for sql in ("DROP TEMPORARY VARIABLE x", "DROP TEMP VARIABLE IF EXISTS session.`X`"):
        assert known(sql).effect == DropTemp("system.session.x")
        assert known(sql).temps == ("system.session.x",)


@pytest.mark.parametrize(
    ("sql", "used"),
    [
        ("SELECT X FROM b", "x"),
        ("SELECT 1 FROM b WHERE s > session.`x`", "x"),
        ("SELECT * FROM v", "v x"),
        ("SELECT * FROM w", "w"),
        ("SELECT 'x' FROM b", ""),
        ("CREATE TEMPORARY VIEW u AS SELECT x FROM b", "x"),
        ("SET VAR n = 1", "n"),
        ("DECLARE n = 1", "n"),
        ("DECLARE OR REPLACE n = 1", ""),
        ("DECLARE OR REPLACE n = n + 1", "n"),
    ],
)
def test_a_statement_that_may_name_a_variable_uses_it(sql: str, used: str) -> None:
    names = {name.removeprefix("system.session.") for name in known(sql).temps}
    assert names == set(used.split())


def test_identifier_takes_the_text_of_a_variable() -> None:
    assert written(known("SELECT * FROM IDENTIFIER(x)")).startswith("select; reads e.a")
    assert written(known("SELECT * FROM IDENTIFIER(session.X || '')")).startswith(
        "select; reads e.a"
    )
    assert written(known("INSERT INTO IDENTIFIER(x) SELECT * FROM b")).startswith(
        "insert; reads d.b; insert e.a"
    )
    for name in ("n", "q", "nosuch", "b.x"):
        answer = analyze(f"INSERT INTO IDENTIFIER({name}) SELECT 1", namespace(), TestCatalog())
        assert isinstance(answer, Unknown) or answer.kind == "refused"


def test_a_cached_result_depends_on_the_values_of_variables() -> None:
    sql = "SELECT * FROM IDENTIFIER(x)"
    assert written(known(sql)).startswith("select; reads e.a")
    other = Namespace("d", session_variables={"x": SessionVariable(True, "b")})
    assert written(analyze(sql, other, TestCatalog())).startswith("select; reads d.b")
    assert isinstance(analyze(sql, Namespace("d"), TestCatalog()), Unknown)


def test_names_that_differ_by_case_are_refused_if_case_sensitive() -> None:
    for sql in ("DECLARE Y = 1", "SELECT X FROM b", "EXECUTE IMMEDIATE 'SELECT 1'"):
        answer = analyze(sql, namespace(caseSensitive="true"), TestCatalog())
        assert isinstance(answer, Unknown)
