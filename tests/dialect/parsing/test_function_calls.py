"""The functions that statements and views call, and the foreign code that they run."""

import pytest

from conf.catalog.tables import TableInfo, TableKind, ViewText
from conf.names import TableRef
from conf.settings.security.restrictions import Code
from dialect.analyze import analyze
from dialect.lexing.tokenize import tokenize
from dialect.parsing.function_calls import COMPUTED, calls_of
from dialect.statement import Known, Namespace

VIEWS = {
    "d.calls": "SELECT reflect('java.lang.System', 'getenv', 'HOME') AS h",
    "d.nested": "SELECT * FROM calls",
    "d.script": "SELECT TRANSFORM(x) USING 'cat' AS y FROM a",
}


class Views:
    def table(self, ref: TableRef) -> TableInfo | None:
        sql = VIEWS.get(str(ref))
        if sql is None:
            return None
        return TableInfo(ref, TableKind.VIEW, view=ViewText(sql, "d"))


NAMESPACE = Namespace(
    "d",
    variables={"f": "reflect"},
    temp_views={"mine": ViewText("SELECT java_method('a', 'b') m", "d")},
)


def known(sql: str) -> Known:
    answer = analyze(sql, NAMESPACE, Views())
    assert isinstance(answer, Known), answer
    return answer


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT reflect('a', 'b')",
        "SELECT REFLECT ('a', 'b')",
        "SELECT `reflect`('a', 'b')",
        "SELECT reflect /* ( */ ('a', 'b')",
        "SELECT reflect -- x\n('a', 'b')",
        "SELECT ${f}('a', 'b')",
        "SELECT upper(concat(reflect('a', 'b'), 'x'))",
        "SELECT 1 WHERE EXISTS (SELECT reflect('a', 'b'))",
        "WITH c AS (SELECT reflect('a', 'b')) SELECT * FROM c",
        "SELECT * FROM calls",
        "SELECT * FROM nested n JOIN nested",
        "INSERT INTO t SELECT reflect('a', 'b')",
        "CREATE TABLE u AS SELECT * FROM nested",
        "CREATE VIEW u AS SELECT reflect('a', 'b')",
        "CREATE TEMPORARY VIEW u AS SELECT * FROM calls",
        "CACHE TABLE calls",
        "EXPLAIN SELECT * FROM calls",
    ],
)
def test_functions_are_found_in_every_place(sql: str) -> None:
    assert "reflect" in known(sql).functions


def test_functions_of_a_temporary_view_are_found() -> None:
    assert "java_method" in known("SELECT * FROM mine").functions


def test_a_column_with_a_functions_name_is_no_call() -> None:
    assert "reflect" not in known("SELECT 'reflect(1)' AS reflect -- reflect(").functions


def test_a_computed_function_name_may_be_any_function() -> None:
    assert "reflect" in calls_of(tokenize("SELECT IDENTIFIER('x.Reflect')('a')")).functions
    assert COMPUTED in calls_of(tokenize("SELECT IDENTIFIER('re' || 'flect')('a')")).functions
    assert COMPUTED not in calls_of(tokenize("SELECT (a), (b)(c)")).functions


@pytest.mark.parametrize(
    ("sql", "code"),
    [
        ("SELECT TRANSFORM(x) USING 'cat' AS y FROM a", {Code.SCRIPT}),
        ("FROM a MAP x USING 'cat'", {Code.SCRIPT}),
        ('FROM a REDUCE x USING "cat" AS y', {Code.SCRIPT}),
        ("SELECT * FROM script", {Code.SCRIPT}),
        ("SELECT transform(array(1), x -> x + 1)", set()),
        ("SELECT * FROM a JOIN b USING (x)", set()),
        ("ADD JAR hdfs:///x.jar", {Code.RESOURCE}),
        ("ADD FILES /a /b", {Code.RESOURCE}),
        ("CREATE TEMPORARY FUNCTION f AS 'org.F' USING JAR '/x.jar'", {Code.FUNCTION}),
        ("CREATE OR REPLACE FUNCTION f AS 'org.F'", {Code.FUNCTION}),
        ("DROP FUNCTION f", set()),
    ],
)
def test_scripts_and_jars_of_a_statement_are_found(sql: str, code: set[Code]) -> None:
    assert known(sql).code == code
