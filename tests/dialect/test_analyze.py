"""Golden cases, namespaces, caching, and results that must never be returned.

`make golden` rewrites the answers; review the diff.
"""

import os
from pathlib import Path

import pytest

from conf.catalog.tables import TableInfo, ViewText
from conf.names import TableRef
from dialect.analyze import FAILED, analyze
from dialect.statement import Known, Namespace, Needs, Unknown
from tests.dialect.catalogs import TABLES, TestCatalog, written

GOLDEN = Path(__file__).parent / "golden" / "statements.sql"
NAMESPACE = Namespace(
    database="d",
    variables={"day": "2020-01-01", "table": "p", "spark.x": "1"},
    temp_views={
        "tv": ViewText("SELECT * FROM p WHERE ds = '2020-01-01'", "d"),
        "global_temp.tg": ViewText("SELECT * FROM b", "d"),
        "late": ViewText("SELECT * FROM b", "d"),
        "made_before_late": ViewText("SELECT * FROM late", "d"),
        "made_after_late": ViewText("SELECT * FROM late", "d", temps=("late",)),
    },
    temp_tables={"tt": (), "tp": ("/files",)},
)


def _cases() -> list[tuple[str, str, str]]:
    """(title, SQL, answer) of each case: `-- title`, SQL lines, `--> answer`."""
    cases = []
    title, lines = "", []
    for line in GOLDEN.read_text(encoding="utf-8").splitlines():
        if line.startswith("--> "):
            cases.append((title, "\n".join(lines), line[4:]))
            title, lines = "", []
        elif line.startswith("-- ") and not lines:
            title = line[3:]
        elif line or lines:
            lines.append(line)
    return cases


def test_golden_is_not_empty() -> None:
    assert len(_cases()) > 100
    assert len({title for title, _, _ in _cases()}) == len(_cases())


@pytest.mark.skipif(os.environ.get("CAUSEWAY_GOLDEN") != "write", reason="rewrites the golden file")
def test_write_the_golden_file() -> None:
    GOLDEN.write_text(
        "\n".join(
            f"-- {title}\n{sql}\n--> {written(analyze(sql, NAMESPACE, TestCatalog()))}\n"
            for title, sql, _ in _cases()
        ),
        encoding="utf-8",
    )


@pytest.mark.parametrize(("title", "sql", "answer"), _cases(), ids=lambda value: value[:40])
def test_golden(title: str, sql: str, answer: str) -> None:
    assert written(analyze(sql, NAMESPACE, TestCatalog())) == answer, title


def test_needs_every_table_that_is_not_loaded() -> None:
    answer = analyze("SELECT * FROM unloaded.a JOIN unloaded.b JOIN d.a", NAMESPACE, TestCatalog())
    assert answer == Needs(frozenset({TableRef("unloaded", "a"), TableRef("unloaded", "b")}))


class _Changing(TestCatalog):
    def __init__(self) -> None:
        self.tables: dict[str, TableInfo | None] = {}

    def table(self, ref: TableRef) -> TableInfo | None:
        return self.tables.get(str(ref), TABLES.get(str(ref)))


def test_a_cached_answer_is_dropped_when_a_table_changes() -> None:
    catalog = _Changing()
    sql = "INSERT INTO b SELECT * FROM a WHERE 'kept' = 'kept'"
    first = analyze(sql, NAMESPACE, catalog)
    assert analyze(sql, NAMESPACE, catalog) is first
    catalog.tables["d.b"] = None
    second = analyze(sql, NAMESPACE, catalog)
    assert isinstance(first, Known)
    assert isinstance(second, Known)
    assert [write.exists for write in (*first.writes, *second.writes)] == [True, False]


def test_a_cached_answer_is_dropped_when_the_session_makes_a_view() -> None:
    sql = "SELECT * FROM a WHERE 'session' = 'session'"
    plain = analyze(sql, Namespace("d"), TestCatalog())
    shadowed = analyze(
        sql, Namespace("d", temp_views={"a": ViewText("SELECT * FROM b", "d")}), TestCatalog()
    )
    assert isinstance(plain, Known)
    assert isinstance(shadowed, Known)
    assert [str(read.table) for read in (*plain.reads, *shadowed.reads)] == ["d.a", "d.b"]


def test_the_result_depends_on_the_current_database() -> None:
    sql = "SELECT * FROM a WHERE 'database' = 'database'"
    answers = [analyze(sql, Namespace(name), TestCatalog()) for name in ("d", "E")]
    assert [written(answer) for answer in answers] == ["select; reads d.a", "select; reads e.a"]


def test_an_unknown_statement_writes_unless_no_word_of_it_can() -> None:
    harmless = analyze("SELECT a FROM b JOIN WHERE", NAMESPACE, TestCatalog())
    writing = analyze("CONVERT TO DELTA a", NAMESPACE, TestCatalog())
    assert isinstance(harmless, Unknown)
    assert isinstance(writing, Unknown)
    assert not harmless.writing
    assert writing.writing


def test_an_internal_error_makes_the_statement_unknown_and_is_logged(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(_context: object) -> Known:
        raise KeyError("ours")

    monkeypatch.setattr("dialect.analyze.analyze_statement", broken)
    answer = analyze("SELECT 'a fault of ours'", NAMESPACE, TestCatalog())
    assert answer == Unknown(FAILED, writing=False)
    assert "ours" in caplog.text


@pytest.mark.parametrize(
    ("settings", "left"),
    [
        ({}, "reads d.p@[ds=2020-01-01/hr=0 ds=2020-01-01/hr=11], d.q@[ds=2020-01-01]"),
        ({"hive.cbo.enable": "false"}, "reads d.p@*, d.q@[ds=2020-01-01]"),
        ({"hive.optimize.ppd": "false"}, "reads d.p@*, d.q@*"),
    ],
)
def test_pruning_follows_the_sessions_settings(settings: dict[str, str], left: str) -> None:
    sql = "SELECT * FROM p JOIN q ON p.ds = q.ds WHERE q.ds = '2020-01-01'"
    answer = analyze(sql, Namespace("d", settings), TestCatalog())
    assert written(answer) == f"select; {left}"


def test_explain_changes_nothing_in_the_session() -> None:
    made = analyze("CREATE TEMPORARY VIEW n AS SELECT 1", NAMESPACE, TestCatalog())
    explained = analyze("EXPLAIN CREATE TEMPORARY VIEW n AS SELECT 1", NAMESPACE, TestCatalog())
    assert isinstance(made, Known)
    assert isinstance(explained, Known)
    assert made.changes is not None
    assert explained.changes is None
    assert explained.effect == made.effect


@pytest.mark.parametrize(
    ("sql", "constant"),
    [
        ("SELECT 1", True),
        ("select -1.5 AS a, 'SELECT f(x) FROM t' b, null, true, current_date", True),
        ("/* ping */ SELECT 1;", True),
        ("SELECT count(1)", False),
        ("SELECT 1 FROM range(9)", False),
        ("SELECT (SELECT 1)", False),
        ("SELECT 1 UNION ALL SELECT 2", False),
        ("SELECT 1 LIMIT 1", False),
        ("VALUES 1", False),
        ("EXPLAIN SELECT 1", False),
        ("SELECT " + "1," * 60 + "1", False),
    ],
)
def test_a_select_of_literals_is_constant(sql: str, constant: bool) -> None:
    known = analyze(sql, Namespace(), TestCatalog())
    assert isinstance(known, Known)
    assert known.constant is constant
