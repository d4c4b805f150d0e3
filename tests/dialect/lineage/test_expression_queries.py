"""Queries inside expressions: the statement reads their tables."""

import pytest

from dialect.analyze import analyze
from dialect.statement import Namespace
from tests.dialect.catalogs import TestCatalog, written


@pytest.mark.parametrize(
    "expression",
    [
        "d.f(x) FILTER (WHERE exists (SELECT * FROM b))",
        "1 + d.f() FILTER (WHERE x IN (TABLE b))",
        "struct(d.f(x) IGNORE NULLS, (SELECT max(x) FROM b))",
        "d.f((SELECT max(x) FROM b)) RESPECT NULLS",
        "d.f(x) WITHIN GROUP (ORDER BY (SELECT max(x) FROM b))",
        "d.f(x) FILTER (WHERE exists (TABLE b)) OVER (PARTITION BY y)",
    ],
)
def test_queries_in_clauses_of_a_qualified_function_are_read(expression: str) -> None:
    for sql in (f"SELECT {expression} FROM a", f"SELECT * FROM a WHERE {expression} = 1"):
        assert written(analyze(sql, Namespace("d"), TestCatalog())) == "select; reads d.a, d.b"
