"""What is told from the text alone to end at once."""

import pytest

from dialect.ping import is_ping


@pytest.mark.parametrize(
    "sql",
    ["SELECT 1", "select 1;", " Select\n-1 AS one ", "SELECT 'x'", "select true up", "SELECT null"],
)
def test_a_literal_is_a_ping(sql: str) -> None:
    assert is_ping(sql)


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT 1 FROM t",
        "SELECT 1 LIMIT 1",
        "SELECT f(1)",
        "SELECT 1, 2",
        "SELECT 1 + 1",
        "SELECT ${x}",
        "SELECT '${x}'",
        "SELECT 1; SELECT 2",
        "SELECT 1 UNION SELECT 2",
        "SELECT *",
        "SELECT x",
        "SELECT '" + "x" * 300 + "'",
        "EXPLAIN SELECT 1",
        "",
    ],
)
def test_nothing_else_is(sql: str) -> None:
    assert not is_ping(sql)
