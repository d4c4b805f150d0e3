"""What is kept of a session's changes, and what a cluster is told."""

import pytest

from conf.names import ClusterName
from conf.tables import ViewText
from dialect.statement import (
    AddResource,
    CreateTempTable,
    CreateTempView,
    ResetVariables,
    SetVariable,
    UseDatabase,
)
from proxy.errors import TooMany
from proxy.session import journal as module
from proxy.session.journal import Journal

EAST, WEST = ClusterName("east"), ClusterName("west")
VIEW = CreateTempView("v", ViewText("SELECT 1", "default"))


def said(journal: Journal, since: int = 0, cluster: ClusterName = EAST) -> list[str]:
    return [entry.sql for entry in journal.since(since, cluster)]


def test_everything_in_order_and_only_what_is_new() -> None:
    journal = Journal()
    journal.record("USE d", UseDatabase("d"))
    known = journal.record("VIEW", VIEW)
    journal.record("JAR", AddResource(("a.jar",)))
    assert said(journal) == ["USE d", "VIEW", "JAR"]
    assert said(journal, known) == ["JAR"]
    assert said(journal, journal.last) == []


def test_neighbouring_settings_replace_each_other() -> None:
    journal = Journal()
    journal.record("SET a=1", SetVariable("a", "1"))
    journal.record("USE d", UseDatabase("d"))
    journal.record("SET b=1", SetVariable("b", "1"))
    number = journal.record("SET a=2", SetVariable("a", "2"))
    journal.record("USE e", UseDatabase("e"))
    assert said(journal) == ["SET b=1", "SET a=2", "USE e"]
    assert said(journal, number) == ["USE e"]


def test_what_a_view_was_made_under_stays_before_it() -> None:
    journal = Journal()
    journal.record("SET a=1", SetVariable("a", "1"))
    journal.record("VIEW", VIEW)
    journal.record("SET a=2", SetVariable("a", "2"))
    assert said(journal) == ["SET a=1", "VIEW", "SET a=2"]


def test_reset_stays_where_it_was_said() -> None:
    journal = Journal()
    journal.record("SET a=1", SetVariable("a", "1"))
    journal.record("RESET", ResetVariables())
    journal.record("SET b=1", SetVariable("b", "1"))
    assert said(journal)[-2:] == ["RESET", "SET b=1"]


def test_what_belongs_to_one_cluster_is_said_there_alone() -> None:
    journal = Journal()
    journal.record("TEMP TABLE", CreateTempTable("t"), only=WEST)
    assert said(journal, cluster=EAST) == []
    assert said(journal, cluster=WEST) == ["TEMP TABLE"]


def test_it_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_ENTRIES", 2)
    journal = Journal()
    for number in range(2):
        journal.room_for("VIEW")
        journal.record(f"VIEW {number}", VIEW)
    with pytest.raises(TooMany):
        journal.room_for("VIEW")


def test_its_text_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_TEXT", 14)
    journal = Journal()
    for number in range(100):
        journal.room_for("SET a=1")
        journal.record(f"SET a={number % 10}", SetVariable("a", str(number)))
    with pytest.raises(TooMany):
        journal.room_for("SET abcd=1")
