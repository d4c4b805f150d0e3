"""Copies that are made because a query needs them."""

from metastore.errors import MetastoreDown
from proxy.errors import Failure
from proxy.statement.machine import commands as cmd
from proxy.statement.machine.events import (
    Accepted,
    CallFailed,
    CommandRead,
    Entered,
    Fetched,
    Started,
    Stopped,
)
from router.decision import RunIn
from tests.proxy.statement.outcomes import COPY, CURABLE, DONE, FINISHED, NEEDED, error
from tests.proxy.statement.playbook import (
    READ,
    RUNNING,
    TABLE,
    WEST,
    Playbook,
    analysed,
    routed,
    statement,
)


def fetching() -> Playbook:
    book = analysed(READ) << cmd.Route(READ) >> routed(READ, CURABLE)
    return book << RUNNING << cmd.FetchMissing(NEEDED)


def test_a_query_runs_after_its_missing_data_was_copied() -> None:
    book = fetching() >> Fetched() << cmd.Route(None)
    book = (
        book
        >> routed(READ, RunIn(WEST, "DC-R7", "it has all"))
        << cmd.EnterCluster(WEST, READ, {TABLE: 1})
    )
    book = book >> Entered(checked=False) << cmd.Execute() >> Accepted() << cmd.WaitForEnd()
    assert (
        book >> FINISHED << DONE << cmd.KeepRequest() << cmd.AskSchema() << cmd.ReportOutcome()
    ).is_over


def test_copies_are_made_once_for_a_query() -> None:
    book = fetching() >> Fetched() << cmd.Route(None) >> routed(READ, CURABLE)
    book = book << error(Failure("[CW104] No cluster has all inputs. Copy one.", "0A000", 104))
    assert (book << cmd.ReportOutcome()).is_over


def test_copies_that_fail_fail_the_query() -> None:
    failure = MetastoreDown("down")
    assert (fetching() >> CallFailed(failure) << error(failure) << cmd.ReportOutcome()).is_over


def test_a_query_that_is_stopped_ends_its_copies_and_runs_nowhere() -> None:
    book = fetching() >> Stopped() << cmd.CancelCopies()
    assert (book >> Fetched() << cmd.ReportOutcome()).is_over
    book = analysed(READ) << cmd.Route(READ) >> Stopped()
    assert (book >> routed(READ, CURABLE) << cmd.ReportOutcome()).is_over


def test_a_copy_statement_fails_if_the_proxy_makes_no_copies() -> None:
    book = statement() >> Started() << cmd.ReadCommand("TEXT") >> CommandRead(COPY)
    assert (book.due[0], book.due[1]) == (error(failure_error(book)), cmd.ReportOutcome())


def failure_error(book: Playbook) -> Failure:
    become = book.due[0]
    assert isinstance(become, cmd.Become)
    assert become.failure is not None
    assert "makes no copies" in become.failure.message
    return become.failure
