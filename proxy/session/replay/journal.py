"""The statements that changed a session, in order, so that they can be repeated in other clusters.

Every entry has a meaning in every cluster. Most are repeated in all. An entry with a `home` is
repeated only there: it made, changed or dropped an object that only this cluster has. In all other
clusters it means that the names which it touched do not exist any more, whatever they meant there
before (`proxy.session.replay.session_replay`).

A journal is bounded and keeps only what matters: among neighbouring SET, RESET and USE a later one
replaces an earlier one of the same key. Settings under which a view or function was created stay
before it.
"""

from collections.abc import Set
from dataclasses import dataclass

from conf.names import ClusterName
from conf.topology import Endpoint
from dialect.statement import (
    AssignVariables,
    CreateTempTable,
    CreateTempView,
    DropTemp,
    RenameTemp,
    ResetVariables,
    SessionEffect,
    SetVariable,
    UseDatabase,
)
from proxy.errors import LimitReached

MAX_ENTRIES = 20_000
MAX_TEXT = 32 << 20  # characters of all texts


@dataclass(frozen=True, slots=True)
class JournalEntry:
    """One statement. `home` is the only cluster in which it is repeated; None: in all."""

    number: int
    sql: str
    effect: SessionEffect
    home: ClusterName | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """The temporary objects that the statement makes, changes or drops."""
        match self.effect:
            case CreateTempView(name) | CreateTempTable(name) | DropTemp(name):
                return (name,)
            case RenameTemp(name, new):
                return (name, new)
            case AssignVariables():
                return self.effect.names
        return ()


class Journal:
    """Entries in the order in which their statements began; each has a number of its own."""

    def __init__(self) -> None:
        self._entries: list[JournalEntry] = []
        self._last = 0
        self._text = 0
        self.changes = 0  # increased with every entry
        self.settings_changes = 0  # increased with every SET and RESET
        self.shared: set[tuple[Endpoint, str]] = set()  # global views that this session made

    def __len__(self) -> int:
        return len(self._entries)

    def room_for(self, sql: str) -> None:
        """Raises LimitReached if there is no room for another statement."""
        if len(self._entries) >= MAX_ENTRIES or self._text + len(sql) > MAX_TEXT:
            raise LimitReached("The session changed itself too often to be carried further.")

    def reserve(self) -> int:
        """Reserves the place of a statement that begins now, in case it succeeds."""
        self._last += 1
        return self._last

    def record(
        self, number: int, sql: str, effect: SessionEffect, home: ClusterName | None = None
    ) -> None:
        """Adds a successful statement in the place that was reserved for it."""
        at = len(self._entries)
        while at and self._entries[at - 1].number > number:
            at -= 1
        if at == len(self._entries):
            at -= self._forget_replaced(sql, effect)
        self._entries.insert(at, JournalEntry(number, sql, effect, home))
        self._text += len(sql)
        self.changes += 1
        self.settings_changes += isinstance(effect, SetVariable | ResetVariables)

    def pending_for(self, applied: Set[int]) -> list[JournalEntry]:
        """The entries that a cluster's session lacks if it has those with the numbers `applied`."""
        return [entry for entry in self._entries if entry.number not in applied]

    def _forget_replaced(self, sql: str, effect: SessionEffect) -> int:
        """Removes entries that the newest one replaces, and returns their number. Nothing is
        removed before a statement with `${x}`, which may need any earlier entry."""
        at, dropped = len(self._entries), 0
        while "${" not in sql and at and _is_setting(self._entries[at - 1]):
            at -= 1
            if _replaces(effect, self._entries[at].effect):
                self._text -= len(self._entries[at].sql)
                del self._entries[at]
                dropped += 1
        return dropped


def _is_setting(entry: JournalEntry) -> bool:
    kinds = SetVariable | ResetVariables | UseDatabase
    return isinstance(entry.effect, kinds) and "${" not in entry.sql


def _replaces(later: SessionEffect, earlier: SessionEffect) -> bool:
    match later, earlier:
        case SetVariable(key=key), SetVariable(key=other):
            return key == other
        case UseDatabase(), UseDatabase():
            return True
    return False
