"""Which functions written in SQL may read tables."""

from dialect.lineage.sql_functions import MOST_STEPS, reading_functions
from dialect.parsing.function_calls import COMPUTED


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


def test_a_function_that_calls_a_reading_one_reads() -> None:
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
