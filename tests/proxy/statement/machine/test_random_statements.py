"""Random events at each step: a statement ends once, and every row of TRANSITIONS is used."""

import random

import pytest

from dialect.grammar.cluster_statements import (
    ExplainCluster,
    ShowCopies,
    ShowStatements,
    UseCluster,
)
from dialect.statement import Known, ResetVariables, SetVariable, Unknown, UseDatabase
from metastore.errors import MetastoreDown
from proxy.errors import Failure, ThriftServerError
from proxy.protocol.replies import Status
from proxy.protocol.types import OperationState
from proxy.session.states import BadTransition
from proxy.statement.machine import commands as cmd
from proxy.statement.machine.events import (
    Accepted,
    Analysed,
    CallFailed,
    CommandRead,
    Copied,
    DatabaseChecked,
    Entered,
    Event,
    ExecutionEnded,
    Fetched,
    Lingered,
    Listed,
    OutcomeLearned,
    Recalled,
    Routed,
    Started,
    Stopped,
    SyntaxChecked,
    TablesClaimed,
    TaskCancelled,
    ThreadFreed,
    TurnCame,
    WriteMarked,
    ZoneRead,
)
from proxy.statement.machine.machine import StatementMachine
from proxy.statement.machine.steps import TRANSITIONS, Step
from tests.proxy.fake_cluster import BUSY
from tests.proxy.statement.outcomes import (
    CANCELED,
    COPY,
    CURABLE,
    DATABASES,
    DOWN,
    FAILED,
    FINISHED,
    GONE,
    LOST,
    REFUSE,
    SET,
    SHOW,
    TOKEN,
    TURN,
    WRONG,
)
from tests.proxy.statement.playbook import (
    CREATE,
    READ,
    RUNNING,
    TABLE,
    UNKNOWN,
    WEST,
    WRITE,
    routed,
    session,
    statement,
)


def test_an_event_that_cannot_come_is_a_defect() -> None:
    with pytest.raises(BadTransition, match="Accepted at NEW"):
        statement() >> Accepted()


STATEMENTS = (
    READ,
    WRITE,
    CREATE,
    UNKNOWN,
    SET,
    Known("select", constant=True),
    Known("set", effect=ResetVariables(None)),
    Known("use", effect=UseDatabase("sales")),
    Known("set", effect=SetVariable("hive.use.default.cluster", "true")),
    SHOW,
)
EXPLAIN_EXTENDED = ExplainCluster("X", extended=True)
OWN_COMMANDS = (
    *(ExplainCluster("X"), EXPLAIN_EXTENDED, ShowCopies(), ShowStatements()),
    *(COPY, UseCluster("west")),
)
COMMANDS = (*(None,) * 9, *OWN_COMMANDS)


def an_event(
    dice: random.Random, machine: StatementMachine, what: Known | Unknown, done: list[cmd.Command]
) -> Event:
    """A random event that may come at the machine's step."""
    kinds = [each for each in TRANSITIONS[machine.step] if each is not CallFailed]
    if machine.step is Step.SENDING:
        kinds = [ExecutionEnded if getattr(done[-1], "at_once", False) else Accepted]
    may_fail = CallFailed in TRANSITIONS[machine.step]
    late = machine.step is Step.QUEUEING or machine.step.value > Step.MARKING.value
    fails = may_fail and dice.random() < (0.3 if late else 0.05)
    kind = CallFailed if fails else dice.choice(kinds)
    stale = Status(OperationState.ERROR, Failure("[CW363] Table t was written."))
    ends = (*(each.status for each in (FINISHED, FAILED, CANCELED)), stale)
    events: dict[type[Event], list[Event]] = {
        CommandRead: [CommandRead(each) for each in COMMANDS],
        Analysed: [Analysed(what)],
        DatabaseChecked: [DatabaseChecked(True), DatabaseChecked(False)],
        Copied: [Copied("made")],
        Fetched: [Fetched()],
        Listed: [Listed(DATABASES)],
        Routed: [
            *(routed(what), routed(what), routed(what, REFUSE)),
            *([routed(what, CURABLE)] if what is READ else []),
            *([routed(what, in_turn=TURN)] if what is WRITE else []),
        ],
        TurnCame: [TurnCame(True), TurnCame(False)],
        ThreadFreed: [ThreadFreed()],
        Recalled: [Recalled(DATABASES), Recalled(None)],
        SyntaxChecked: [SyntaxChecked(None)],
        Entered: [Entered(True), Entered(False), Entered(False, lacks=True)],
        WriteMarked: [WriteMarked((TABLE,), TOKEN), WriteMarked((), None)],
        Accepted: [Accepted()],
        ExecutionEnded: [FINISHED]
        if machine.step is Step.SENDING
        else [ExecutionEnded(each) for each in ends],
        ZoneRead: [ZoneRead("UTC"), ZoneRead(None)],
        TablesClaimed: [TablesClaimed()],
        OutcomeLearned: [OutcomeLearned(True), OutcomeLearned(False)],
        Lingered: [Lingered()],
        Started: [Started()],
        CallFailed: [
            *(
                CallFailed(each)
                for each in (LOST, GONE, DOWN, ThriftServerError(WRONG), MetastoreDown("down"))
            ),
            CallFailed(ThriftServerError(Failure(BUSY))),
        ],
    }
    return dice.choice(events[kind])


@pytest.mark.slow
def test_random_events_end_a_statement_once_and_close_or_keep_each_mark() -> None:
    taken: set[tuple[Step, type[Event], Step]] = set()
    for seed in range(4000):
        dice = random.Random(seed)
        what = dice.choice(STATEMENTS)
        through = WEST if dice.random() < 0.1 else None
        machine = StatementMachine("TEXT", session(), through, can_copy=True)
        done: list[cmd.Command] = []
        for _ in range(60):
            if machine.step is Step.OVER:
                break
            if dice.random() < (0.3 if machine.step is Step.QUEUEING else 0.06):
                done += machine.receive(Stopped() if dice.random() < 0.7 else TaskCancelled())
                continue
            step, event = machine.step, an_event(dice, machine, what, done)
            commands = machine.receive(event)
            assert all(not isinstance(each, cmd.Call) for each in commands[:-1]), seed
            assert machine.step is Step.OVER or isinstance(commands[-1], cmd.Call), seed
            taken.add((step, type(event), machine.step))
            done += commands
        assert machine.step is Step.OVER, seed
        check(done, seed)
    table = {
        (step, kind, after)
        for step, events in TRANSITIONS.items()
        for kind, steps in events.items()
        for after in steps
    }
    assert table == taken  # every row of the table was used


def check(done: list[cmd.Command], seed: int) -> None:
    """There is one report, after the client's final state and with no state after it. Each sent
    write has a mark, and each mark is removed or kept."""
    at = [i for i, each in enumerate(done) if isinstance(each, cmd.ReportOutcome)]
    assert len(at) == 1, seed
    states = [i for i, each in enumerate(done) if isinstance(each, cmd.Become)]
    assert all(each < at[0] for each in states), seed
    ends = [done[i] for i in states if done[i] != RUNNING]
    assert len(ends) <= 1, seed  # none of a statement that was stopped before it was sent
    assert sum(each == RUNNING for each in done) <= 1, seed
    assert sum(isinstance(each, cmd.Apply) for each in done) <= 1, seed
    opened = sum(isinstance(each, cmd.MarkWrite) for each in done)
    closed = sum(isinstance(each, cmd.RemoveMark | cmd.KeepMark) for each in done)
    learnt = sum(isinstance(each, cmd.LearnOutcome) for each in done)
    assert closed <= opened + learnt, seed
