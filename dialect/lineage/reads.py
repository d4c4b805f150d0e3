"""The reads of plans: one Read for each table, with the partitions that the conditions leave."""

from collections.abc import Sequence, Set

from conf.names import TableRef
from dialect.lineage.plan import Node, Scan, scans
from dialect.lineage.prune import Pruner
from dialect.parsing.variables import Pruning
from dialect.pruning.predicate import Conditions, any_of
from dialect.pruning.terms import (
    ANYTHING,
    Call,
    Column,
    Term,
    call,
    columns_of,
    has_unknown,
    is_opaque,
    replace_columns,
)
from dialect.statement import ALL, PartitionPredicate, Read

# With more scans than this inference takes too long.
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
    """The conditions on the scan's partition keys."""
    keys = {key.name.lower() for key in scan.info.partition_keys} if scan.info else set()

    own = []
    for term in terms:
        if is_opaque(term):
            continue
        new = _of_keys(term, scan.rid, keys)
        if new != ANYTHING and (not columns_of_any(term) or columns_of_any(new)):
            own.append(new)
    return Conditions(tuple(dict.fromkeys(own))) if own else ALL


def _of_keys(term: Term, rid: int, keys: Set[str]) -> Term:
    """The part of a condition that concerns keys alone; as in Spark, only of AND, OR and NOT.

    In a CASE, say, that has other columns too there is more to know; Spark reads the partitions.
    """
    if isinstance(term, Call) and term.name in ("and", "or"):
        parts = [_of_keys(part, rid, keys) for part in term.args]
        if term.name == "or":
            return ANYTHING if ANYTHING in parts else call("or", *parts)
        parts = [part for part in parts if part != ANYTHING]
        return call("and", *parts) if parts else ANYTHING
    if isinstance(term, Call) and term.name == "not" and isinstance(term.args[0], Call):
        inner = term.args[0]
        if inner.name in ("and", "or"):
            turned = "or" if inner.name == "and" else "and"
            parts = [call("not", part) for part in inner.args]
            return _of_keys(call(turned, *parts), rid, keys)
        if inner.name == "not":
            return _of_keys(inner.args[0], rid, keys)
    if any(column.rid != rid or column.name not in keys for column in columns_of(term)):
        return ANYTHING
    if has_unknown(term):  # it may be another column
        return ANYTHING
    return replace_columns(term, lambda column: Column(0, column.name, column.type))


def columns_of_any(term: Term) -> bool:
    """Whether the term has a column."""
    return next(columns_of(term), None) is not None
