"""A Thrift Server has no thread for a statement: it waits, is routed again, and is sent again."""

from conf.names import TableRef
from proxy.errors import Failure, ThriftServerError
from proxy.protocol.types import OperationState
from proxy.statement.machine import commands as cmd
from proxy.statement.machine.events import (
    Accepted,
    CallFailed,
    Entered,
    Started,
    Stopped,
    ThreadFreed,
    WriteMarked,
)
from proxy.statement.machine.machine import StatementMachine
from tests.proxy.fake_cluster import BUSY
from tests.proxy.statement.outcomes import TOKEN
from tests.proxy.statement.playbook import (
    EAST,
    READ,
    RUNNING,
    TABLE,
    WEST,
    WRITE,
    Playbook,
    decided,
    routed,
    session,
)

REFUSED = ThriftServerError(Failure(BUSY))
WAITS = cmd.AwaitThread(REFUSED)
AGAIN = cmd.Route(None, None, False)


def refused() -> Playbook:
    return decided(READ) >> Entered(checked=False) << cmd.Execute() >> CallFailed(REFUSED)


def test_a_query_is_decided_and_sent_again_as_often_as_it_is_refused() -> None:
    book = refused()
    for _ in range(5):  # more often than tables may change during a decision
        book = book << WAITS >> ThreadFreed() << AGAIN >> routed(READ)
        book = book << cmd.EnterCluster(EAST, READ, {TABLE: 1}) >> Entered(checked=False)
        book = book << cmd.Execute() >> CallFailed(REFUSED)
    book = book << WAITS >> ThreadFreed() << AGAIN >> routed(READ)
    book = book << cmd.EnterCluster(EAST, READ, {TABLE: 1}) >> Entered(checked=False)
    assert not (book << cmd.Execute() >> Accepted() << RUNNING << cmd.WaitForEnd()).is_over


def test_a_write_that_waits_has_no_mark() -> None:
    book = decided(WRITE) >> Entered(checked=False) << cmd.MarkWrite(WRITE.writes)
    book = book >> WriteMarked((TABLE,), TOKEN) << cmd.Execute() >> CallFailed(REFUSED)
    book = book << cmd.RemoveMark(TOKEN) << cmd.ForgetFacts((TABLE,)) << WAITS
    turn: frozenset[TableRef] = frozenset()
    book = book >> ThreadFreed() << AGAIN >> routed(WRITE, in_turn=turn)
    book = book << cmd.EnterCluster(EAST, WRITE, {}) >> Entered(checked=False)
    assert not (book << cmd.MarkWrite(WRITE.writes)).is_over


def test_without_clusters_it_is_sent_again_as_it_is() -> None:
    book = Playbook(StatementMachine("TEXT", session(), WEST)) >> Started()
    entered = book.due
    book.due = []
    book = book >> Entered(checked=False) << cmd.Execute() >> CallFailed(REFUSED)
    book = book << WAITS >> ThreadFreed()
    assert book.due == entered


def test_a_statement_that_is_stopped_leaves_the_queue() -> None:
    book = refused() << WAITS >> Stopped() << cmd.LeaveQueue() >> ThreadFreed()
    assert (book << cmd.ReportOutcome()).is_over


def test_after_too_long_its_client_gets_the_servers_own_error() -> None:
    book = refused() << WAITS >> CallFailed(REFUSED)
    assert (
        book << cmd.Become(OperationState.ERROR, REFUSED.failure) << cmd.ReportOutcome()
    ).is_over


def test_another_refusal_is_returned_to_the_client() -> None:
    wrong = Failure("no such column", "42703")
    book = (
        decided(READ)
        >> Entered(checked=False)
        << cmd.Execute()
        >> CallFailed(ThriftServerError(wrong))
    )
    assert (book << cmd.Become(OperationState.ERROR, wrong) << cmd.ReportOutcome()).is_over
