"""From a statement's text to a decision, loading from the metastore what it takes."""

from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import replace

from conf.names import PartitionRef, TableRef
from conf.settings.settings import Settings, Writes
from conf.tables import NotLoaded, TableKind, ViewText
from dialect.grammar.cluster_statements import ClusterCommand
from dialect.lineage.sql_functions import reading_functions
from dialect.parsing.function_calls import COMPUTED
from dialect.statement import (
    Action,
    Known,
    Namespace,
    Needs,
    Read,
    Unknown,
    Write,
)
from proxy.errors import Unsettled
from proxy.session.session import DEFAULT_DATABASE, SessionState
from proxy.session.settings.hudi_settings import hudi_settings, incremental_reads
from proxy.statement.analysis.analyzer_pool import AnalyzerPool, Client
from proxy.statement.events import Routed
from proxy.statement.metastore_access import Loader, Snapshot
from proxy.statement.write_queue.queue import tables_in_turn
from proxy.upstream.endpoint_health import EndpointHealth
from router.claim import ChangeRange, Changes
from router.decision import RunIn
from router.request import Request, tables_needed, wanted_partitions
from router.route import route

MAX_ROUNDS = 64


class StatementRouter:
    """Analyses and routes the statements of all sessions."""

    def __init__(
        self,
        settings: Settings,
        snapshot: Snapshot,
        loader: Loader,
        health: EndpointHealth | None = None,
    ) -> None:
        self.health = health or EndpointHealth()
        self.settings = settings
        self.snapshot = snapshot
        self.loader = loader
        self.analyzers = AnalyzerPool()
        self._functions: Mapping[str, ViewText | None] = {}
        self._reading: frozenset[str] = frozenset()  # those of them that may read tables
        self.from_memory = self.loaded = 0  # statements, by what it took to understand them

    async def close(self) -> None:
        await self.analyzers.close()

    async def command(self, sql: str, session: SessionState) -> ClusterCommand | None:
        """The command of Causeway's own that the statement is, if it is one. Raises TooMany."""
        return await self.analyzers.command(sql, session.topology.in_use, _client(session))

    async def analyse(self, sql: str, session: SessionState) -> Known | Unknown:
        """What the statement is. Raises a CausewayError when the metastore cannot be asked."""
        namespace, client = session.namespace(), _client(session)
        found = await self._analysed(sql, namespace, client)
        called = await self._reading_functions(found)
        if COMPUTED in called:
            assert isinstance(found, Known)
            why = "the name of a function is computed, and some read tables"
            return Unknown(why, bool(found.writes))
        if not called:
            return found
        functions = {name: self._functions.get(name) for name in self._reading - {COMPUTED}}
        namespace = replace(namespace, functions={**functions, **namespace.functions})
        return await self._analysed(sql, namespace, client)

    async def _analysed(self, sql: str, namespace: Namespace, client: Client) -> Known | Unknown:
        """The answer of the analysis, with the tables loaded that it needs."""
        asked = False
        for _ in range(MAX_ROUNDS):
            found = await self.analyzers.analyse(sql, namespace, self.snapshot, client)
            if not isinstance(found, Needs):
                self.loaded += asked
                self.from_memory += not asked
                return found
            asked = True
            await self.loader.load(found.tables)
        raise Unsettled("The statement needs ever more tables to be understood.")

    async def _reading_functions(self, found: Known | Unknown) -> frozenset[str]:
        """The permanent functions written in SQL that it calls and that may read tables."""
        if isinstance(found, Unknown) or not found.permanent:
            return frozenset()
        texts = await self.loader.sql_functions()
        if texts is not self._functions:
            self._functions, self._reading = texts, reading_functions(texts)
        # Names of calls without a database in the text of a temporary function begin with a dot.
        bare = {name for name in found.permanent if name.startswith(".")}
        unclear = {each for each in self._reading if f".{each.rpartition('.')[2]}" in bare}
        return found.permanent & self._reading | unclear

    async def decide(
        self, sql: str, session: SessionState, known: Known | Unknown | None = None
    ) -> Routed:
        """What the statement is and where it runs, by the facts of now.

        `known` is what `analyse` just returned for it.

        Raises a CausewayError when the metastore cannot be asked.
        """
        for _ in range(MAX_ROUNDS):
            statement = known or await self.analyse(sql, session)
            known = None
            with suppress(NotLoaded):  # forgotten again meanwhile
                if isinstance(statement, Known) and statement.cascade:
                    statement = await self._with_contents(statement)
                coverage = self.settings.coverage
                named, wanted = _named(statement), wanted_partitions(statement, coverage)
                if named and await self.loader.load_facts(named, wanted):
                    continue
                tables = tables_needed(statement)
                facts = {ref: self.snapshot.facts(ref, wanted.get(ref)) for ref in tables}
                decision = route(self._request(statement, session), facts)
                changes: Changes = {}
                if isinstance(decision, RunIn):
                    changes = self._changes(statement, session)
                    decision = _explained(decision, changes)
                versions = self._versions(statement)
                turn = self._in_turn(statement)
                return Routed(statement, decision, facts, versions, coverage, turn, changes)
        raise Unsettled("The tables of the statement keep changing.")

    def _changes(self, statement: Known | Unknown, session: SessionState) -> Changes:
        """The tables of which the session reads only changed rows. Raises NotIncremental."""
        settings = hudi_settings(session.variables, session.unclear)
        return incremental_reads(statement, settings, self.snapshot.table) if settings else {}

    def _in_turn(self, statement: Known | Unknown) -> frozenset[TableRef]:
        if self.settings.writes is Writes.ALLOW:
            return frozenset()
        return tables_in_turn(statement, self.snapshot.table)

    def _versions(self, statement: Known | Unknown) -> dict[TableRef, object]:
        reads = statement.reads if isinstance(statement, Known) else ()
        return {read.table: self.snapshot.placement(read.table) for read in reads}

    def _request(self, statement: Known | Unknown, session: SessionState) -> Request:
        topology = session.topology
        assert topology.default is not None
        return Request(
            statement,
            topology.default,
            session.pinned,
            topology.use_default,
            self.settings.coverage,
            session.bounds(statement),
            topology.filesystems(),
            frozenset(self.settings.views),
            self.health.down(topology),
            tuple(topology.clusters),
        )

    async def _with_contents(self, statement: Known) -> Known:
        """The statement with a write of each table and view of its database (DC-M4).

        DROP DATABASE .. CASCADE drops them; ANALYZE TABLES reads the tables and alters them.
        """
        names = await self.loader.tables_in(statement.database_written or "")
        await self.loader.load(names)
        infos = [info for name in names if (info := self.snapshot.table(name)) is not None]
        tables = [info.ref for info in infos if info.kind is not TableKind.VIEW]
        if statement.kind == "analyze":
            reads = tuple(Read(table) for table in tables)
            writes = tuple(Write(table, Action.ALTER, exists=True) for table in tables)
            return replace(statement, reads=reads, writes=writes)
        views = [Write(info.ref, Action.VIEW, True) for info in infos if info.ref not in tables]
        drops = [Write(table, Action.DROP, exists=True) for table in tables]
        return replace(statement, writes=(*views, *drops))

    def write_targets(self, writes: Iterable[Write]) -> list[TableRef | PartitionRef]:
        """What has to be marked before these writes: partitions where they can be named.

        A value's text is the partition's only for text columns; elsewhere 01 may mean 1.
        """
        targets: list[TableRef | PartitionRef] = []
        for write in writes:
            if write.action is Action.VIEW:
                continue
            keys = self._text_keys(write.table)
            specs = [_ordered(spec, keys) for spec in write.named] if keys else []
            if write.dynamic or not specs or None in specs:
                targets.append(write.table)
            else:
                targets += [PartitionRef(write.table, spec) for spec in specs if spec is not None]
        return targets

    def _text_keys(self, table: TableRef) -> tuple[str, ...]:
        """The table's partition columns when all are texts."""
        try:
            info = self.snapshot.table(table)
        except NotLoaded:
            return ()
        keys = () if info is None else info.partition_keys
        return tuple(key.name for key in keys) if all(k.type == "string" for k in keys) else ()

    async def database_exists(self, name: str) -> bool:
        """Raises a CausewayError when the metastore cannot be asked.

        `default` exists in every metastore, and cannot be dropped.
        """
        if name.lower() == DEFAULT_DATABASE:
            return True
        for _ in range(MAX_ROUNDS):
            await self.loader.load_database(name)
            with suppress(NotLoaded):  # forgotten again meanwhile
                return self.snapshot.database_exists(name)
        raise Unsettled(f"Database {name} keeps changing.")


def _explained(decision: RunIn, changes: Changes) -> RunIn:
    """The decision, with the tables that are read incrementally in its reason."""
    ranges = [
        f"{table} is read incrementally: {each}"
        for table, each in changes.items()
        if isinstance(each, ChangeRange)
    ]
    return replace(decision, because="; ".join((decision.because, *ranges)))


def _client(session: SessionState) -> Client:
    return Client(session.user, id(session))


def _named(statement: Known | Unknown) -> frozenset[TableRef]:
    """All that has to be as it was analysed: tables read, views read through, tables written,
    the missing ones too, since another client may have created them meanwhile."""
    if isinstance(statement, Unknown):
        return frozenset()
    written = frozenset(write.table for write in statement.writes)
    return tables_needed(statement) | written | frozenset(statement.views)


def _ordered(
    spec: tuple[tuple[str, str], ...], keys: tuple[str, ...]
) -> tuple[tuple[str, str], ...] | None:
    """The same in the table's key order; None when a key is not named."""
    values = {key.lower(): value for key, value in spec}
    if set(values) != set(keys):
        return None
    return tuple((key, values[key]) for key in keys)
