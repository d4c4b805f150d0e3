"""Repeats in one cluster's session what its user's session did elsewhere.

`Journal` has every change of the user's session in order. `SessionReplay` knows which of them its
Spark session has, and applies the others, in order, before a statement runs there. It also knows
which temporary objects are there, so that an object that was replaced or dropped in its home alone
is taken away here: an object that the user's session does not have answers in no cluster.

Spark remembers for a session's life which files a table has and what a permanent function is. Both
are refreshed when they changed by a statement that came through Causeway. What any session cached
in the server is cleared when its tables changed (`server_caches`).
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping
from weakref import WeakMethod

from conf.names import ClusterName, TableRef, quoted
from conf.topology import Endpoint
from dialect.lineage.temporary import bare_variable, dropping, is_global, is_variable
from dialect.statement import (
    AssignVariables,
    CreateTempTable,
    CreateTempView,
    DropTemp,
    Known,
    RenameTemp,
    ResetVariables,
    SessionEffect,
    Unknown,
    UseDatabase,
)
from proxy.errors import Failure, Rejected, StateNotRepeated
from proxy.protocol.status import as_synchronous, is_metastore_lost, metastore_lost
from proxy.session.replay.function_changes import FunctionChanges
from proxy.session.replay.journal import Journal, JournalEntry
from proxy.session.replay.server_caches import ServerCaches
from proxy.session.settings.time_zone import setting_zone

_EXISTS = "42P07"
_NO_SUCH_FUNCTION = "42883"
_UNKNOWN = object()  # a version that no table has


class StaleSession(Exception):
    """What the session remembers cannot be refreshed: another one has to be opened."""


class SessionReplay:
    """`run`, a method of the session that has this, runs a statement in it and says why it failed;
    it raises Rejected and ClusterLost. `database` is the current one of the session, in lower case.
    `understood`: it ran nothing by which it may have views unknown here."""

    def __init__(
        self,
        cluster: ClusterName,
        endpoint: Endpoint,
        journal: Journal,
        functions: FunctionChanges,
        run: Callable[[str], Awaitable[Failure | None]],
        database: str,
        caches: ServerCaches | None = None,
    ) -> None:
        self.understood = True
        self._cluster = cluster
        self._endpoint = endpoint
        self._journal = journal
        self._functions = functions
        self._caches = caches or ServerCaches()
        self._run_there = WeakMethod(run)  # a session without cycles is freed when it is closed
        self._database = database  # of the session in the cluster
        self._applied: set[int] = set()  # numbers of the journal's entries
        self._objects: set[str] = set()  # temporary objects that are there
        self._lacking: dict[str, str] = {}  # objects that could not be made, and why
        self._read: dict[TableRef, object] = {}  # versions of tables
        self._functions_at = functions.now()
        self._caught_up = 0
        self._catching_up = asyncio.Lock()

    async def _run(self, sql: str) -> Failure | None:
        """Raises ClusterWithoutMetastore: the statement may succeed later."""
        run = self._run_there()
        assert run is not None, "the session has its replay"
        failure = await run(sql)
        if failure is not None and is_metastore_lost(failure):
            raise metastore_lost(self._cluster, failure)
        return failure

    async def catch_up(self) -> None:
        """Applies what the session did elsewhere, in order. Raises StateNotRepeated, StaleSession,
        ClusterLost, ClusterWithoutMetastore."""
        async with self._catching_up:
            while self._caught_up != self._journal.changes:
                changes = self._journal.changes
                for entry in self._journal.pending_for(self._applied):
                    await self._apply(entry)
                self._caught_up = changes
            await self._refresh_functions()

    def applied(self, number: int, effect: SessionEffect) -> None:
        """The cluster's session has this effect now."""
        self._applied.add(number)
        match effect:
            case CreateTempView(name) | CreateTempTable(name):
                self._is_there(name)
            case RenameTemp(name, new):
                self._is_gone(name)
                self._is_there(new)
            case DropTemp(name):
                self._is_gone(name)
            case AssignVariables():
                for name in effect.names:
                    self._is_there(name)
            case UseDatabase(database):
                self._database = database.lower()

    def function_changed(self, database: str, name: str) -> None:
        """A statement of this session changed a permanent function: the session has the change."""
        before = self._functions.now()
        self._functions.record(database, name)
        if self._functions_at == before:
            self._functions_at = self._functions.with_own(before)

    def check(self, statement: Known | Unknown) -> None:
        """Called before the statement runs. Raises StateNotRepeated if the statement may use an
        object that could not be made here."""
        if isinstance(statement, Known) and isinstance(statement.changes, DropTemp):
            return
        names = tuple(self._lacking)
        if isinstance(statement, Known):
            listed = [name for name in names if not is_variable(name)]
            names = (*statement.temps, *(listed if statement.lists_temps else ()))
        self.understood &= isinstance(statement, Known)
        for name in names:
            reason = self._lacking.get(name)
            if reason is not None:
                raise StateNotRepeated(reason)

    def lacks(self, effect: SessionEffect | None) -> bool:
        """Whether it drops what could not be made here: there is nothing to do."""
        return isinstance(effect, DropTemp) and effect.name in self._lacking

    async def refresh(self, versions: Mapping[TableRef, object]) -> None:
        """Makes the session forget the files of tables that changed since it read them.

        Spark keeps the list of a table's files for the session's life, and would read a copy
        as it was. It also answers from what any session of the server cached. Raises Rejected,
        ClusterLost.
        """
        stale = self._caches.stale(self._endpoint, versions)
        if stale is not None:
            failure = await self._run("CLEAR CACHE")
            if failure is not None:
                raise Rejected(failure)
            self._caches.cleared(self._endpoint, stale)
        for table, version in versions.items():
            if self._read.get(table, version) != version:
                failure = await self._run(f"REFRESH TABLE {quoted(table.db, table.name)}")
                if failure is not None:
                    raise Rejected(failure)
            self._read[table] = version

    def caches(self, versions: Mapping[TableRef, object]) -> None:
        """A statement that caches rows of these tables in the server begins, or has ended."""
        self._caches.record(self._endpoint, versions)

    def forget_files(self, tables: Iterable[TableRef]) -> None:
        """Has these tables refreshed before they are read again: REFRESH TABLE ran in another
        cluster's session, or what Spark knew of them was out of date."""
        for table in tables:
            if table in self._read:
                self._read[table] = _UNKNOWN

    async def _refresh_functions(self) -> None:
        """Makes the session forget permanent functions that changed since it was opened.

        A session that looked a function up keeps its class, whatever the metastore says by now.
        """
        changed, now = self._functions.since(self._functions_at)
        if changed is None:
            raise StaleSession
        for database, name in changed:
            failure = await self._run(f"REFRESH FUNCTION {quoted(database, name)}")
            if failure is not None and failure.sqlstate != _NO_SUCH_FUNCTION:
                raise StaleSession  # its class is not there: the old one would stay
        self._functions_at = now

    async def _apply(self, entry: JournalEntry) -> None:
        """An object that cannot be made is only missed by the statements that use it."""
        if entry.home not in (None, self._cluster):
            await self._take_away(entry.names)
            self._applied.add(entry.number)
            return
        match entry.effect:
            case UseDatabase(database) if database.lower() == self._database:
                reason = None  # without the metastore, which USE needs and the session may not
            case DropTemp():
                await self._take_away(entry.names)
                reason = None
            case RenameTemp(name) if name in self._lacking:
                reason = self._lacking[name]
            case AssignVariables(repeatable=False):
                reason = self._lost(entry.names)
            case AssignVariables(declares=False) if lacking := self._lacks_any(entry.names):
                reason = lacking
            case RenameTemp(name, new) if (self._endpoint, new) in self._journal.shared:
                await self._take_away((name,))  # a session that was lost renamed it
                reason = None
            case ResetVariables(zone=str(zone)):
                reason = await self._repeat(entry) or await self._reason(setting_zone(zone))
            case _:
                reason = await self._repeat(entry)
        if reason is None:
            self.applied(entry.number, entry.effect)
            return
        if not entry.names:
            raise StateNotRepeated(reason)
        await self._take_away(entry.names)
        is_assignment = isinstance(entry.effect, AssignVariables)
        for name in entry.names if is_assignment else entry.names[-1:]:
            self._lacking[name] = reason
        self._applied.add(entry.number)

    def _lost(self, names: tuple[str, ...]) -> str:
        """Why variables are not there: their values were computed in a session that is closed, and
        a second run of the statement might compute others."""
        shown = ", ".join(map(bare_variable, names))
        return f"The session in cluster {self._cluster} that had the value of {shown} is closed."

    def _lacks_any(self, names: tuple[str, ...]) -> str | None:
        return next((self._lacking[name] for name in names if name in self._lacking), None)

    async def _take_away(self, names: tuple[str, ...]) -> None:
        for name in names:
            if name in self._objects:
                for sql in dropping(name):
                    reason = await self._reason(sql)
                    if reason is not None:
                        raise StateNotRepeated(reason)
            self._is_gone(name)

    async def _repeat(self, entry: JournalEntry) -> str | None:
        """Runs a statement again; why it failed. A global view of ours may be there already, made
        by a session of this one's that was lost."""
        ours = any((self._endpoint, name) in self._journal.shared for name in entry.names)
        return await self._reason(entry.sql, _EXISTS if ours else None)

    async def _reason(self, sql: str, harmless: str | None = None) -> str | None:
        try:
            failure = await self._run(sql)
        except Rejected as error:
            failure = error.failure
        if failure is None or (harmless is not None and failure.sqlstate == harmless):
            return None
        text = sql if len(sql) <= 200 else sql[:200] + ".."
        return f"Cluster {self._cluster} cannot repeat {text!r}: {as_synchronous(failure).message}"

    def _is_there(self, name: str) -> None:
        self._objects.add(name)
        self._lacking.pop(name, None)
        if is_global(name):
            self._journal.shared.add((self._endpoint, name))

    def _is_gone(self, name: str) -> None:
        self._objects.discard(name)
        self._lacking.pop(name, None)
        self._journal.shared.discard((self._endpoint, name))
