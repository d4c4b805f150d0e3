"""What changed a session, in order, so that it can be repeated in another cluster.

Every entry means something in every cluster. Most are repeated. An entry with a `home` is repeated
only there: it made, changed or dropped an object that only that cluster has. In all others it means
that the names which it touched are gone, whatever they meant there before
(`proxy.session.replay.session_replay`).

A journal is bounded and keeps only what matters: among neighbouring SET, RESET and USE a later
one replaces an earlier one of the same key. What a view or function was created under stays
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
MAX_TEXT = 32 << 20


@dataclass(frozen=True, slots=True)
class JournalEntry:
    """One statement. `home` is the only cluster in which it is repeated; None: it is in all."""

    number: int
    sql: str
    effect: SessionEffect
    home: ClusterName | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """The temporary objects that it makes, changes or drops."""
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
        self.changes = 0  # grows with every entry
        self.settings_changes = 0  # grows with every SET and RESET
        self.shared: set[tuple[Endpoint, str]] = set()  # global views of this session, by server

    def __len__(self) -> int:
        return len(self._entries)

    def room_for(self, sql: str) -> None:
        """Raises LimitReached when another statement that changes the session cannot be kept."""
        if len(self._entries) >= MAX_ENTRIES or self._text + len(sql) > MAX_TEXT:
            raise LimitReached("The session changed itself too often to be carried further.")

    def reserve(self) -> int:
        """The place of a statement that begins now, should it succeed."""
        self._last += 1
        return self._last

    def record(
        self, number: int, sql: str, effect: SessionEffect, home: ClusterName | None = None
    ) -> None:
        """Keeps what succeeded, in the place that was reserved for it."""
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
        """What a cluster's session lacks that has only the entries of the numbers `applied`."""
        return [entry for entry in self._entries if entry.number not in applied]

    def _forget_replaced(self, sql: str, effect: SessionEffect) -> int:
        """Drops what the newest entry makes void; how many. A `${x}` may need any earlier one."""
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
