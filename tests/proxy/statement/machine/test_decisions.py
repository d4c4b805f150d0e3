"""Refusals, and statements that are routed again after the guard refused them."""

from dataclasses import replace

import pytest

from dialect.statement import Known, Write, WriteAction
from metastore.errors import MetastoreDown
from proxy.errors import Failure
from proxy.protocol.replies import Status
from proxy.protocol.results import NO_ROWS
from proxy.protocol.types import OperationState
from proxy.statement.machine import commands as cmd
from proxy.statement.machine.events import (
    Accepted,
    Analysed,
    CallFailed,
    CommandRead,
    Entered,
    Event,
    ExecutionEnded,
    Started,
    SyntaxChecked,
    TablesClaimed,
)
from proxy.statement.machine.steps import Step
from router.decision import Answer
from tests.proxy.statement.outcomes import (
    DONE,
    ENTER_READ,
    FAILED,
    FINISHED,
    OPENED,
    REFUSE,
    TOKEN,
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
    UNKNOWN,
    WRITE,
    analysed,
    decided,
    routed,
    statement,
)


def test_a_refusal_names_its_code() -> None:
    book = analysed(READ) << cmd.Route(READ) >> routed(READ, REFUSE)
    book = book << error(Failure("[CW104] No cluster has all inputs. Copy one.", "0A000", 104))
    assert (book << cmd.ReportOutcome()).is_over


def test_an_unknown_statement_gets_sparks_own_error() -> None:
    book = analysed(UNKNOWN) << cmd.Route(UNKNOWN) >> routed(UNKNOWN, REFUSE)
    book = book << cmd.CheckSyntax(UNKNOWN) >> SyntaxChecked(WRONG) << error(WRONG)
    assert (book << cmd.ReportOutcome()).is_over
    book = analysed(UNKNOWN) << cmd.Route(UNKNOWN) >> routed(UNKNOWN, REFUSE)
    book = book << cmd.CheckSyntax(UNKNOWN) >> SyntaxChecked(None)
    book = book << error(Failure("[CW104] No cluster has all inputs. Copy one.", "0A000", 104))
    assert (book << cmd.ReportOutcome()).is_over


def test_a_statement_that_needs_no_cluster_is_answered() -> None:
    book = analysed(READ) << cmd.Route(READ) >> routed(READ, Answer("DC-M4", "nothing to do"))
    assert (book << cmd.SetResult(NO_ROWS) << DONE << cmd.ReportOutcome()).is_over


@pytest.mark.parametrize("events", [(), (CommandRead(None),), (CommandRead(None), Analysed(READ))])
def test_a_statement_that_fails_before_it_is_sent(events: tuple[Event, ...]) -> None:
    down = MetastoreDown("It does not answer.")
    book = statement() >> Started()
    for event in events:
        book.due = []
        book = book >> event
    book.due = []
    assert (book >> CallFailed(down) << error(down) << cmd.ReportOutcome()).is_over


def test_a_stale_claim_is_decided_again_twice() -> None:
    stale = ExecutionEnded(Status(OperationState.ERROR, Failure("[CW363] Table t was written.")))
    book = analysed(READ) << cmd.Route(READ)
    for number in range(3):
        book = book >> routed(READ) << ENTER_READ >> Entered(checked=True)
        (execute,) = book.due
        assert isinstance(execute, cmd.Execute)
        book.due = []
        book = book >> Accepted()
        book = (book << RUNNING if number == 0 else book) << cmd.WaitForEnd() >> stale
        if number < 2:
            book = book << cmd.ForgetFacts((TABLE,)) << cmd.ForgetFiles((TABLE,))
            book = book << cmd.DiscardResult() << cmd.Route(None)
    assert stale.status.failure is not None
    assert (book << error(stale.status.failure) << cmd.ReportOutcome()).is_over


def test_a_query_of_which_spark_reads_more_partitions_is_decided_once_by_all_of_them() -> None:
    more = ExecutionEnded(
        Status(OperationState.ERROR, Failure("[CW362] Spark reads partition ds=a."))
    )
    book = analysed(READ) << cmd.Route(READ)
    for number in range(2):
        book = book >> routed(READ) << ENTER_READ >> Entered(checked=True)
        book.due = []
        book = book >> Accepted()
        book = (book << RUNNING if number == 0 else book) << cmd.WaitForEnd() >> more
        if number == 0:
            book = book << cmd.DiscardResult() << cmd.Route(None, whole=True)
    assert more.status.failure is not None
    assert (book << error(more.status.failure) << cmd.ReportOutcome()).is_over


def test_a_stale_write_is_closed_before_it_is_decided_again() -> None:
    stale = ExecutionEnded(Status(OperationState.ERROR, Failure("[CW363] Table t was written.")))
    book = decided(WRITE) >> Entered(checked=True) << cmd.MarkWrite(WRITE.writes) >> OPENED
    book.due = []
    book = book >> Accepted() << RUNNING << cmd.WaitForEnd() >> stale << cmd.RemoveMark(TOKEN)
    book = book << WROTE << cmd.ForgetFacts(()) << cmd.ForgetFiles(()) << cmd.DiscardResult()
    assert (book << cmd.Route(None)).machine.step is Step.ROUTING


def test_a_script_is_decided_again_only_if_it_writes_nothing() -> None:
    stale = ExecutionEnded(Status(OperationState.ERROR, Failure("[CW363] Table t was written.")))
    assert stale.status.failure is not None
    read, write = replace(READ, kind="script"), replace(WRITE, kind="script")
    book = decided(read) >> Entered(checked=True)
    book.due = []
    book = book >> Accepted() << RUNNING << cmd.WaitForEnd() >> stale
    book = book << cmd.ForgetFacts((TABLE,)) << cmd.ForgetFiles((TABLE,)) << cmd.DiscardResult()
    assert (book << cmd.Route(None)).machine.step is Step.ROUTING
    book = decided(write) >> Entered(checked=True) << cmd.MarkWrite(WRITE.writes) >> OPENED
    book.due = []
    book = book >> Accepted() << RUNNING << cmd.WaitForEnd() >> stale << cmd.RemoveMark(TOKEN)
    assert (book << WROTE << error(stale.status.failure) << cmd.ReportOutcome()).is_over


def test_a_table_that_a_script_made_has_its_primary_though_the_script_failed() -> None:
    book = running(replace(CREATE, kind="script")) >> FAILED << cmd.RemoveMark(TOKEN) << WROTE
    book = book << cmd.ClaimTables((TABLE,), EAST) >> TablesClaimed()
    assert (book << error(WRONG) << cmd.ReportOutcome()).is_over


def test_a_table_that_a_script_drops_may_be_a_new_one_afterwards() -> None:
    dropping = Known("script", writes=(Write(TABLE, WriteAction.DROP, exists=True),))
    book = running(dropping) >> FINISHED << cmd.RemoveMark(TOKEN) << WROTE
    assert (book << cmd.ClaimTables((TABLE,), EAST)).machine.step is Step.CLAIMING
