"""What a cluster's session remembers: what its user said, here and elsewhere, and tables' files."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping

from conf.names import ClusterName, TableRef
from dialect.statement import (
    CreateTempTable,
    CreateTempView,
    DropTemp,
    Known,
    SessionEffect,
    Unknown,
)
from proxy.errors import Failure, NotCarried, Rejected
from proxy.session.journal import Entry, Journal
from proxy.wire.status import as_synchronous

_ALREADY_THERE = "42P07"


class Memory:
    """`run` runs a statement in that session and says why it failed; it raises Rejected and
    ClusterLost. `understood`: it was told nothing by which it may have views unknown here."""

    def __init__(
        self, cluster: ClusterName, run: Callable[[str], Awaitable[Failure | None]]
    ) -> None:
        self.understood = True
        self._cluster = cluster
        self._run = run
        self._said: set[int] = set()  # numbers of the journal's entries
        self._read: dict[TableRef, object] = {}  # versions of tables
        self._lacking: dict[str, str] = {}  # temporary views that could not be made, and why
        self._caught_up = 0
        self._catching_up = asyncio.Lock()

    async def catch_up(self, journal: Journal) -> None:
        """Says what the session said elsewhere, in order. Raises NotCarried, ClusterLost."""
        async with self._catching_up:
            while self._caught_up != journal.changes:
                changes = journal.changes
                for entry in journal.unsaid(self._said, self._cluster):
                    await self._hear(entry)
                self._caught_up = changes

    def did(self, number: int, effect: SessionEffect) -> None:
        """The session over there has this effect now."""
        self._said.add(number)
        if isinstance(effect, CreateTempView | CreateTempTable | DropTemp):
            self._lacking.pop(effect.name.lower(), None)

    def check(self, statement: Known | Unknown) -> None:
        """Before it is told that. Raises NotCarried when it may use a view that could not be made
        here."""
        names = statement.temps if isinstance(statement, Known) else tuple(self._lacking)
        self.understood &= isinstance(statement, Known)
        for name in names:
            reason = self._lacking.get(name.lower())
            if reason is not None:
                raise NotCarried(reason)

    async def refresh(self, versions: Mapping[TableRef, object]) -> None:
        """Makes the session forget what it knows of tables that changed since it read them.

        Spark keeps the list of a table's files for the session's life, and would read a copy
        as it was. Raises Rejected, ClusterLost.
        """
        for table, version in versions.items():
            if self._read.get(table, version) != version:
                failure = await self._run(f"REFRESH TABLE {_quoted(table)}")
                if failure is not None:
                    raise Rejected(failure)
            self._read[table] = version

    async def _hear(self, entry: Entry) -> None:
        """Repeats a statement. A view that cannot be made is only missed by those who use it."""
        effect = entry.effect
        if isinstance(effect, DropTemp) and effect.name.lower() in self._lacking:
            self.did(entry.number, effect)
            return
        reason = await self._repeat(entry)
        if reason is not None and not isinstance(effect, CreateTempView):
            raise NotCarried(reason)
        self.did(entry.number, effect)
        if reason is not None and isinstance(effect, CreateTempView):
            self._lacking[effect.name.lower()] = reason

    async def _repeat(self, entry: Entry) -> str | None:
        """Says a statement again; why it could not be."""
        try:
            failure = await self._run(entry.sql)
        except Rejected as error:
            failure = error.failure
        if failure is None or (entry.is_shared_view and failure.sqlstate == _ALREADY_THERE):
            return None
        said = entry.sql if len(entry.sql) <= 200 else entry.sql[:200] + ".."
        return f"Cluster {self._cluster} cannot repeat {said!r}: {as_synchronous(failure).message}"


def _quoted(table: TableRef) -> str:
    return ".".join("`" + part.replace("`", "``") + "`" for part in (table.db, table.name))
