"""Causeway's own statements, such as SHOW CLUSTERS, and the tables that answer them."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import fields
from itertools import islice
from typing import Any

from conf.copies import CopySum, TableCopies, clusters_of, sums
from conf.names import ClusterName, TableRef
from conf.placement import Placement
from conf.topology import Cluster
from dialect.grammar.cluster_statements import (
    ClusterCommand,
    CopyTable,
    ExplainCluster,
    ResetCluster,
    ShowClusters,
    ShowCopies,
    ShowCurrentCluster,
    ShowStatements,
    UseCluster,
)
from proxy.errors import InvalidCommand, UnknownCluster
from proxy.protocol.results import NO_ROWS, ResultTable
from proxy.session.session import SessionState
from proxy.statement.machine import commands as cmd
from router.report import DecisionReport
from router.table_states import TableState

_STATEMENT = (
    *("statement", "time", "text", "state", "seconds", "cluster", "rule", "because", "code"),
    *("rows", "error"),
)
PARTITIONS_SHOWN = 10_000  # at most, of one table by SHOW COPIES
PARTITIONS_COPIED = 1_000  # at most, PARTITION clauses of one COPY


def begin(
    command: ClusterCommand,
    session: SessionState,
    is_checked: Callable[[Cluster], bool | None],
    can_copy: bool,
) -> ResultTable | cmd.Call:
    """The result of a command that is answered from the session; for any other, the call to make.

    Raises UnknownCluster. Raises InvalidCommand for a COPY of too many partitions, or if this
    proxy makes no copies.
    """
    match command:
        case UseCluster(name):
            return use_cluster(session, name)
        case ResetCluster():
            return reset_cluster(session)
        case ShowClusters():
            return show_clusters(session, is_checked)
        case ShowCurrentCluster():
            return show_current_cluster(session)
        case ExplainCluster():
            return cmd.Explain(command)
        case ShowStatements(limit):
            return cmd.ListStatements(limit)
        case ShowCopies():
            return cmd.ListCopies(command)
        case CopyTable() if can_copy:
            return copy(command)
    raise InvalidCommand("This proxy makes no copies: use `causeway copy`.")


def use_cluster(session: SessionState, name: str) -> ResultTable:
    """USE CLUSTER: pins the session to the cluster (DC-U1). Raises UnknownCluster and leaves the
    session as it was (DC-U3)."""
    if name not in session.topology:
        known = ", ".join(session.topology.clusters)
        raise UnknownCluster(f"There is no cluster {name!r}; there are {known}.")
    session.pinned = ClusterName(name)
    return NO_ROWS


def reset_cluster(session: SessionState) -> ResultTable:
    """USE CLUSTER without a name: ends the pin (DC-U2)."""
    session.pinned = None
    return NO_ROWS


def copy(command: CopyTable) -> cmd.Call:
    """The call for a COPY. Raises InvalidCommand for more than PARTITIONS_COPIED clauses."""
    count = len(command.partitions)
    if count > PARTITIONS_COPIED:
        raise InvalidCommand(
            f"COPY names {count:,} partitions, and one statement copies {PARTITIONS_COPIED:,} at"
            " most: name fewer keys, leave PARTITION out to copy the whole table, or use several"
            " statements."
        )
    return cmd.MakeCopy(command)


def show_clusters(
    session: SessionState, is_checked: Callable[[Cluster], bool | None] = lambda _: None
) -> ResultTable:
    """SHOW CLUSTERS: one row for each cluster.

    `is_default` and `is_current` mark the default and the pinned cluster. `checked`: the guard
    checks claims at all Thrift Servers of the cluster; NULL while no session was opened there.
    """
    topology = session.topology
    rows = tuple(
        (
            str(cluster.name),
            cluster.filesystem,
            ",".join(str(endpoint) for endpoint in cluster.hs2),
            _yes(cluster.name == topology.default),
            _yes(cluster.name == session.pinned),
            None if (checked := is_checked(cluster)) is None else _yes(checked),
        )
        for cluster in topology.clusters.values()
    )
    columns = ("cluster", "filesystem", "jobtracker", "is_default", "is_current", "checked")
    return ResultTable(columns, rows)


def show_current_cluster(session: SessionState) -> ResultTable:
    """SHOW CURRENT CLUSTER: the pinned cluster; NULL if Causeway chooses."""
    return ResultTable(("cluster",), ((session.pinned,),))


def show_statements(statements: Iterable[Mapping[str, Any]]) -> ResultTable:
    """SHOW STATEMENTS: one row for each of the user's statements in the history."""
    rows = tuple(tuple(_text(each[name]) for name in _STATEMENT) for each in statements)
    return ResultTable(_STATEMENT, rows)


def explain(shown: DecisionReport) -> ResultTable:
    """EXPLAIN CLUSTER: one row with what `causeway route` prints for the same statement."""
    row = (
        shown.decision,
        shown.cluster,
        shown.rule,
        shown.because,
        ", ".join(shown.reads),
        ", ".join(shown.writes),
        shown.code,
    )
    columns = ("decision", "cluster", "rule", "because", "reads", "writes", "code")
    return ResultTable(columns, (row,))


def explain_extended(states: Iterable[TableState]) -> ResultTable:
    """EXPLAIN CLUSTER EXTENDED: one row for each table and cluster, with the cluster's state of the
    data that the statement uses."""
    columns = tuple(each.name for each in fields(TableState))
    rows = tuple(tuple(_text(getattr(state, name)) for name in columns) for state in states)
    return ResultTable(columns, rows)


def show_copies(tables: Iterable[TableCopies], partitions: bool, now: float) -> ResultTable:
    """SHOW COPIES: for each table one row for each cluster that has data of it. With `partitions`,
    also one row for each partition that has copies, and cluster. `now` is Unix time."""
    rows = []
    for copies in tables:
        clusters = tuple(clusters_of(copies.objects))
        rows += [_copy_row(copies.table, None, row, now) for row in sums(copies.objects, clusters)]
        placements = copies.partitions or {} if partitions else {}
        for name, placement in islice(_copied(placements), PARTITIONS_SHOWN):
            for row in sums([placement], clusters):
                rows.append(_copy_row(copies.table, name, row, now))
    columns = ("table", "partition", *CopySum(ClusterName("")).document(0))
    return ResultTable(columns, tuple(rows))


def _copied(partitions: Mapping[str, Placement]) -> Iterator[tuple[str, Placement]]:
    return ((name, placement) for name, placement in partitions.items() if placement.copies)


def _copy_row(
    table: TableRef, partition: str | None, row: CopySum, now: float
) -> tuple[str | None, ...]:
    return (str(table), partition, *map(_text, row.document(now).values()))


def _text(value: object) -> str | None:
    if isinstance(value, tuple):
        return ", ".join(value)
    return None if value is None else str(value)


def _yes(value: bool) -> str:
    return "true" if value else "false"
