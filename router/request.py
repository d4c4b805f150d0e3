"""What the router is asked."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from conf.names import ClusterName, TableRef
from conf.partitions import TableFacts
from conf.settings.settings import Coverage
from dialect.statement import ALL, NONE, Known, PartitionPredicate, Unknown, WriteAction
from router.costs import Costs

# A table that certainly does not exist has None; a table that is not a key was never looked up.
Facts = Mapping[TableRef, TableFacts | None]


@dataclass(frozen=True, slots=True)
class Bound:
    """A cluster that the session cannot leave for this statement, and why."""

    cluster: ClusterName
    because: str


@dataclass(frozen=True, slots=True)
class Request:
    """One statement with what its session and the configuration say.

    `filesystems` has each cluster's default file system URI. `viewed` are the clusters whose
    metastore view hands out only locations that hold the data (D11). `clusters` are all clusters in
    the order of the settings, `down` those that no session can be opened in now: where several can
    run the statement, another one does. `lost` is a cluster that was lost while it ran the
    statement. `moves`: a query may run where it otherwise would not, if its clusters are down.
    `fetch` is how many bytes may be copied so that a query can run, `lacking` how many
    bytes each cluster lacks of other tables that later queries may read with those of this one.
    `costs` are there if the cost decides among several clusters that may run a read.
    """

    statement: Known | Unknown
    default: ClusterName
    pinned: ClusterName | None = None
    use_default: bool = False
    coverage: Coverage = Coverage.READ
    bounds: tuple[Bound, ...] = ()
    filesystems: Mapping[ClusterName, str] = field(default_factory=dict)
    viewed: frozenset[ClusterName] = frozenset()
    down: frozenset[ClusterName] = frozenset()
    clusters: tuple[ClusterName, ...] = ()
    lost: ClusterName | None = None
    moves: bool = False
    fetch: int = 0
    lacking: Mapping[ClusterName, float] = field(default_factory=dict)
    costs: Costs | None = None


def is_copyable(facts: Facts, table: TableRef) -> bool:
    """Whether copies of the table can be made; nothing is against it where the table is missing."""
    known = facts[table]
    return known is None or known.copyable


def tables_needed(statement: Known | Unknown) -> frozenset[TableRef]:
    """The tables whose facts `route` looks up."""
    if isinstance(statement, Unknown):
        return frozenset()
    read = {read.table for read in statement.reads}
    return frozenset(read | {write.table for write in statement.writes if write.exists})


def wanted_partitions(
    statement: Known | Unknown, coverage: Coverage
) -> dict[TableRef, list[PartitionPredicate]]:
    """The partitions whose facts `route` looks at (D1), by existing table."""
    wanted: dict[TableRef, list[PartitionPredicate]] = {}
    if isinstance(statement, Known):
        for read in statement.reads:
            every = coverage is Coverage.TABLE and read.partitions is not NONE
            wanted.setdefault(read.table, []).append(ALL if every else read.partitions)
        for write in statement.writes:
            if write.exists and write.action is not WriteAction.VIEW:
                wanted.setdefault(write.table, []).append(write.partitions)
    return wanted
