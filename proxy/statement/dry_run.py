"""Where a statement would run, and where its tables are, without running it."""

from dataclasses import dataclass
from typing import Any

from dialect.grammar.cluster_statements import ExplainCluster
from proxy.session.session import SessionState
from proxy.statement.statement_router import StatementRouter
from router.report import OWN, Report, report
from router.table_states import TableState, table_states


@dataclass(frozen=True, slots=True)
class DryRun:
    """The decision for a statement, and a row for each of its tables in each cluster."""

    report: Report
    tables: tuple[TableState, ...] = ()

    def document(self) -> dict[str, Any]:
        """As JSON has it."""
        return self.report.document() | {"tables": [each.document() for each in self.tables]}


async def dry_run(sql: str, session: SessionState, router: StatementRouter) -> DryRun:
    """The decision for `sql`, or for the statement after EXPLAIN CLUSTER, in this session.

    Raises a CausewayError if the metastore cannot be asked.
    """
    command = await router.command(sql, session)
    if isinstance(command, ExplainCluster):
        sql = command.statement
    elif command is not None:
        return DryRun(report(None, OWN, {}))
    routed = await router.decide(sql, session)
    statement, facts = routed.statement, routed.facts
    states = table_states(statement, facts, session.topology.clusters, routed.coverage)
    return DryRun(report(statement, routed.decision, facts), states)
