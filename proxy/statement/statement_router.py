"""From a statement's text to a decision. Loads the facts that it needs from the metastore."""

import logging
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import replace

from conf.catalog.tables import NotLoaded, TableKind
from conf.names import ClusterName, PartitionRef, TableRef
from conf.settings.settings import LostReads, Settings, Writes
from dialect.parsing.fingerprint import quick_template
from dialect.statement import Known, Read, Unknown, Write, WriteAction
from proxy.errors import AnalysisUnstable
from proxy.session.session import DEFAULT_DATABASE, SessionState
from proxy.session.settings.hudi_settings import hudi_settings, incremental_reads
from proxy.statement.analysis.statement_analysis import MAX_ROUNDS, StatementAnalysis
from proxy.statement.machine.events import Routed
from proxy.statement.metastore_access import Loader, SnapshotAccess
from proxy.statement.other_tables import lacking
from proxy.statement.write_queue.queue import tables_in_turn
from proxy.upstream.cluster_load import ClusterLoad, StatementLoad
from proxy.upstream.endpoint_health import EndpointHealth
from router.access.restrictions import UNRESTRICTED, UserRestrictions, restrictions_of
from router.access.statement_access import check_cluster, denial_of, refusal_of, refuse_changes
from router.access.user_access import Access
from router.claim import ChangeRange, Changes
from router.costs import Costs
from router.decision import Decision, Refuse, RunIn, chosen_from
from router.needs import is_query
from router.request import Facts, Request, tables_needed, wanted_partitions
from router.route import route

_log = logging.getLogger(__name__)


