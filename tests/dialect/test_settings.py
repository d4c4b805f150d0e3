"""Settings of a session that change how Spark reads names."""

import pytest

from conf.catalog.tables import ViewText
from dialect.analyze import analyze
from dialect.statement import Namespace
from tests.dialect.catalogs import TestCatalog, written

VIEW = {"v": ViewText("SELECT * FROM b", "d")}


def _answer(sql: str, **settings: str) -> str:
    variables = {f"spark.sql.{key.replace('__', '.')}": value for key, value in settings.items()}
    return written(analyze(sql, Namespace("d", variables, VIEW), TestCatalog()))


@pytest.mark.parametrize(
    "sql",
    [
        "WITH A AS (SELECT 1) SELECT * FROM a",
        "WITH a AS (SELECT 1) SELECT * FROM A",
        "WITH a AS (SELECT 1), A AS (SELECT 2) SELECT * FROM b",
        "SELECT * FROM V",
        "CREATE TEMP VIEW W AS SELECT * FROM b",
        "ALTER VIEW v RENAME TO W",
        "DROP VIEW V",
    ],
)
def test_names_that_differ_by_case_are_refused_if_case_sensitive(sql: str) -> None:
    assert not _answer(sql).startswith("unknown")
    assert _answer(sql, caseSensitive="true").startswith("unknown")
    assert _answer(sql, caseSensitive=" TRUE ").startswith("unknown")
    assert not _answer(sql, caseSensitive="false").startswith("unknown")


def test_equal_names_are_understood_if_case_sensitive() -> None:
    for sql in ("WITH A AS (SELECT * FROM b) SELECT * FROM A", "SELECT * FROM v, B"):
        assert _answer(sql, caseSensitive="true").startswith("select; reads d.b")


def test_a_temporary_view_that_keeps_its_plan_is_refused() -> None:
    for sql in ("CREATE TEMP VIEW w AS SELECT * FROM b", "ALTER VIEW v AS SELECT * FROM b"):
        assert not _answer(sql).startswith("unknown")
        stored = _answer(sql, legacy__storeAnalyzedPlanForView="true")
        assert stored.startswith("unknown")
