"""Checks of databases, which create and change nothing."""

from pathlib import Path

import pytest

from cli.check import stores, targets
from cli.check.report import CheckFinding, Level, error, ok
from database.errors import StoreUnavailable
from database.history.history_store import HistoryStore
from pipeline.scheduler.store.store import Store


def test_a_file_that_is_missing_is_not_made(tmp_path: Path) -> None:
    path = tmp_path / "new" / "history.db"
    for url in (str(path), f"sqlite:///{path}"):
        finding = stores.history(targets.HistoryDatabase(url), 60.0)
        assert finding == ok(f"{path} is created at the first start")
    assert list(tmp_path.iterdir()) == []


def test_the_schema_of_both_databases(tmp_path: Path) -> None:
    path = str(tmp_path / "db")
    HistoryStore(path)
    assert stores.history(targets.HistoryDatabase(path), 60.0) == ok(f"{path} has schema 0004")
    unknown = stores.lifecycle_store(targets.LifecycleStore(path), 60.0)
    assert unknown == ok(f"{path} has no tables yet: the first start creates them")
    Store(path)
    known = stores.lifecycle_store(targets.LifecycleStore(path), 60.0)
    assert known == ok(f"{path} has schema 0002")


def test_postgresql_is_asked(postgresql: str) -> None:
    finding = stores.history(targets.HistoryDatabase(postgresql), 60.0)
    assert finding.level is Level.OK
    assert "PostgreSQL" in finding.text


@pytest.mark.parametrize(
    ("revision", "finding"),
    [
        ("0002", ok("db has schema 0002")),
        ("0001", ok("db has schema 0001, which the next start migrates to 0002")),
        ("0003", error("db has schema 0003 of a later release; this one knows 0002")),
    ],
)
def test_a_revision_of_another_release(revision: str, finding: CheckFinding) -> None:
    assert stores.schema("db", revision, "0002") == finding


@pytest.mark.parametrize("url", ["mysql://h/db", "postgresql://127.0.0.1:1/db"])
def test_a_database_that_does_not_open(url: str) -> None:
    pytest.importorskip("psycopg", reason="psycopg is not installed")
    with pytest.raises(StoreUnavailable):
        stores.history(targets.HistoryDatabase(url), 60.0)


def test_a_file_of_another_kind(tmp_path: Path) -> None:
    (tmp_path / "db").write_text("no database at all, but a text")
    with pytest.raises(StoreUnavailable, match="not a database"):
        stores.history(targets.HistoryDatabase(str(tmp_path / "db")), 60.0)