class StatementRouter:
    """Decides where the statements of all sessions run.

    It holds what statements share for that: the metastore's `snapshot` and `loader`, the clusters'
    `health`, their `load`, the `access` rules and the `analysis`.
    """

    def __init__(
        self,
        settings: Settings,
        snapshot: SnapshotAccess,
        loader: Loader,
        load: ClusterLoad | None = None,
    ) -> None:
        """`load` is given if the cost chooses among clusters (`router.choice`)."""
        self.health = EndpointHealth()
        self.load = load
        self.settings = settings
        self.access = _access(settings)
        self.snapshot = snapshot
        self.loader = loader
        self.analysis = StatementAnalysis(snapshot, loader)

    def reconfigure(self, settings: Settings) -> None:
        """Uses these settings from now on."""
        self.settings = settings
        if settings.access.rules != self.access.rules:
            self.access = _access(settings)

    async def decide(
        self,
        sql: str,
        session: SessionState,
        known: Known | Unknown | None = None,
        lost: ClusterName | None = None,
        whole: bool = False,
    ) -> Routed:
        """The statement's analysis and the decision, by the present facts.

        `known` is what `StatementAnalysis.analyse` has just returned for it; None: it is analysed
        here. `lost` is the cluster that was lost while it ran the statement. With `whole` the
        statement is routed as if it read all partitions of its tables.

        Raises a CausewayError if the metastore cannot be read.
        """
        if lost is not None:
            _log.warning("cluster %s was lost, and its read is decided again", lost)
        if whole:
            _log.warning("Spark reads a partition that the analysis left out: decided again")
        for _ in range(MAX_ROUNDS):
            statement = known or await self.analysis.analyse(sql, session)
            known = None
            with suppress(NotLoaded):  # invalidated meanwhile: the next round loads it again
                routed = await self._routed(statement, sql, session, lost, whole)
                if routed is not None:
                    return routed
        raise AnalysisUnstable("The tables of the statement keep changing.")

    async def _routed(
        self,
        statement: Known | Unknown,
        sql: str,
        session: SessionState,
        lost: ClusterName | None,
        whole: bool,
    ) -> Routed | None:
        """The decision for an analysed statement; None if facts were loaded for it, because the
        analysis may depend on them. Raises NotLoaded.
        """
        if isinstance(statement, Known) and statement.cascade:
            statement = await self._with_contents(statement)
        coverage = self.settings.coverage
        if denied := _denied(session, statement, sql):
            return Routed(statement, denied, {}, {}, coverage)
        restricted = _restricted(session, statement)
        statement = self._widened(statement, restricted, whole)
        named, wanted = _named(statement), wanted_partitions(statement, coverage)
        if named and await self.loader.load_facts(named, wanted):
            return None
        tables = tables_needed(statement)
        facts = {ref: self.snapshot.facts(ref, wanted.get(ref)) for ref in tables}
        costs = self._costs(sql, statement, session)
        request = self._request(statement, session, lost, costs)
        decision = await self._with_others(route(request, facts), request, facts)
        decision, changes = self._checked(decision, statement, session, restricted)
        versions = self._versions(statement)
        turn = self._in_turn(statement)
        return Routed(statement, decision, facts, versions, coverage, turn, changes, costs,
                      restricted)  # fmt: skip

    def _widened(
        self, statement: Known | Unknown, restricted: UserRestrictions, whole: bool
    ) -> Known | Unknown:
        """The statement with the partitions that the user's restrictions or Spark may add to those
        that it reads."""
        if not isinstance(statement, Known):
            return statement
        if restricted:
            statement = restricted.widened(statement, self._partition_keys)
        if whole:
            reads = tuple(Read(each.table) for each in statement.reads)
            statement = replace(statement, reads=reads)
        return statement

    def _checked(
        self,
        decision: Decision,
        statement: Known | Unknown,
        session: SessionState,
        restricted: UserRestrictions,
    ) -> tuple[Decision, Changes]:
        """The decision after the checks of the user's clusters and restrictions, and the session's
        changes if the statement runs."""
        if session.access is not None:
            decision = check_cluster(session.access, decision)
        if not isinstance(decision, RunIn):
            return decision, {}
        changes = self._changes(statement, session)
        if changes and restricted:
            return refuse_changes(restricted), changes
        return restricted.explained(_explained(decision, changes)), changes

    async def _with_others(self, decision: Decision, request: Request, facts: Facts) -> Decision:
        """Decides again about a query for which copies are made: the cluster that gets them should
        also have the other tables that later queries may read."""
        if not isinstance(decision, Refuse) or not decision.copies or request.pinned is not None:
            return decision
        lacking_bytes = await lacking(facts, self.snapshot, self.loader, request.clusters)
        return route(replace(request, lacking=lacking_bytes), facts)

    def _costs(self, sql: str, statement: Known | Unknown, session: SessionState) -> Costs | None:
        """The expected time of a query in each cluster; None if the cost does not decide."""
        if self.load is None or not is_query(statement):
            return None
        template = hash((session.database, quick_template(sql)))
        return self.load.costs(template, session.topology.clusters)

    def begin_load(self, cluster: ClusterName, routed: Routed | None) -> StatementLoad | None:
        """Counts the statement in the cluster's load; None: loads are not counted."""
        if self.load is None:
            return None
        if routed is None or routed.costs is None:
            return self.load.begin(cluster, None)
        return self.load.begin(cluster, routed.costs, chosen_from(routed.decision))

    def _changes(self, statement: Known | Unknown, session: SessionState) -> Changes:
        """The tables of which the statement reads only changed rows, by the session's settings of
        Hudi. Raises NotIncremental."""
        settings = hudi_settings(session.variables, session.unclear)
        return incremental_reads(statement, settings, self.snapshot.table) if settings else {}

    def _in_turn(self, statement: Known | Unknown) -> frozenset[TableRef]:
        if self.settings.writes is Writes.ALLOW:
            return frozenset()
        return tables_in_turn(statement, self.snapshot.table)

    def _versions(self, statement: Known | Unknown) -> dict[TableRef, object]:
        reads = statement.reads if isinstance(statement, Known) else ()
        return {read.table: self.snapshot.placement(read.table) for read in reads}

    def _request(
        self,
        statement: Known | Unknown,
        session: SessionState,
        lost: ClusterName | None,
        costs: Costs | None,
    ) -> Request:
        topology = session.topology
        assert topology.default is not None
        down = self.health.down(topology)
        return Request(
            statement,
            topology.default,
            session.pinned,
            topology.use_default,
            self.settings.coverage,
            session.bounds(statement),
            topology.filesystems(),
            frozenset(self.settings.views),
            down,
            tuple(topology.clusters),
            lost,
            bool(down) and self._may_move(session),
            session.fetch_bytes,
            costs=costs,
        )

    def _may_move(self, session: SessionState) -> bool:
        """Whether a query may run in another cluster than the rules choose, while that one is down.
        Not in a session that reads changed rows of Hudi tables."""
        moves = self.settings.lost_reads is LostReads.MOVE
        return moves and hudi_settings(session.variables, session.unclear) is None

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
            writes = tuple(Write(table, WriteAction.ALTER, exists=True) for table in tables)
            return replace(statement, reads=reads, writes=writes)
        views = [
            Write(info.ref, WriteAction.VIEW, True) for info in infos if info.ref not in tables
        ]
        drops = [Write(table, WriteAction.DROP, exists=True) for table in tables]
        return replace(statement, writes=(*views, *drops))

    def write_targets(self, writes: Iterable[Write]) -> list[TableRef | PartitionRef]:
        """The tables and partitions to mark before these writes.

        Partitions are named only if all partition columns are texts: in another column 01 may mean
        the partition 1.
        """
        targets: list[TableRef | PartitionRef] = []
        for write in writes:
            if write.action is WriteAction.VIEW:
                continue
            keys = self._text_keys(write.table)
            specs = [_ordered(spec, keys) for spec in write.named] if keys else []
            if write.dynamic or not specs or None in specs:
                targets.append(write.table)
            else:
                targets += [PartitionRef(write.table, spec) for spec in specs if spec is not None]
        return targets

    def _partition_keys(self, table: TableRef) -> list[str]:
        """The names of the table's partition columns. Raises NotLoaded."""
        info = self.snapshot.table(table)
        return [] if info is None else [key.name for key in info.partition_keys]

    def _text_keys(self, table: TableRef) -> tuple[str, ...]:
        """The table's partition columns if all are texts; () otherwise."""
        try:
            info = self.snapshot.table(table)
        except NotLoaded:
            return ()
        keys = () if info is None else info.partition_keys
        return tuple(key.name for key in keys) if all(k.type == "string" for k in keys) else ()

    async def database_exists(self, name: str) -> bool:
        """Whether the database exists. `default` exists in every metastore and cannot be dropped.

        Raises a CausewayError if the metastore cannot be read.
        """
        if name.lower() == DEFAULT_DATABASE:
            return True
        for _ in range(MAX_ROUNDS):
            await self.loader.load_database(name)
            with suppress(NotLoaded):  # invalidated meanwhile
                return self.snapshot.database_exists(name)
        raise AnalysisUnstable(f"Database {name} keeps changing.")


