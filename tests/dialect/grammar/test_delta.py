"""Statements of Delta: its log, its maintenance, and forms that are refused by name."""

import pytest

from conf.catalog.tables import TableInfo
from conf.names import TableRef
from dialect.analyze import analyze
from dialect.statement import Namespace, Unknown
from tests.dialect.catalogs import TABLES, TestCatalog, written

A = TABLES["d.a"]


def answer(sql: str) -> str:
    return written(analyze(sql, Namespace("d"), TestCatalog()))


@pytest.mark.parametrize("kind", ["HISTORY", "DETAIL"])
def test_a_description_of_the_log_reads_the_table(kind: str) -> None:
    for sql in (f"DESCRIBE {kind} a", f"DESC {kind} d.a", f"DESCRIBE {kind} a LIMIT 3"):
        assert answer(sql) == "metadata_read; reads d.a", sql
    for sql in (f"DESCRIBE {kind} '/x/a'", f"DESCRIBE {kind} delta.`/x/a`"):
        assert answer(sql).startswith("unknown"), sql


def test_an_existing_table_history_is_described() -> None:
    class WithHistory(TestCatalog):
        def table(self, ref: TableRef) -> TableInfo | None:
            return A if ref == TableRef("d", "history") else super().table(ref)

    namespace = Namespace("d")
    found = written(analyze("DESCRIBE history x", namespace, WithHistory()))
    assert found == "metadata_read; reads d.history"
    assert answer("DESCRIBE d.history x") == "metadata_read; reads d.history"


@pytest.mark.parametrize(
    "sql",
    [
        "OPTIMIZE a",
        "OPTIMIZE d.a WHERE x = 1 ZORDER BY (y)",
        "VACUUM a RETAIN 168 HOURS DRY RUN",
        "RESTORE TABLE a TO VERSION AS OF 1",
        "RESTORE a TO TIMESTAMP AS OF '2020-01-01'",
    ],
)
def test_maintenance_reads_and_writes_its_table(sql: str) -> None:
    assert answer(sql) == "maintenance; reads d.a; insert d.a"


@pytest.mark.parametrize(
    "sql",
    [
        "OPTIMIZE delta.`/x`",
        "OPTIMIZE '/x'",
        "OPTIMIZE v",
        "OPTIMIZE a WHERE x IN (SELECT x FROM b)",
        "VACUUM '/x'",
        "RESTORE delta.`/x` TO VERSION AS OF 1",
        "CREATE TABLE n SHALLOW CLONE a",
        "CREATE TABLE IF NOT EXISTS n DEEP CLONE a VERSION AS OF 1",
        "CREATE OR REPLACE TABLE n CLONE a",
        "CONVERT TO DELTA a",
        "GENERATE symlink_format_manifest FOR TABLE a",
        "REORG TABLE a APPLY (PURGE)",
        "MERGE INTO delta.`/x` t USING a ON t.x = a.x WHEN MATCHED THEN DELETE",
    ],
)
def test_statements_that_may_use_other_files_are_unknown(sql: str) -> None:
    found = analyze(sql, Namespace("d"), TestCatalog())
    assert isinstance(found, Unknown)
    assert found.writing


def test_a_column_may_have_the_name_clone() -> None:
    assert answer("CREATE TABLE n (clone INT)") == "create_table; new create d.n"
