"""What the cluster that runs a statement must have: its outputs, inputs and paths."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from conf.locations import BARE, clusters_of, readings
from conf.names import ClusterName, TableRef, partition_name
from conf.partitions import PlacedPartitions, Replicas, TableFacts
from conf.settings.settings import Coverage
from dialect.statement import (
    ALL,
    NONE,
    AddResource,
    AssignVariables,
    CreateTempFunction,
    CreateTempView,
    DropTemp,
    DropTempFunction,
    Known,
    PartitionPredicate,
    RenameTemp,
    ResetVariables,
    SetVariable,
    Unknown,
    Write,
    WriteAction,
)
from router.obstacles import NAMED, Obstacle, ObstacleKind
from router.request import Facts, Request

_ANYWHERE = frozenset({"select", "from_select", "metadata_read", "set", "use", "empty"})
_REPEATED = (
    SetVariable,
    ResetVariables,
    CreateTempView,
    RenameTemp,
    DropTemp,
    CreateTempFunction,
    DropTempFunction,
    AddResource,
)


@dataclass(frozen=True, slots=True)
class InputTable:
    """A table that is read.

    `replicas` are the distinct replicas of its parts that are read; empty if only its description
    is read. `rows` are the numbers of the partitions that are read, in `placed`.
    """

    table: TableRef
    primary: ClusterName
    replicas: tuple[Replicas, ...]
    placed: PlacedPartitions | None = None
    rows: Collection[int] = ()

    def clusters(self) -> Iterator[ClusterName]:
        """The primaries, in the order in which they are tried: the table's first (DC-R10)."""
        yield self.primary
        for replicas in self.replicas:
            yield replicas.primary

    def lacking_in(self, cluster: ClusterName) -> set[Replicas]:
        """The replicas that the cluster cannot read."""
        return {each for each in self.replicas if not each.readable_in(cluster)}

    def obstacle_in(self, cluster: ClusterName) -> Obstacle | None:
        """The obstacle that the cluster lacks a part of the table; None if it lacks nothing."""
        lacking = self.lacking_in(cluster)
        if not lacking:
            return None
        kind = (
            ObstacleKind.STALE
            if any(cluster in each.stale for each in lacking)
            else ObstacleKind.ABSENT
        )
        if self.placed is None:
            return Obstacle(cluster, kind, self.table)
        groups = {number for number, each in enumerate(self.placed.replicas) if each in lacking}
        rows = sorted(row for row in self.rows if self.placed.groups[row] in groups)
        first = (partition_name(self.placed.partitions.spec(row)) for row in rows[:NAMED])
        return Obstacle(cluster, kind, self.table, len(rows), tuple(first))


@dataclass(frozen=True, slots=True)
class OutputTable:
    """An existing table that is written; `partition`: one of its partitions, not all of it."""

    table: TableRef
    partition: bool = False

    def __str__(self) -> str:
        return f"a partition of {self.table}" if self.partition else str(self.table)


def inputs(statement: Known, facts: Facts, coverage: Coverage) -> tuple[InputTable, ...]:
    """The existing tables that are read, with the replicas of their parts that are read (D1)."""
    predicates: dict[TableRef, list[PartitionPredicate]] = {}
    for read in statement.reads:
        predicates.setdefault(read.table, []).append(read.partitions)
    tables = []
    for table, wanted in predicates.items():
        known = facts[table]
        if known is not None:
            if coverage is Coverage.TABLE:
                wanted = [NONE if predicate is NONE else ALL for predicate in wanted]
            tables.append(_input(table, known, wanted))
    return tuple(tables)


def _input(
    table: TableRef, known: TableFacts, predicates: Sequence[PartitionPredicate]
) -> InputTable:
    primary, placed = known.replicas.primary, known.partitions
    if all(predicate is NONE for predicate in predicates):
        return InputTable(table, primary, ())
    if placed is None:
        return InputTable(table, primary, (known.replicas,))
    selections = [predicate.select(placed.partitions) for predicate in predicates]
    rows: Collection[int] = selections[0]
    if len(selections) > 1:
        rows = set().union(*selections)
    return InputTable(table, primary, _replicas_of(rows, placed), placed, rows)


def _replicas_of(rows: Collection[int], placed: PlacedPartitions) -> tuple[Replicas, ...]:
    """The distinct replicas of these rows. If all partitions have the same, the rows are not read:
    a condition may select a million."""
    if len(rows) == len(placed.partitions):
        return placed.replicas
    if rows and len(set(placed.replicas)) == 1:
        return placed.replicas[:1]
    groups = set(map(placed.groups.__getitem__, rows))
    return tuple(placed.replicas[group] for group in sorted(groups))


def output_primaries(statement: Known, facts: Facts) -> dict[ClusterName, OutputTable]:
    """The primary clusters of the existing outputs, each with the first output that has it."""
    primaries: dict[ClusterName, OutputTable] = {}
    for write in statement.writes:
        known = facts[write.table] if write.exists else None
        if known is None or write.action is WriteAction.VIEW:
            continue
        touched = None if known.partitions is None else _touched(write, known.partitions)
        if touched is None:
            primaries.setdefault(known.replicas.primary, OutputTable(write.table))
            continue
        if write.dynamic or not touched or write.action is WriteAction.DROP:
            primaries.setdefault(known.replicas.primary, OutputTable(write.table))
        for replicas in touched:
            primaries.setdefault(replicas.primary, OutputTable(write.table, partition=True))
    return primaries


def _touched(write: Write, placed: PlacedPartitions) -> tuple[Replicas, ...] | None:
    """The replicas of the existing partitions that a write may change; None for the whole table."""
    if write.partitions is ALL and write.action is WriteAction.ALTER:
        return None
    return _replicas_of(write.partitions.select(placed.partitions), placed)


def is_query(statement: Known | Unknown) -> bool:
    """Whether the statement is a query, which writes no table and does not change the session."""
    return isinstance(statement, Known) and only_selects(statement) and not statement.explain


def only_selects(statement: Known) -> bool:
    """Whether the statement is a query, or the EXPLAIN of one."""
    return (
        statement.kind in ("select", "from_select")
        and not statement.writes
        and statement.changes is None
    )


def path_clusters(request: Request, statement: Known) -> frozenset[ClusterName]:
    """The clusters in whose file systems the statement's paths are; at most one can run it.

    A path without a scheme is in the file system of the cluster that runs the statement, and one in
    no cluster's file system is shared: these do not count (conf.locations).
    """
    return frozenset(
        cluster
        for path in (*statement.paths_read, *statement.paths_written)
        for cluster in clusters_of(path, request.filesystems)
    )


def has_bare_path(statement: Known | Unknown) -> bool:
    """Whether the statement reads a path without a scheme, which is another file in each cluster.
    Then the choice of the cluster must not depend on load, or on which clusters are up."""
    paths = statement.paths_read if isinstance(statement, Known) else ()
    return any(each.kind == BARE for path in paths for each in readings(path))


def runs_anywhere(statement: Known) -> bool:
    """Whether every cluster can run a statement that has no input and no output (D11).

    Such a statement reads only what all clusters have, or changes the session in a way that can be
    repeated in each cluster. A path may be in one cluster's file system, and a cached result is in
    one cluster only.
    """
    paths = statement.paths_read or statement.paths_written
    if statement.writes or statement.database_written is not None or paths:
        return False
    changes = statement.changes
    if isinstance(changes, AssignVariables):
        return changes.repeatable
    return statement.kind in _ANYWHERE if changes is None else isinstance(changes, _REPEATED)
