"""The changes that a session's journal keeps, and those that a cluster lacks."""

import pytest

from conf.catalog.tables import ViewText
from conf.names import ClusterName
from dialect.statement import (
    AddResource,
    CreateTempTable,
    CreateTempView,
    RenameTemp,
    ResetVariables,
    SessionEffect,
    SetVariable,
    UseDatabase,
)
from proxy.errors import LimitReached
from proxy.session.replay import journal as module
from proxy.session.replay.journal import Journal

WEST = ClusterName("west")
VIEW = CreateTempView("v", ViewText("SELECT 1", "default"))


def keep(journal: Journal, sql: str, effect: SessionEffect) -> int:
    number = journal.reserve()
    journal.record(number, sql, effect)
    return number


def pending(journal: Journal, *replayed: int) -> list[str]:
    return [entry.sql for entry in journal.pending_for(set(replayed))]


def test_pending_entries_are_in_order_and_lack_those_applied() -> None:
    journal = Journal()
    first = keep(journal, "USE d", UseDatabase("d"))
    second = keep(journal, "VIEW", VIEW)
    third = keep(journal, "JAR", AddResource(("a.jar",)))
    assert pending(journal) == ["USE d", "VIEW", "JAR"]
    assert pending(journal, first, third) == ["VIEW"]
    assert pending(journal, first, second, third) == []


def test_statements_have_the_place_in_which_they_began() -> None:
    journal = Journal()
    early, failed, late = (journal.reserve() for _ in range(3))
    journal.record(late, "USE e", UseDatabase("e"))
    changes = journal.changes
    journal.record(early, "VIEW", VIEW)
    assert pending(journal) == ["VIEW", "USE e"]
    assert journal.changes > changes
    assert failed not in [entry.number for entry in journal.pending_for(set())]


def test_neighbouring_settings_replace_each_other() -> None:
    journal = Journal()
    keep(journal, "SET a=1", SetVariable("a", "1"))
    keep(journal, "USE d", UseDatabase("d"))
    keep(journal, "SET b=1", SetVariable("b", "1"))
    keep(journal, "SET a=2", SetVariable("a", "2"))
    keep(journal, "USE e", UseDatabase("e"))
    assert pending(journal) == ["SET b=1", "SET a=2", "USE e"]


def test_entries_that_a_variable_needs_stay_before_it() -> None:
    journal = Journal()
    keep(journal, "SET a=1", SetVariable("a", "1"))
    keep(journal, "SET b=${a}", SetVariable("b", "1"))
    keep(journal, "SET a=2", SetVariable("a", "2"))
    keep(journal, "SET a=${a}3", SetVariable("a", "23"))
    assert pending(journal) == ["SET a=1", "SET b=${a}", "SET a=2", "SET a=${a}3"]


def test_settings_under_which_a_view_was_made_stay_before_it() -> None:
    journal = Journal()
    keep(journal, "SET a=1", SetVariable("a", "1"))
    keep(journal, "VIEW", VIEW)
    keep(journal, "SET a=2", SetVariable("a", "2"))
    assert pending(journal) == ["SET a=1", "VIEW", "SET a=2"]


def test_reset_stays_at_its_place() -> None:
    journal = Journal()
    keep(journal, "SET a=1", SetVariable("a", "1"))
    keep(journal, "RESET", ResetVariables())
    keep(journal, "SET b=1", SetVariable("b", "1"))
    assert pending(journal)[-2:] == ["RESET", "SET b=1"]


def test_an_entry_has_its_home_and_the_names_that_it_touches() -> None:
    journal = Journal()
    journal.record(journal.reserve(), "TEMP TABLE", CreateTempTable("t"), WEST)
    journal.record(journal.reserve(), "RENAME", RenameTemp("t", "u"), WEST)
    kept = [(entry.home, entry.names) for entry in journal.pending_for(set())]
    assert kept == [(WEST, ("t",)), (WEST, ("t", "u"))]


def test_the_number_of_entries_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_ENTRIES", 2)
    journal = Journal()
    for number in range(2):
        journal.room_for("VIEW")
        keep(journal, f"VIEW {number}", VIEW)
    with pytest.raises(LimitReached):
        journal.room_for("VIEW")


def test_the_length_of_all_texts_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_TEXT", 14)
    journal = Journal()
    for number in range(100):
        journal.room_for("SET a=1")
        keep(journal, f"SET a={number % 10}", SetVariable("a", str(number)))
    with pytest.raises(LimitReached):
        journal.room_for("SET abcd=1")
