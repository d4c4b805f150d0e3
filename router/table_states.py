"""Where each table of a statement is: one row per table and cluster, for people.

Computed only when a user or operator asks for it: no decision needs it.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum
from itertools import islice
from typing import Any

from conf.names import ClusterName, TableRef, partition_name
from conf.partitions import PlacedPartitions, Replicas, TableFacts
from conf.settings.settings import Coverage
from dialect.statement import NONE, Known, PartitionPredicate, Unknown
from router.obstacles import SHOWN
from router.request import Facts, wanted_partitions


class Presence(StrEnum):
    """What a cluster has of a table or partition, the worst first."""

    ABSENT = "absent"
    STALE = "stale"
    FRESH = "fresh"
    PRIMARY = "primary"


_LACKING = (Presence.ABSENT, Presence.STALE)


@dataclass(frozen=True, slots=True)
class TableState:
    """What `cluster` has of what a statement reads or writes of `table`.

    `state` is the worst of its partitions. Of a partitioned table, `partitions` is the number of
    those that the statement reads or writes, and the next four are how many of them the cluster has
    in which way; `first` are the names of the first that are stale or absent.

    The rest is None unless it was asked for and is known: `stale_since` (UTC) is when the first
    write began that a stale copy misses, `lag` the seconds since then; `files` and `bytes` are
    those of all that the cluster has; `changes` says how much is read of a table whose changed rows
    alone are read.
    """

    table: TableRef
    cluster: ClusterName
    state: Presence
    partitions: int | None = None
    primary: int | None = None
    fresh: int | None = None
    stale: int | None = None
    absent: int | None = None
    first: tuple[str, ...] = ()
    stale_since: str | None = None
    lag: float | None = None
    files: int | None = None
    bytes: int | None = None
    changes: str | None = None

    def document(self) -> dict[str, Any]:
        """As JSON has it."""
        return asdict(self) | {"table": str(self.table), "state": self.state.value}


def presence(replicas: Replicas, cluster: ClusterName) -> Presence:
    """What the cluster has of an object with these replicas."""
    if cluster == replicas.primary:
        return Presence.PRIMARY
    if cluster in replicas.fresh:
        return Presence.FRESH
    return Presence.STALE if cluster in replicas.stale else Presence.ABSENT


def table_states(
    statement: Known | Unknown, facts: Facts, clusters: Iterable[ClusterName], coverage: Coverage
) -> tuple[TableState, ...]:
    """A row for each existing table that the statement reads or writes and each of `clusters`, in
    their order; none for a statement that is not understood."""
    if isinstance(statement, Unknown):
        return ()
    names = tuple(clusters)
    return tuple(
        row
        for table, selections in wanted_partitions(statement, coverage).items()
        if (known := facts.get(table)) is not None
        for row in _of_table(table, known, selections, names)
    )


def partitions_used(
    statement: Known | Unknown, facts: Facts, coverage: Coverage
) -> dict[TableRef, list[str]]:
    """The names of the partitions that the statement reads or writes, by existing table."""
    return {
        table: [
            partition_name(known.partitions.partitions.spec(row))
            for row in _rows(known.partitions, selections)
        ]
        if known.partitions is not None
        else []
        for table, selections in wanted_partitions(statement, coverage).items()
        if (known := facts.get(table)) is not None
    }


def _rows(placed: PlacedPartitions, selections: Sequence[PartitionPredicate]) -> list[int]:
    return sorted(set().union(*(each.select(placed.partitions) for each in selections)))


def _of_table(
    table: TableRef,
    known: TableFacts,
    selections: Sequence[PartitionPredicate],
    clusters: Sequence[ClusterName],
) -> Iterator[TableState]:
    placed = known.partitions
    if placed is None or all(each is NONE for each in selections):
        for cluster in clusters:
            yield TableState(table, cluster, presence(known.replicas, cluster))
        return
    rows = _rows(placed, selections)
    for cluster in clusters:
        yield _of_partitions(table, placed, rows, cluster)


def _of_partitions(
    table: TableRef, placed: PlacedPartitions, rows: Sequence[int], cluster: ClusterName
) -> TableState:
    kinds = [presence(replicas, cluster) for replicas in placed.replicas]
    counts = Counter(kinds[placed.groups[row]] for row in rows)
    lacking = (row for row in rows if kinds[placed.groups[row]] in _LACKING)
    first = (placed.partitions.spec(row) for row in islice(lacking, SHOWN))
    return TableState(
        table,
        cluster,
        next((each for each in Presence if counts[each]), Presence.PRIMARY),
        partitions=len(rows),
        primary=counts[Presence.PRIMARY],
        fresh=counts[Presence.FRESH],
        stale=counts[Presence.STALE],
        absent=counts[Presence.ABSENT],
        first=tuple(map(partition_name, first)),
    )
