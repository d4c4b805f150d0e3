"""The reads of plans: one Read for each table, with a predicate for its partitions."""

from collections.abc import Sequence, Set

from conf.names import TableRef
from dialect.lineage.plan import Node, Scan, scans
from dialect.lineage.prune import Pruner
from dialect.parsing.variables import Pruning
from dialect.pruning.predicate import Conditions, any_of
from dialect.pruning.terms import (
    ANYTHING,
    Operation,
    ScanColumn,
    Term,
    columns_of,
    has_unknown,
    is_opaque,
    operation,
    replace_columns,
)
from dialect.statement import ALL, PartitionPredicate, Read

# In a plan with more scans, inference over joins would take too long.
MAX_INFERRED = 64


def reads_of(roots: Sequence[Node], pruning: Pruning = Pruning.INFERRED) -> tuple[Read, ...]:
    """The tables that the plans scan, each once, in the order of their first mention."""
    mentions = [(root, list(scans(root))) for root in roots]
    found: dict[TableRef, list[PartitionPredicate]] = {}
    for root, scanned in mentions:
        conditions: dict[int, list[Term]] = {}
        if pruning is not Pruning.NONE and any(_partitioned(scan) for scan in scanned):
            inferring = len(scanned) <= MAX_INFERRED or pruning is not Pruning.INFERRED
            pruner = Pruner(pruning if inferring else Pruning.PUSHED)
            pruner.push_down(root)
            conditions = pruner.by_scan
        for scan in scanned:
            terms = conditions.get(scan.rid, [])
            predicate = _predicate(scan, terms) if terms and _partitioned(scan) else ALL
            found.setdefault(scan.ref, []).append(predicate)
    return tuple(Read(table, any_of(predicates)) for table, predicates in found.items())


def _partitioned(scan: Scan) -> bool:
    return scan.info is not None and bool(scan.info.partition_keys)


def _predicate(scan: Scan, terms: Sequence[Term]) -> PartitionPredicate:
    """The part of the scan's conditions that concerns its partition keys."""
    keys = {key.name.lower() for key in scan.info.partition_keys} if scan.info else set()

    own = []
    for term in terms:
        if is_opaque(term):
            continue
        on_keys = _on_keys(term, scan.rid, keys)
        if on_keys != ANYTHING and (not _has_columns(term) or _has_columns(on_keys)):
            own.append(on_keys)
    return Conditions(tuple(dict.fromkeys(own))) if own else ALL


def _on_keys(term: Term, rid: int, keys: Set[str]) -> Term:
    """The part of a condition that concerns keys alone, or ANYTHING.

    As in Spark, only AND, OR and NOT are taken apart: of a CASE with other columns, say, no part
    is used.
    """
    if isinstance(term, Operation) and term.name in ("and", "or"):
        parts = [_on_keys(part, rid, keys) for part in term.args]
        if term.name == "or":
            return ANYTHING if ANYTHING in parts else operation("or", *parts)
        parts = [part for part in parts if part != ANYTHING]
        return operation("and", *parts) if parts else ANYTHING
    if isinstance(term, Operation) and term.name == "not" and isinstance(term.args[0], Operation):
        inner = term.args[0]
        if inner.name in ("and", "or"):
            dual = "or" if inner.name == "and" else "and"
            parts = [operation("not", part) for part in inner.args]
            return _on_keys(operation(dual, *parts), rid, keys)
        if inner.name == "not":
            return _on_keys(inner.args[0], rid, keys)
    if any(column.rid != rid or column.name not in keys for column in columns_of(term)):
        return ANYTHING
    if has_unknown(term):  # the unknown part may be another column
        return ANYTHING
    return replace_columns(term, lambda column: ScanColumn(0, column.name, column.type))


def _has_columns(term: Term) -> bool:
    return next(columns_of(term), None) is not None
