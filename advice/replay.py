"""Replays one statement: whether it runs today, and what each cluster would need to run it.

The proxy's analysis and router decide.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

from advice.stock import Part, Stock
from conf.names import ClusterName, TableRef
from dialect.analyze import analyze
from dialect.grammar import cluster_statements
from dialect.statement import Known, Namespace, Needs, Unknown
from router.decision import Refuse, RunIn
from router.errors import NOT_UNDERSTOOD
from router.needs import InputTable, inputs, output_primaries, path_clusters
from router.request import Facts, Request, is_copyable, tables_needed
from router.route import route

# A cluster that could run a statement, and the parts of which it would need copies.
Option = tuple[ClusterName, frozenset[Part]]
# The tables that a statement reads, each with the clusters that have the parts that are read.
ReadableIn = tuple[tuple[TableRef, frozenset[ClusterName]], ...]


class ReplayVerdict(StrEnum):
    """Whether a statement runs today, and if not, why."""

    RUNS = "runs"
    REFUSED = "refused"
    NOT_UNDERSTOOD = "not understood"
    NO_TABLE = "names tables that are not known"


@dataclass(frozen=True, slots=True)
class ReplayOutcome:
    """The result for a statement. `code` and `because` are the reason why it does not run today.
    `options` are the clusters that could run it, each with the parts that it needs copies of
    (DC-R5, DC-R7); empty if copies do not help.
    """

    verdict: ReplayVerdict
    kind: str
    code: str = ""
    because: str = ""
    options: tuple[Option, ...] = ()
    reads: frozenset[TableRef] = frozenset()
    writes: frozenset[TableRef] = frozenset()
    readable_in: ReadableIn = ()


def replay(
    sql: str, namespace: Namespace, stock: Stock, at: float | None = None
) -> ReplayOutcome | Needs:
    """The outcome of a statement at the Unix time `at`; or the tables that have to be added to the
    stock first, if it is not complete."""
    if cluster_statements.parse(sql, True) is not None:
        return ReplayOutcome(ReplayVerdict.RUNS, "cluster", options=((stock.default, frozenset()),))
    statement = analyze(sql, namespace, stock)
    if isinstance(statement, Needs):
        return statement
    if isinstance(statement, Known) and statement.cascade:
        statement = Unknown("it concerns every table of a database")
    if isinstance(statement, Unknown):
        return ReplayOutcome(
            ReplayVerdict.NOT_UNDERSTOOD, "unknown", NOT_UNDERSTOOD.code, f"{statement.why}"
        )
    facts = {
        ref: None if (found := stock.stock_of(ref)) is None else found.facts
        for ref in tables_needed(statement)
    }
    reads = frozenset(read.table for read in statement.reads)
    writes = frozenset(write.table for write in statement.writes)
    lacking = sorted(str(ref) for ref in reads if facts[ref] is None)
    if lacking:
        because = f"{', '.join(lacking[:3])}{', ..' if len(lacking) > 3 else ''}"
        return ReplayOutcome(ReplayVerdict.NO_TABLE, statement.kind, "", because, (), reads, writes)
    request = Request(
        statement,
        stock.default,
        None,
        stock.use_default,
        stock.coverage,
        filesystems=stock.filesystems,
        clusters=stock.clusters,
    )
    decision = route(request, facts)
    read = inputs(statement, facts, request.coverage)
    options = tuple(_options(request, statement, facts, read, stock, at))
    readable_in = tuple(
        (each.table, frozenset(name for name in stock.clusters if not each.lacking_in(name)))
        for each in read
    )
    if isinstance(decision, RunIn):
        return ReplayOutcome(
            ReplayVerdict.RUNS, statement.kind, "", "", options, reads, writes, readable_in
        )
    assert isinstance(decision, Refuse)  # Causeway's own statements returned above
    because = _because(decision)
    return ReplayOutcome(
        ReplayVerdict.REFUSED,
        statement.kind,
        decision.code,
        because,
        options,
        reads,
        writes,
        readable_in,
    )


def _because(decision: Refuse) -> str:
    """The reason without the names of partitions, so that it is equal for other days."""
    lacking = [
        f"{each.cluster} lacks {', '.join(tables)}"
        for each in decision.considered
        if (tables := [str(lack.table) for lack in each.obstacles if lack.table is not None])
    ]
    return "; ".join(lacking) or decision.because


def _options(
    request: Request,
    statement: Known,
    facts: Facts,
    found: Sequence[InputTable],
    stock: Stock,
    at: float | None,
) -> Iterator[Option]:
    """The clusters that the router's rules would try, with the parts of other primaries."""
    primaries = output_primaries(statement, facts)
    if len(primaries) > 1:
        return
    paths = path_clusters(request, statement)
    tried = [*primaries] or [cluster for each in found for cluster in each.clusters()]
    if not primaries:
        tried += sorted(paths)
        if tried and request.use_default:
            tried.insert(0, request.default)
    for cluster in dict.fromkeys(tried or [request.default]):
        if paths <= {cluster}:
            parts = frozenset().union(*(_parts(each, cluster, stock, at) for each in found))
            if all(is_copyable(facts, part.table) for part in parts):
                yield cluster, parts


def _parts(
    read: InputTable, cluster: ClusterName, stock: Stock, at: float | None
) -> frozenset[Part]:
    """The parts of an input that the cluster needs copies of."""
    if all(replicas.primary == cluster for replicas in read.replicas):
        return frozenset()
    table = stock.stock_of(read.table)
    assert table is not None  # `inputs` has existing tables only
    parts = table.parts(None if read.placed is None else read.rows, at)
    return frozenset(
        part for part in parts if any(each.primary != cluster for each in table.replicas(part))
    )
