"""Reads and writes from their text to their end, and the turns of writes of one table."""

from dataclasses import replace

import pytest

from conf.names import TableRef
from dialect.statement import Known
from proxy.errors import AnalysisUnstable, TableBusy, ThriftServerError
from proxy.statement.machine import commands as cmd
from proxy.statement.machine.events import (
    Accepted,
    Analysed,
    CallFailed,
    CommandRead,
    Entered,
    Started,
    Stopped,
    TablesClaimed,
    TurnCame,
)
from proxy.statement.machine.machine import StatementMachine
from proxy.statement.machine.steps import Step
from router.claim import KEY
from tests.proxy.statement.outcomes import (
    DONE,
    ENTER_READ,
    ENTER_WRITE,
    FAILED,
    FINISHED,
    GONE,
    LOST,
    OPENED,
    TOKEN,
    TURN,
    WRONG,
    WROTE,
    error,
    running,
)
from tests.proxy.statement.playbook import (
    CREATE,
    EAST,
    READ,
    RUNNING,
    TABLE,
    WEST,
    WRITE,
    Playbook,
    analysed,
    decided,
    routed,
    session,
    statement,
)


def test_a_read() -> None:
    book = statement()
    book = book >> Started() << cmd.ReadCommand("TEXT") >> CommandRead(None) << cmd.Analyse()
    book = book >> Analysed(READ) << cmd.Route(READ) >> routed(READ) << ENTER_READ
    book = book >> Entered(checked=False) << cmd.Execute()
    book = book >> Accepted() << RUNNING << cmd.WaitForEnd()
    book = book >> FINISHED << DONE << cmd.KeepRequest() << cmd.AskSchema() << cmd.ReportOutcome()
    assert book.is_over


def test_a_read_that_fails() -> None:
    assert (running() >> FAILED << error(WRONG) << cmd.ReportOutcome()).is_over


def test_a_write_is_marked_before_it_is_sent_and_closed_after_its_end() -> None:
    book = analysed(WRITE) << cmd.Route(WRITE) >> routed(WRITE) << ENTER_WRITE
    book = book >> Entered(checked=False) << cmd.MarkWrite(WRITE.writes) >> OPENED << cmd.Execute()
    book = book >> Accepted() << RUNNING << cmd.WaitForEnd()
    book = book >> FINISHED << cmd.RemoveMark(TOKEN) << WROTE << DONE << cmd.AskSchema()
    assert (book << cmd.ReportOutcome()).is_over


def test_a_write_that_fails_is_closed_too() -> None:
    book = running(WRITE) >> FAILED << cmd.RemoveMark(TOKEN) << WROTE << error(WRONG)
    assert (book << cmd.ReportOutcome()).is_over


def test_a_new_table_has_its_primary_before_the_client_gets_the_reply() -> None:
    book = running(CREATE) >> FINISHED << cmd.RemoveMark(TOKEN) << WROTE
    book = book << cmd.ClaimTables((TABLE,), EAST) >> TablesClaimed()
    assert (book << DONE << cmd.AskSchema() << cmd.ReportOutcome()).is_over


def test_an_explained_write_is_not_marked() -> None:
    explained = replace(WRITE, explain=True)
    assert (decided(explained) >> Entered(checked=False) << cmd.Execute()).machine.step


def test_a_claim_is_sent_if_a_guard_checks_it_and_names_the_mark() -> None:
    book = decided(WRITE) >> Entered(checked=True) << cmd.MarkWrite(WRITE.writes) >> OPENED
    (execute,) = book.due
    assert isinstance(execute, cmd.Execute)
    assert '"mark"' in execute.claim[KEY]


@pytest.mark.parametrize("limited", [False, True])
def test_a_select_of_literals_is_sent_synchronously(limited: bool) -> None:
    book = decided(Known("select", constant=True), limited=limited) >> Entered(checked=False)
    if limited:  # the cluster needs a thread for the limit
        assert book.due == [cmd.Execute()]
        return
    book = book << RUNNING << cmd.Execute(at_once=True) >> FINISHED
    assert (book << DONE << cmd.KeepRequest() << cmd.AskSchema() << cmd.ReportOutcome()).is_over


def test_a_select_of_literals_that_is_refused_is_sent_again_for_its_error() -> None:
    book = decided(Known("select", constant=True)) >> Entered(checked=False)
    book = (
        book
        << RUNNING
        << cmd.Execute(at_once=True)
        >> CallFailed(ThriftServerError(WRONG))
        << cmd.Execute()
    )
    book = book >> Accepted() << cmd.WaitForEnd() >> FAILED << error(WRONG)
    assert (book << cmd.ReportOutcome()).is_over


def test_without_clusters_every_statement_is_passed_through() -> None:
    book = Playbook(StatementMachine("TEXT", session(), sole_server=WEST)) >> Started()
    (enter,) = book.due
    assert isinstance(enter, cmd.EnterCluster)
    assert enter.cluster == WEST
    book.due = []
    book = book >> Entered(checked=False) << cmd.Execute() >> CallFailed(GONE) << error(GONE)
    assert (book << cmd.ReportOutcome()).is_over


def queued() -> Playbook:
    book = analysed(WRITE) << cmd.Route(WRITE) >> routed(WRITE, in_turn=TURN)
    return book << cmd.AwaitTurn(TURN)


def test_a_write_without_a_wait_is_not_routed_again() -> None:
    book = queued() >> TurnCame(waited=False) << ENTER_WRITE >> Entered(checked=False)
    book = book << cmd.MarkWrite(WRITE.writes) >> OPENED << cmd.Execute() >> Accepted()
    assert (book << RUNNING << cmd.WaitForEnd()).machine.step is Step.RUNNING


def test_a_write_that_waited_is_decided_again_and_keeps_its_turn() -> None:
    book = queued() >> TurnCame(waited=True) << cmd.Route(None)
    book = book >> routed(WRITE, in_turn=TURN) << ENTER_WRITE >> CallFailed(LOST) << ENTER_WRITE
    assert book.machine.step is Step.ENTERING


def test_a_write_whose_tables_changed_during_the_wait_waits_again() -> None:
    other = frozenset({TableRef("default", "other")})
    book = queued() >> TurnCame(waited=True) << cmd.Route(None)
    book = book >> routed(WRITE, in_turn=other) << cmd.AwaitTurn(other)
    book = book >> TurnCame(waited=True) << cmd.Route(None) >> routed(WRITE, in_turn=TURN)
    changing = AnalysisUnstable("The tables of the statement keep changing.")
    assert (book << error(changing) << cmd.ReportOutcome()).is_over


def test_a_write_that_is_stopped_leaves_the_queue() -> None:
    book = queued() >> Stopped() << cmd.LeaveQueue() >> TurnCame(waited=True) << cmd.ReportOutcome()
    assert book.is_over


def test_a_write_that_cannot_wait_fails() -> None:
    busy = TableBusy("1000 statements wait to write default.t.")
    assert (queued() >> CallFailed(busy) << error(busy) << cmd.ReportOutcome()).is_over
