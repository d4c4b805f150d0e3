"""EXPLAIN CLUSTER and its like: where a statement would run, and where its tables are."""

import time
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

from conf.copies import CopySum, sums
from conf.errors import CausewayError
from conf.formats import utc
from conf.names import TableRef
from conf.partitions import TableFacts
from dialect.grammar.cluster_statements import ExplainCluster
from proxy.errors import ThriftServerError, refusal
from proxy.protocol.results import ResultTable
from proxy.session.session import SessionState
from proxy.session.settings.restrictions import check_statement
from proxy.statement.change_sizes import UNKNOWN, ChangeSizes
from proxy.statement.machine import cluster_commands
from proxy.statement.machine.events import Routed
from proxy.statement.metastore_access import Loader
from proxy.statement.statement_router import StatementRouter
from router.access.statement_access import RULE as ACCESS
from router.claim import ChangeRange
from router.decision import RunIn
from router.report import OWN, DecisionReport, report_decision
from router.table_states import Presence, TableState, partitions_used, table_states


@dataclass(frozen=True, slots=True)
class DryRun:
    """The decision for a statement, and a row for each of its tables in each cluster."""

    report: DecisionReport
    tables: tuple[TableState, ...] = ()

    def document(self) -> dict[str, Any]:
        """The decision as a JSON document."""
        return self.report.document() | {"tables": [each.document() for each in self.tables]}


async def dry_run(sql: str, session: SessionState, router: StatementRouter) -> DryRun:
    """The decision for `sql`, or for the statement after EXPLAIN CLUSTER, in this session.

    Raises a CausewayError if the metastore cannot be read.
    """
    command = await router.analysis.command(sql, session)
    if isinstance(command, ExplainCluster):
        sql = command.statement
    elif command is not None:
        return DryRun(report_decision(None, OWN, {}))
    routed = await router.decide(sql, session)
    if routed.decision.rule == ACCESS:
        return DryRun(report_decision(None, routed.decision, {}))
    shown = report_decision(routed.statement, routed.decision, routed.facts)
    return DryRun(shown, await tables_of(routed, session, router.loader))


async def explain(
    command: ExplainCluster,
    session: SessionState,
    router: StatementRouter,
    sizes: ChangeSizes | None = None,
) -> ResultTable:
    """The result of EXPLAIN CLUSTER. `sizes` returns how much is read of tables that the session
    reads incrementally.

    Raises ThriftServerError if an access rule denies the statement (EXTENDED), CodeDenied or
    SettingDenied if the session's restrictions do, and a CausewayError if the metastore cannot be
    read.
    """
    sql, rows = command.statement, cluster_commands.explain_extended
    if await router.analysis.command(sql, session) is not None:
        own = report_decision(None, OWN, {})
        return rows(()) if command.extended else cluster_commands.explain(own)
    routed = await router.decide(sql, session)
    if routed.decision.rule == ACCESS:
        if command.extended:  # its rows would show where the denied tables are
            raise ThriftServerError(refusal(routed.decision))
        return cluster_commands.explain(report_decision(routed.statement, routed.decision, {}))
    if isinstance(routed.decision, RunIn):
        check_statement(routed.statement, session.restrictions)
    read = await _changes_read(routed, router.loader, sizes)
    if command.extended:
        states = await tables_of(routed, session, router.loader)
        return rows(replace(each, changes=read.get(each.table)) for each in states)
    shown = report_decision(routed.statement, routed.decision, routed.facts)
    texts = (f"{table}: {text}" for table, text in read.items())
    return cluster_commands.explain(replace(shown, because="; ".join((shown.because, *texts))))


async def _changes_read(
    routed: Routed, loader: Loader, sizes: ChangeSizes | None
) -> dict[TableRef, str]:
    """For each table that the statement reads incrementally a text that says how much it reads."""
    ranges = {
        TableRef.parse(name): each
        for name, each in routed.changes.items()
        if isinstance(each, ChangeRange)
    }
    texts = dict.fromkeys(ranges, UNKNOWN)
    if not ranges or sizes is None or not isinstance(routed.decision, RunIn):
        return texts
    with suppress(CausewayError):
        for each in await loader.copies(dict.fromkeys(ranges, ())):
            location = each.location_in(routed.decision.cluster)
            if (size := await sizes(location, ranges[each.table])) is not None:
                texts[each.table] = str(size)
    return texts


async def tables_of(
    routed: Routed, session: SessionState, loader: Loader
) -> tuple[TableState, ...]:
    """The state of each of the statement's tables in each cluster.

    States are those that the decision was made from. Sizes, and the times since which copies are
    stale, are read from the metastore now. Raises a CausewayError if it cannot be read.
    """
    statement, facts, clusters = routed.statement, routed.facts, tuple(session.topology.clusters)
    states = table_states(statement, facts, clusters, routed.coverage)
    used = partitions_used(statement, facts, routed.coverage)
    now, copies = time.time(), await loader.copies(used) if used else ()
    rows = {
        (each.table, row.cluster): row for each in copies for row in sums(each.objects, clusters)
    }
    return tuple(
        _with_times(state, rows.get((state.table, state.cluster)), now, facts.get(state.table))
        for state in states
    )


def _with_times(
    state: TableState, row: CopySum | None, now: float, known: TableFacts | None
) -> TableState:
    """The state with sizes and times. The size of a primary is that of its fresh copies, or else
    the one in the table's statistics."""
    if row is None:
        return state
    since, lag = (None, None) if row.since is None else (utc(row.since), row.lag(now))
    size = row.bytes
    if size is None and known is not None and row.state == Presence.PRIMARY:
        size = known.size
    return replace(state, stale_since=since, lag=lag, files=row.files, bytes=size)
