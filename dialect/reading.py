"""What plans read: one Read a table, with the partitions that the conditions leave."""

from collections.abc import Sequence

from conf.names import TableRef
from dialect.plan import Node, Scan, scans
from dialect.predicate import Conditions, any_of
from dialect.prune import Pruner
from dialect.statement import ALL, PartitionPredicate, Read
from dialect.terms import ANYTHING, Column, Term, columns_of, replace_columns
from dialect.variables import Pruning


def reads_of(roots: Sequence[Node], pruning: Pruning = Pruning.INFERRED) -> tuple[Read, ...]:
    """The tables that the plans scan, each once, in the order of their first mention."""
    mentions = [(root, list(scans(root))) for root in roots]
    found: dict[TableRef, list[PartitionPredicate]] = {}
    for root, scanned in mentions:
        conditions: dict[int, list[Term]] = {}
        if pruning is not Pruning.NONE and any(_partitioned(scan) for scan in scanned):
            pruner = Pruner(infers=pruning is Pruning.INFERRED)
            pruner.conditions(root)
            conditions = pruner.found
        for scan in scanned:
            terms = conditions.get(scan.rid, [])
            predicate = _predicate(scan, terms) if terms and _partitioned(scan) else ALL
            found.setdefault(scan.ref, []).append(predicate)
    return tuple(Read(table, any_of(predicates)) for table, predicates in found.items())


def _partitioned(scan: Scan) -> bool:
    return scan.info is not None and bool(scan.info.partition_keys)


def _predicate(scan: Scan, terms: Sequence[Term]) -> PartitionPredicate:
    """The conditions on the scan's partition keys, everything else left open."""
    keys = {key.name.lower() for key in scan.info.partition_keys} if scan.info else set()

    def key_only(column: Column) -> Term:
        if column.rid == scan.rid and column.name in keys:
            return Column(0, column.name, column.type)
        return ANYTHING

    own = []
    for term in terms:
        new = replace_columns(term, key_only)
        if new != ANYTHING and (not columns_of_any(term) or columns_of_any(new)):
            own.append(new)
    return Conditions(tuple(dict.fromkeys(own))) if own else ALL


def columns_of_any(term: Term) -> bool:
    """Whether the term mentions a column at all."""
    return next(columns_of(term), None) is not None
