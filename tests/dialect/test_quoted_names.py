"""Settings that change the meaning of quotes: double-quoted names, patterns in backquotes."""

from dialect.analyze import analyze
from dialect.statement import CreateTempView, Known, Namespace
from tests.dialect.catalogs import TestCatalog, written

ANSI = {"spark.sql.ansi.enabled": "true", "spark.sql.ansi.doubleQuotedIdentifiers": "true"}
ANSI_OFF = {**ANSI, "spark.sql.ansi.enabled": "false"}
PATTERNS = {"spark.sql.parser.quotedRegexColumnNames": "true"}
ONE_DAY = "select; reads d.p@[ds=2020-01-01/hr=0 ds=2020-01-01/hr=11]"


def _written(sql: str, settings: dict[str, str]) -> str:
    return written(analyze(sql, Namespace("d", settings), TestCatalog()))


def test_double_quotes_make_a_name_under_these_settings() -> None:
    sql = 'SELECT "k" FROM "d"."p" WHERE "ds" = \'2020-01-01\''
    assert _written(sql, ANSI) == ONE_DAY
    assert _written('SELECT * FROM "a" "b"', ANSI).startswith("select; reads d.a")


def test_double_quotes_make_a_string_without_ansi() -> None:
    sql = 'SELECT * FROM p WHERE ds = "2020-01-01"'
    assert _written(sql, ANSI_OFF) == ONE_DAY
    assert _written(sql, {}) == ONE_DAY
    assert _written(sql, ANSI) == "select; reads d.p@*"  # another column


def test_a_view_keeps_the_quoting_of_its_creation() -> None:
    sql = "CREATE TEMPORARY VIEW v1 AS SELECT * FROM p WHERE \"ds\" = '2020-01-01'"
    made = analyze(sql, Namespace("d", ANSI), TestCatalog())
    assert isinstance(made, Known)
    assert isinstance(made.effect, CreateTempView)
    later = Namespace("d", temp_views={"v1": made.effect.view})
    assert written(analyze("SELECT * FROM v1", later, TestCatalog())).startswith(ONE_DAY)


def test_a_pattern_of_columns_reads_the_same_tables_and_prunes_nothing() -> None:
    sql = "SELECT `(k|d.)?+.+` FROM `p` WHERE ds = '2020-01-01'"
    assert _written(sql, PATTERNS) == "select; reads d.p@*"


def test_no_condition_passes_a_pattern_of_columns() -> None:
    """Made under the setting, `d.` is the column ds: it is not that of the outer table."""
    inner = "EXISTS (SELECT 1 FROM (SELECT `d.` FROM q) i WHERE ds = '2020-01-01')"
    answer = _written(f"SELECT * FROM p WHERE {inner}", {})
    assert "d.p@*" in answer
