"""Playbooks: the events of a statement (`>>`), and the commands that follow (`<<`), in order."""

from typing import Self

from conf.names import ClusterName, TableRef
from conf.partitions import Replicas, TableFacts
from conf.topology import Cluster, Endpoint, Topology
from dialect.statement import ALL, Known, Read, Unknown, Write, WriteAction
from proxy.protocol.types import OperationState
from proxy.session.session import SessionState
from proxy.statement.machine.commands import Become, Command
from proxy.statement.machine.events import Analysed, CommandRead, Event, Routed, Started
from proxy.statement.machine.machine import StatementMachine
from proxy.statement.machine.steps import Step
from router.decision import Decision, RunIn

EAST, WEST = ClusterName("east"), ClusterName("west")
TOPOLOGY = Topology(
    {name: Cluster(name, f"file:/{name}", (Endpoint(str(name), 1),)) for name in (EAST, WEST)},
    EAST,
)
TABLE = TableRef("default", "t")
READ = Known("select", (Read(TABLE, ALL),))
WRITE = Known("insert", writes=(Write(TABLE, WriteAction.INSERT, exists=True),))
CREATE = Known("ctas", writes=(Write(TABLE, WriteAction.CREATE, exists=False),))
UNKNOWN = Unknown("it is odd")
FREE: frozenset[TableRef] = frozenset()
RUNNING = Become(OperationState.RUNNING)


class Token(str):
    """A running write."""

    __slots__ = ()
    id = "mark"


class Playbook:
    """`statement >> event << command << command >> event`; each command has to be expected."""

    def __init__(self, machine: StatementMachine) -> None:
        self.machine = machine
        self.due: list[Command] = []

    def __rshift__(self, event: Event) -> Self:
        assert not self.due, f"not expected: {self.due}"
        self.due = self.machine.receive(event)
        return self

    def __lshift__(self, command: Command) -> Self:
        assert self.due, f"{command} does not follow"
        assert self.due.pop(0) == command
        return self

    @property
    def is_over(self) -> bool:
        assert not self.due, f"not expected: {self.due}"
        return self.machine.step is Step.OVER


def session() -> SessionState:
    return SessionState.opened("ann", 5, {}, TOPOLOGY)


def statement(sql: str = "TEXT", state: SessionState | None = None, **options: bool) -> Playbook:
    """A new statement, before `Started`."""
    return Playbook(StatementMachine(sql, state or session(), **options))  # type: ignore[arg-type]


def analysed(what: Known | Unknown, sql: str = "TEXT", state: SessionState | None = None,
             **options: bool) -> Playbook:  # fmt: skip
    """A statement that was read and analysed; the commands up to there are not checked."""
    book = statement(sql, state, **options)
    for event in (Started(), CommandRead(None), Analysed(what)):
        book.due = book.machine.receive(event)
    return book


def decided(what: Known | Unknown, **options: bool) -> Playbook:
    """A statement that was decided to run in east; the command that follows is not checked."""
    book = analysed(what, **options)
    book.due = []
    book = book >> routed(what)
    book.due = []
    return book


def routed(
    what: Known | Unknown, decision: Decision | None = None, in_turn: frozenset[TableRef] = FREE
) -> Routed:
    runs = RunIn(EAST, "DC-D1", "it is there")
    reads = what.reads if isinstance(what, Known) else ()
    facts = {read.table: TableFacts(Replicas(EAST, frozenset())) for read in reads}
    versions = {read.table: 1 for read in reads}
    return Routed(what, decision or runs, facts, versions, in_turn=in_turn)
