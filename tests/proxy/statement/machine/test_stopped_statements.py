"""Statements that a client, a limit, an operator or the end of the server stops."""

import pytest

from proxy.protocol.replies import Status
from proxy.protocol.types import OperationState
from proxy.statement.machine import commands as cmd
from proxy.statement.machine.events import (
    Accepted,
    Analysed,
    CommandRead,
    Entered,
    ExecutionEnded,
    Lingered,
    Started,
    Stopped,
    TaskCancelled,
)
from proxy.statement.machine.machine import StatementMachine
from proxy.statement.machine.steps import Step
from tests.proxy.statement.outcomes import CANCELED, OPENED, SET, TOKEN, WROTE, running, sent
from tests.proxy.statement.playbook import WRITE, analysed, decided, routed, session


def test_a_statement_stopped_before_it_is_sent_goes_nowhere() -> None:
    assert (decided(WRITE) >> Stopped() >> Entered(checked=False) << cmd.ReportOutcome()).is_over
    book = analysed(WRITE) << cmd.Route(WRITE) >> Stopped() >> routed(WRITE)
    assert (book << cmd.ReportOutcome()).is_over


def test_a_statement_stopped_while_it_is_sent_is_cancelled_in_its_cluster() -> None:
    book = sent() >> Stopped() >> Accepted() << cmd.CancelInCluster() << cmd.WaitForEnd()
    book = book >> CANCELED << cmd.Become(OperationState.CANCELED) << cmd.ReportOutcome()
    assert book.is_over


def test_a_running_statement_is_cancelled_at_once() -> None:
    book = running() >> Stopped() << cmd.CancelInCluster() >> CANCELED
    assert (book << cmd.Become(OperationState.CANCELED) << cmd.ReportOutcome()).is_over


def test_a_cancelled_write_keeps_its_mark_a_little_longer() -> None:
    book = running(WRITE) >> Stopped() << cmd.CancelInCluster() >> CANCELED << WROTE
    book = book << cmd.Become(OperationState.CANCELED) << cmd.ReportOutcome() << cmd.Linger()
    assert (book >> Lingered() << cmd.RemoveMark(TOKEN)).is_over


@pytest.mark.parametrize(
    ("at", "marked", "executed", "cancelled"),
    [
        *((at, 0, 0, 0) for at in range(5)),
        (5, 1, 0, 0),
        (6, 1, 1, 1),
        (7, 1, 1, 1),
        (8, 1, 1, 0),
    ],
)
def test_a_stop_at_each_step_of_a_write(
    at: int, marked: int, executed: int, cancelled: int
) -> None:
    read = Started(), CommandRead(None), Analysed(WRITE), routed(WRITE)
    ran = Entered(checked=False), OPENED, Accepted(), CANCELED, Lingered()
    events = [*read, *ran]
    events.insert(at, Stopped())
    machine, done = StatementMachine("TEXT", session()), []
    for event in events:
        if machine.step is not Step.OVER:
            done += machine.receive(event)
    assert machine.step is Step.OVER
    count = [type(each) for each in done].count
    assert count(cmd.MarkWrite) == count(cmd.RemoveMark) == marked
    assert count(cmd.Execute) == executed
    assert count(cmd.CancelInCluster) == cancelled
    assert count(cmd.ReportOutcome) == 1


def test_a_statement_that_timed_out_in_its_cluster_is_timed_out() -> None:
    timed_out = Status(OperationState.TIMEDOUT)
    book = (
        running(WRITE) >> ExecutionEnded(timed_out) << WROTE << cmd.Become(OperationState.TIMEDOUT)
    )
    book = book << cmd.ReportOutcome() << cmd.Linger() >> Lingered() << cmd.RemoveMark(TOKEN)
    assert book.is_over


def test_an_interrupted_write_keeps_its_mark() -> None:
    book = running(WRITE) >> TaskCancelled() << cmd.KeepMark(TOKEN) << WROTE
    assert (book << cmd.Become(OperationState.CANCELED) << cmd.ReportOutcome()).is_over


def test_an_interrupted_wait_for_the_last_step_closes_the_write() -> None:
    book = running(WRITE) >> CANCELED << WROTE << cmd.Become(OperationState.CANCELED)
    book = book << cmd.ReportOutcome() << cmd.Linger() >> TaskCancelled() << cmd.RemoveMark(TOKEN)
    assert book.is_over


def test_an_interrupted_change_drops_the_session_in_the_cluster() -> None:
    book = running(SET) >> TaskCancelled() << cmd.DropSession()
    assert (book << cmd.Become(OperationState.CANCELED) << cmd.ReportOutcome()).is_over
