"""The request on which the router decides."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from conf.names import ClusterName, TableRef
from conf.partitions import TableFacts
from conf.settings.settings import Coverage
from dialect.statement import ALL, NONE, Known, PartitionPredicate, Unknown, WriteAction
from router.costs import Costs

# None for a table that certainly does not exist. A table that was not looked up is no key.
Facts = Mapping[TableRef, TableFacts | None]


@dataclass(frozen=True, slots=True)
class Bound:
    """The only cluster in which the session can run this statement, and the reason."""

    cluster: ClusterName
    because: str


@dataclass(frozen=True, slots=True)
class Request:
    """One statement, with the state of its session and of the clusters.

    - `bounds`: the clusters of objects of the session that the statement uses.
    - `filesystems`: each cluster's default file system URI.
    - `viewed`: the clusters with a metastore view that returns only locations of fresh data (D11).
    - `clusters`: all clusters in the order of the settings. `down`: those in which no session can
      be opened now; a statement runs in another cluster if several can run it.
    - `lost`: the cluster that was lost while it ran the statement.
    - `moves`: while its clusters are down, a query may run in one that the rules would not try.
    - `fetch`: the most bytes that may be copied so that a query can run. `lacking`: the bytes of
      other tables, which later queries may read with this one's, that each cluster lacks.
    - `costs`: the expected times, if cost decides among several clusters that can run a read.
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
    """Whether copies of the table can be made; True for a table that does not exist."""
    known = facts[table]
    return known is None or known.copyable


def tables_needed(statement: Known | Unknown) -> frozenset[TableRef]:
    """The tables of which `route` reads the facts."""
    if isinstance(statement, Unknown):
        return frozenset()
    read = {read.table for read in statement.reads}
    return frozenset(read | {write.table for write in statement.writes if write.exists})


def wanted_partitions(
    statement: Known | Unknown, coverage: Coverage
) -> dict[TableRef, list[PartitionPredicate]]:
    """The partitions of which `route` reads the facts (D1), by existing table."""
    wanted: dict[TableRef, list[PartitionPredicate]] = {}
    if isinstance(statement, Known):
        for read in statement.reads:
            every = coverage is Coverage.TABLE and read.partitions is not NONE
            wanted.setdefault(read.table, []).append(ALL if every else read.partitions)
        for write in statement.writes:
            if write.exists and write.action is not WriteAction.VIEW:
                wanted.setdefault(write.table, []).append(write.partitions)
    return wanted
