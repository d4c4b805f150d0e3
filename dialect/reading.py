"""What a plan reads: one Read a table."""

from collections.abc import Iterable

from conf.names import TableRef
from dialect.plan import Node, scans
from dialect.predicate import any_of
from dialect.statement import ALL, PartitionPredicate, Read


def reads_of(roots: Iterable[Node]) -> tuple[Read, ...]:
    """The tables that the plans scan, each once, in the order of their first mention."""
    found: dict[TableRef, list[PartitionPredicate]] = {}
    for root in roots:
        for scan in scans(root):
            found.setdefault(scan.ref, []).append(ALL)
    return tuple(Read(table, any_of(predicates)) for table, predicates in found.items())
