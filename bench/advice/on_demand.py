"""Compares the bytes that data on demand copies with the fewest bytes with which all queries run.

Each query in turn has its missing data copied to one cluster, by the real analysis and router. The
router knows one query, and the sizes and clusters of the tables in its database. The fewest bytes
are computed from all queries.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from advice.stock import Stock
from conf.names import ClusterName, TableRef
from conf.partitions import TableFacts
from dialect.analyze import analyze
from dialect.statement import Known, Namespace
from router.decision import Refuse
from router.needed_copies import CopyNeeded, bytes_lacking
from router.request import Request, tables_needed
from router.route import route

_ALL = 1 << 62  # bytes that a query may have copied


def known_statements(texts: Iterable[str], namespace: Namespace, stock: Stock) -> list[Known]:
    """The analyses of statements, all of which must be understood."""
    found = []
    for text in texts:
        statement = analyze(text, namespace, stock)
        assert isinstance(statement, Known), statement
        found.append(statement)
    return found


def copied_bytes(
    statements: Sequence[Known], tables: Mapping[TableRef, TableFacts], clusters: Sequence[str]
) -> float:
    """The bytes that are copied for the queries in this order. Each query's copies are made before
    the next query. Tables have no partitions."""
    facts, total = dict(tables), 0.0
    names = tuple(map(ClusterName, clusters))
    for statement in statements:
        needed = {ref: facts[ref] for ref in tables_needed(statement)}
        others = (table for ref, table in facts.items() if ref not in needed)
        lacking = bytes_lacking(others, names)
        request = Request(statement, names[0], clusters=names, fetch=_ALL, lacking=lacking)
        decision = route(request, needed)
        if isinstance(decision, Refuse):
            assert decision.copies, decision.because
            for copy in decision.copies:
                facts[copy.table] = _copied(facts[copy.table], copy)
                total += copy.size or 0
    return total


def _copied(table: TableFacts, copy: CopyNeeded) -> TableFacts:
    replicas = table.replicas
    return replace(table, replicas=replace(replicas, fresh=replicas.fresh | {copy.target}))
