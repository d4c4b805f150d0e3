"""Repeats the changes of a user's session in its session in one cluster.

`Journal` has every change of the user's session, in order. `SessionReplay` keeps which of them its
Spark session has, and applies the others, in order, before a statement runs there. It also keeps
which temporary objects the Spark session has. If an object was replaced or dropped in its home
only, it is dropped here: no cluster may have an object that the user's session does not have.

A Spark session keeps the files of a table and the class of a permanent function as long as it
lives. Both are refreshed after they were changed by a statement that came through Causeway. Rows
that any session cached in the server are cleared when their tables have changed (`server_caches`).
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
from proxy.errors import Failure, StateNotRepeated, ThriftServerError
from proxy.protocol.status import as_synchronous, is_metastore_lost, metastore_lost
from proxy.session.replay.function_changes import FunctionChanges
from proxy.session.replay.journal import Journal, JournalEntry
from proxy.session.replay.server_caches import ServerCaches
from proxy.session.settings.time_zone import setting_zone

_EXISTS = "42P07"
_NO_SUCH_FUNCTION = "42883"
_UNKNOWN = object()  # a version that no table has


class StaleSession(Exception):
    """The session in the cluster cannot be refreshed: another one has to be opened."""


class SessionReplay:
    """The changes that one session in a cluster has.

    `run` is a method of that session: it runs a statement there and returns its failure, or raises
    ThriftServerError or ClusterLost. `database` is the session's current one, in lower case.
    `understood`: all statements that ran there were understood, so it has no views that are unknown
    here.
    """

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
        self._run_there = WeakMethod(run)  # no cycle, so that a closed session is freed at once
        self._database = database
        self._applied: set[int] = set()  # numbers of the journal's entries that it has
        self._objects: set[str] = set()  # temporary objects that it has
        self._lacking: dict[str, str] = {}  # objects that could not be made, with the reasons
        self._read: dict[TableRef, object] = {}  # versions of the tables that it has read
        self._functions_at = functions.now()
        self._caught_up = 0
        self._catching_up = asyncio.Lock()

    async def _run(self, sql: str) -> Failure | None:
        """Runs a statement and returns its failure. Raises ClusterWithoutMetastore if the cluster
        has lost its metastore: the statement may succeed later."""
        run = self._run_there()
        assert run is not None, "the session has its replay"
        failure = await run(sql)
        if failure is not None and is_metastore_lost(failure):
            raise metastore_lost(self._cluster, failure)
        return failure

    async def catch_up(self) -> None:
        """Applies the changes that it lacks, in order, and refreshes functions. Raises
        StateNotRepeated, StaleSession, ClusterLost, ClusterWithoutMetastore."""
        async with self._catching_up:
            while self._caught_up != self._journal.changes:
                changes = self._journal.changes
                for entry in self._journal.pending_for(self._applied):
                    await self._apply(entry)
                self._caught_up = changes
            await self._refresh_functions()

    def applied(self, number: int, effect: SessionEffect) -> None:
        """Records that the cluster's session has the effect of the journal's entry `number`."""
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
        """Has all other sessions refresh a permanent function, which a statement of this session
        has changed."""
        before = self._functions.now()
        self._functions.record(database, name)
        if self._functions_at == before:
            self._functions_at = self._functions.with_own(before)

    def check(self, statement: Known | Unknown) -> None:
        """Checks a statement before it runs. Raises StateNotRepeated if it may use an object that
        could not be made here."""
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
        """Whether the effect drops an object that could not be made here, so that nothing has to be
        run."""
        return isinstance(effect, DropTemp) and effect.name in self._lacking

    async def refresh(self, versions: Mapping[TableRef, object]) -> None:
        """Refreshes tables whose version has changed since the session read them.

        Spark keeps the list of a table's files as long as the session lives, and would read an old
        copy. It also reads rows that any session of the server has cached: they are cleared. Raises
        ThriftServerError, ClusterLost.
        """
        stale = self._caches.stale(self._endpoint, versions)
        if stale is not None:
            failure = await self._run("CLEAR CACHE")
            if failure is not None:
                raise ThriftServerError(failure)
            self._caches.cleared(self._endpoint, stale)
        for table, version in versions.items():
            if self._read.get(table, version) != version:
                failure = await self._run(f"REFRESH TABLE {quoted(table.db, table.name)}")
                if failure is not None:
                    raise ThriftServerError(failure)
            self._read[table] = version

    def caches(self, versions: Mapping[TableRef, object]) -> None:
        """Records a statement that caches rows of these tables in the server, before it runs and
        after its end."""
        self._caches.record(self._endpoint, versions)

    def forget_files(self, tables: Iterable[TableRef]) -> None:
        """Has these tables refreshed before they are read again: REFRESH TABLE ran in another
        cluster, or the guard found that their files have changed."""
        for table in tables:
            if table in self._read:
                self._read[table] = _UNKNOWN

    async def _refresh_functions(self) -> None:
        """Refreshes permanent functions that were changed since the session was opened: a session
        that has used a function keeps its class, whatever the metastore has now. Raises
        StaleSession."""
        changed, now = self._functions.since(self._functions_at)
        if changed is None:
            raise StaleSession
        for database, name in changed:
            failure = await self._run(f"REFRESH FUNCTION {quoted(database, name)}")
            if failure is not None and failure.sqlstate != _NO_SUCH_FUNCTION:
                raise StaleSession  # the new class cannot be loaded: the old one would stay
        self._functions_at = now

    async def _apply(self, entry: JournalEntry) -> None:
        """Applies one entry. If an object cannot be made, only statements that use it will fail.
        Raises StateNotRepeated for any other failure."""
        if entry.home not in (None, self._cluster):
            await self._remove(entry.names)
            self._applied.add(entry.number)
            return
        match entry.effect:
            case UseDatabase(database) if database.lower() == self._database:
                reason = None  # USE would need the metastore, which may be down
            case DropTemp():
                await self._remove(entry.names)
                reason = None
            case RenameTemp(name) if name in self._lacking:
                reason = self._lacking[name]
            case AssignVariables(repeatable=False):
                reason = self._lost(entry.names)
            case AssignVariables(declares=False) if lacking := self._lacks_any(entry.names):
                reason = lacking
            case RenameTemp(name, new) if (self._endpoint, new) in self._journal.shared:
                await self._remove((name,))  # an earlier session, which was lost, renamed it
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
        await self._remove(entry.names)
        is_assignment = isinstance(entry.effect, AssignVariables)
        for name in entry.names if is_assignment else entry.names[-1:]:
            self._lacking[name] = reason
        self._applied.add(entry.number)

    def _lost(self, names: tuple[str, ...]) -> str:
        """The reason why variables are lacking: their values were computed in a session that is
        closed, and the statement might compute other values if it ran again."""
        shown = ", ".join(map(bare_variable, names))
        return f"The session in cluster {self._cluster} that had the value of {shown} is closed."

    def _lacks_any(self, names: tuple[str, ...]) -> str | None:
        return next((self._lacking[name] for name in names if name in self._lacking), None)

    async def _remove(self, names: tuple[str, ...]) -> None:
        """Drops the objects in the cluster's session, if it has them. Raises StateNotRepeated."""
        for name in names:
            if name in self._objects:
                for sql in dropping(name):
                    reason = await self._reason(sql)
                    if reason is not None:
                        raise StateNotRepeated(reason)
            self._is_gone(name)

    async def _repeat(self, entry: JournalEntry) -> str | None:
        """Runs an entry's statement. Returns the reason of its failure, or None. A global view may
        exist already if an earlier session of this user's session, which was lost, made it."""
        ours = any((self._endpoint, name) in self._journal.shared for name in entry.names)
        return await self._reason(entry.sql, _EXISTS if ours else None)

    async def _reason(self, sql: str, harmless: str | None = None) -> str | None:
        """Runs a statement. Returns the reason of its failure as a message; None if it succeeded or
        failed with the SQLSTATE `harmless`."""
        try:
            failure = await self._run(sql)
        except ThriftServerError as error:
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
