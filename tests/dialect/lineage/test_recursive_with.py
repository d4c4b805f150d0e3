"""WITH RECURSIVE (Spark 4): a query may refer to itself."""

import pytest

from dialect.analyze import analyze
from dialect.statement import Namespace
from tests.dialect.catalogs import TestCatalog, written

OUTSIDE = (
    "WITH RECURSIVE r AS (SELECT ds FROM q UNION ALL SELECT concat(ds, '-02') FROM r)"
    " SELECT * FROM r WHERE ds = '2020-01-02'"
)


@pytest.mark.parametrize(
    ("sql", "answer"),
    [
        (
            "WITH RECURSIVE r(x) AS"
            " (SELECT x FROM a UNION ALL SELECT b.z FROM r JOIN b ON b.x = r.x) SELECT * FROM r",
            "select; reads d.a, d.b",
        ),
        (
            "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r WHERE n < 3)"
            " SELECT * FROM r JOIN r AS other USING (n)",
            "select",
        ),
        # a condition on the result leaves out no row that may lead to others
        (OUTSIDE, "select; reads d.q@*"),
        (
            OUTSIDE.replace("FROM q", "FROM q WHERE ds = '2020-01-01'"),
            "select; reads d.q@[ds=2020-01-01]",
        ),
        (
            "SELECT * FROM (WITH RECURSIVE r AS (SELECT x FROM a UNION ALL SELECT x FROM r)"
            " SELECT * FROM r)",
            "select; reads d.a",
        ),
        (
            "WITH RECURSIVE b(n) AS (SELECT 1 UNION ALL SELECT n FROM b) SELECT * FROM b",
            "unknown (reads only): recursive WITH with the name of an object, b",
        ),
        (
            "WITH RECURSIVE r AS (WITH s AS (SELECT 1) SELECT * FROM s) SELECT * FROM r",
            "unknown (reads only): WITH in a query of recursive WITH",
        ),
        (
            "WITH RECURSIVE r AS (SELECT 1 UNION ALL SELECT * FROM unloaded.r) SELECT * FROM r",
            "needs unloaded.r",
        ),
        # without the word a query does not see itself
        ("WITH a AS (SELECT * FROM a) SELECT * FROM a", "select; reads d.a"),
    ],
)
def test_recursive_with(sql: str, answer: str) -> None:
    assert written(analyze(sql, Namespace("d"), TestCatalog())) == answer
