"""What a session said that changed it, in order, so that another cluster can be told.

A journal is bounded and keeps only what matters: among neighbouring SET, RESET and USE a later
one replaces an earlier one of the same key. What a view or function was created under stays
before it.
"""

from dataclasses import dataclass

from conf.names import ClusterName
from dialect.statement import (
    CreateTempView,
    ResetVariables,
    SessionEffect,
    SetVariable,
    UseDatabase,
)
from proxy.errors import TooMany

MAX_ENTRIES = 20_000
MAX_TEXT = 32 << 20


@dataclass(frozen=True, slots=True)
class Entry:
    """One statement as the user wrote it. `only`: it has a meaning in that cluster alone."""

    number: int
    sql: str
    effect: SessionEffect
    only: ClusterName | None = None

    @property
    def is_shared_view(self) -> bool:
        """A global view: another session may already have said it to the same server."""
        return isinstance(self.effect, CreateTempView) and self.effect.is_global


class Journal:
    """Entries are numbered upwards from 1; a number is never used again."""

    def __init__(self) -> None:
        self._entries: list[Entry] = []
        self._last = 0
        self._text = 0

    @property
    def last(self) -> int:
        """The number of the newest entry ever made, 0 for none."""
        return self._last

    def __len__(self) -> int:
        return len(self._entries)

    def room_for(self, sql: str) -> None:
        """Raises TooMany when another statement that changes the session cannot be kept."""
        if len(self._entries) >= MAX_ENTRIES or self._text + len(sql) > MAX_TEXT:
            raise TooMany("The session changed itself too often to be carried further.")

    def record(self, sql: str, effect: SessionEffect, only: ClusterName | None = None) -> int:
        """Appends what succeeded; gives its number."""
        self._last += 1
        self._forget_replaced(effect)
        self._entries.append(Entry(self._last, sql, effect, only))
        self._text += len(sql)
        return self._last

    def since(self, number: int, cluster: ClusterName) -> list[Entry]:
        """What a session in that cluster has to be told when it knows up to `number`."""
        fresh: list[Entry] = []
        for entry in reversed(self._entries):
            if entry.number <= number:
                break
            if entry.only in (None, cluster):
                fresh.append(entry)
        fresh.reverse()
        return fresh

    def _forget_replaced(self, effect: SessionEffect) -> None:
        at = len(self._entries)
        while at and isinstance(
            self._entries[at - 1].effect, SetVariable | ResetVariables | UseDatabase
        ):
            at -= 1
            if _replaces(effect, self._entries[at].effect):
                self._text -= len(self._entries[at].sql)
                del self._entries[at]


def _replaces(later: SessionEffect, earlier: SessionEffect) -> bool:
    match later, earlier:
        case SetVariable(key=key), SetVariable(key=other):
            return key == other and "${" not in key
        case UseDatabase(), UseDatabase():
            return True
    return False