def _access(settings: Settings) -> Access:
    """The access rules. Logs those that are ignored."""
    for each in settings.access.rules.ignored:
        _log.warning("access rules: %s", each)
    return Access(settings.access.rules)


def _denied(session: SessionState, statement: Known | Unknown, sql: str) -> Refuse | None:
    """The refusal of a statement that the session's user may not run; None if they may."""
    access = session.access
    denial = None if access is None else denial_of(access, statement, sql)
    return None if access is None or denial is None else refusal_of(access, denial)


def _restricted(session: SessionState, statement: Known | Unknown) -> UserRestrictions:
    """The parts of the statement's tables that the session's user may see."""
    if session.access is None or isinstance(statement, Unknown):
        return UNRESTRICTED
    return restrictions_of(session.access, statement)


def _explained(decision: RunIn, changes: Changes) -> RunIn:
    """The decision, whose reason also names the tables that are read incrementally."""
    ranges = [
        f"{table} is read incrementally: {each}"
        for table, each in changes.items()
        if isinstance(each, ChangeRange)
    ]
    return replace(decision, because="; ".join((decision.because, *ranges)))


def _named(statement: Known | Unknown) -> frozenset[TableRef]:
    """The tables that must not have changed since the analysis: those that are read, also through
    views, and those that are written. Tables that do not exist are among them: another client may
    create one."""
    if isinstance(statement, Unknown):
        return frozenset()
    written = frozenset(write.table for write in statement.writes)
    return tables_needed(statement) | written | frozenset(statement.views)


def _ordered(
    spec: tuple[tuple[str, str], ...], keys: tuple[str, ...]
) -> tuple[tuple[str, str], ...] | None:
    """The specification in the order of the table's keys; None if it does not name all of them."""
    values = {key.lower(): value for key, value in spec}
    if set(values) != set(keys):
        return None
    return tuple((key, values[key]) for key in keys)
