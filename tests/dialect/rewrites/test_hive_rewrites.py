"""Hive's constructs are rewritten to forms that the parser can read."""

import pytest

from dialect.errors import NotUnderstood
from dialect.lexing.tokenize import tokenize
from dialect.parsing.language import parse
from dialect.rewrites.hive_rewrites import normalize


def _standard(sql: str) -> str:
    return " ".join(token.text for token in normalize(tokenize(sql)))


@pytest.mark.parametrize(
    ("hive", "form"),
    [
        ("TABLE t", "SELECT * FROM t"),
        ("SELECT 1 UNION TABLE t", "SELECT 1 UNION SELECT * FROM t"),
        ("SELECT * FROM a JOIN b", "SELECT * FROM a CROSS JOIN b"),
        ("SELECT * FROM a INNER JOIN b", "SELECT * FROM a CROSS JOIN b"),
        ("SELECT * FROM a JOIN b ON x", "SELECT * FROM a JOIN b ON x"),
        ("SELECT * FROM (a JOIN b) JOIN c ON x", "SELECT * FROM ( a CROSS JOIN b ) JOIN c ON x"),
        ("SELECT * FROM f(ON t PARTITION BY x) s", "SELECT * FROM ( SELECT * FROM t LIMIT 1 ) s"),
        (
            "SELECT * FROM f(ON g(ON t) ORDER BY x)",
            "SELECT * FROM ( SELECT * FROM ( SELECT * FROM t LIMIT 1 ) LIMIT 1 )",
        ),
        ("SELECT CAST(on RLIKE 'x' AS INT)", "SELECT CAST ( on RLIKE x AS INT )"),
        ("SELECT x FROM f(on IN (1))", "SELECT x FROM f ( on IN ( 1 ) )"),
        ("SELECT x JOIN b ON f(on IGNORE)", "SELECT x JOIN b ON f ( on IGNORE )"),
        ("FROM t MAP a, b USING 'c' AS d", "FROM t SELECT TRANSFORM ( a , b ) USING c AS ( d )"),
        ("SELECT f(a) USING 'c' AS d INT FROM t", "SELECT f ( a ) USING c AS ( d INT ) FROM t"),
        ("SELECT f(a) USING 'c' AS (d) FROM t", "SELECT f ( a ) USING c AS ( d ) FROM t"),
        ("SELECT * FROM t TABLESAMPLE (10M) s", "SELECT * FROM t TABLESAMPLE ( 1 PERCENT ) s"),
        ("SELECT * FROM TABLE (VALUES (1)) v", "SELECT * FROM ( VALUES ( 1 ) ) v"),
        ("SELECT map(1, 2), reduce(a, b) FROM t", "SELECT map ( 1 , 2 ) , reduce ( a , b ) FROM t"),
        (
            "FROM UNIQUEJOIN PRESERVE a x (x.k), b (b.k) SELECT x.k",
            "FROM a x FULL OUTER JOIN b SELECT x.k",
        ),
    ],
)
def test_hive_constructs_become_forms_that_the_parser_knows(hive: str, form: str) -> None:
    assert _standard(hive) == form.replace("x.k", "x . k")


def test_windows_are_partitioned_and_ordered() -> None:
    sql = "SELECT f(x) OVER (DISTRIBUTE BY a SORT BY b) FROM t WINDOW w AS (CLUSTER BY c) SORT BY d"
    words = _standard(sql)
    assert words.count("SORT BY") == 2  # the text stays, the kinds change
    tree = parse(normalize(tokenize(sql)), sql)
    assert tree.args.get("sort") is not None


def test_outer_joins_without_conditions_are_bounded() -> None:
    few = "SELECT * FROM a " + "LEFT JOIN b " * 3
    many = "SELECT * FROM a " + "LEFT JOIN b " * 30
    assert _standard(few)
    with pytest.raises(NotUnderstood):
        _standard(many)
