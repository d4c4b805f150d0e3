"""The state of each table of a statement in each cluster, for users and operators. No decision uses
it."""

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
    """Whether a cluster has a table or partition, the worst first."""

    ABSENT = "absent"
    STALE = "stale"
    FRESH = "fresh"
    PRIMARY = "primary"


_LACKING = (Presence.ABSENT, Presence.STALE)


@dataclass(frozen=True, slots=True)
class TableState:
    """The state in `cluster` of the part of `table` that a statement reads or writes.

    `state` is the worst of its partitions. Of a partitioned table, `partitions` is the number of
    partitions that the statement reads or writes, and the next four fields count them by their
    presence; `first` has the names of the first ones that are stale or absent.

    The other fields are None unless they were requested and are known. `stale_since` (UTC) is when
    the first write began that a stale copy misses, and `lag` the seconds since then. `files` and
    `bytes` are those of all data in the cluster. `changes` is the range of a table of which only
    changed rows are read.
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
    """Whether the cluster has an object with these replicas."""
    if cluster == replicas.primary:
        return Presence.PRIMARY
    if cluster in replicas.fresh:
        return Presence.FRESH
    return Presence.STALE if cluster in replicas.stale else Presence.ABSENT


def table_states(
    statement: Known | Unknown, facts: Facts, clusters: Iterable[ClusterName], coverage: Coverage
) -> tuple[TableState, ...]:
    """One state for each existing table that the statement reads or writes and each of `clusters`,
    in their order. Empty for a statement that is not understood."""
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
