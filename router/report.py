"""Describes a decision for `causeway route`, EXPLAIN CLUSTER and the REST API."""

from collections.abc import Iterator
from dataclasses import dataclass, fields
from typing import Any, assert_never

from conf.names import PartitionRef
from conf.partitions import TableFacts
from dialect.statement import AllPartitions, Known, Read, Unknown, Write
from router.decision import Answer, Decision, Refuse, RunIn
from router.obstacles import Considered
from router.request import Facts
from router.rule_names import rule_name

OWN = Answer("own", "the statement is Causeway's own")


@dataclass(frozen=True, slots=True)
class DecisionReport:
    """A decision in a form for users. `reads` and `writes` are `db.table`, or `db.table@key=value`
    for each partition if only some are used. `code` is the refusal's. `considered` has the clusters
    in the order of the rules.
    """

    decision: str
    cluster: str | None
    rule: str
    because: str
    reads: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()
    code: str | None = None
    considered: tuple[Considered, ...] = ()

    def document(self) -> dict[str, Any]:
        """As JSON has it."""
        shown = {each.name: getattr(self, each.name) for each in fields(self)}
        return shown | {"considered": [each.document() for each in self.considered]}


def report_decision(
    statement: Known | Unknown | None, decision: Decision, facts: Facts
) -> DecisionReport:
    """The report about a decision. `statement` is None for one of Causeway's own."""
    reads: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()
    if isinstance(statement, Known):
        named = (name for read in statement.reads for name in _read(read, facts.get(read.table)))
        reads = tuple(dict.fromkeys(named))
        writes = tuple(dict.fromkeys(name for each in statement.writes for name in _write(each)))
    rule = rule_name(decision.rule)
    match decision:
        case RunIn(cluster, _, because, considered):
            return DecisionReport("run", cluster, rule, because, reads, writes, None, considered)
        case Answer(_, because):
            return DecisionReport("answer", None, rule, because, reads, writes)
        case Refuse(code, _, _, because, _, considered):
            return DecisionReport("refuse", None, rule, because, reads, writes, code, considered)
        case _:
            assert_never(decision)


def _read(read: Read, facts: TableFacts | None) -> Iterator[str]:
    placed = None if facts is None else facts.partitions
    if placed is None or isinstance(read.partitions, AllPartitions):
        yield str(read.table)
        return
    for row in read.partitions.select(placed.partitions):
        yield str(PartitionRef(read.table, placed.partitions.spec(row)))


def _write(write: Write) -> Iterator[str]:
    if not write.named or write.dynamic:
        yield str(write.table)
        return
    for spec in write.named:
        yield str(PartitionRef(write.table, spec))
