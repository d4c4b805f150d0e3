"""Causeway's own commands, COPY and SHOW STATEMENTS included."""

import pytest

from dialect.grammar.cluster_statements import (
    ClusterCommand,
    ExplainCluster,
    ShowClusters,
    ShowCopies,
    ShowCurrentCluster,
    ShowStatements,
    UseCluster,
)
from proxy.protocol.results import ResultTable
from proxy.statement.machine import commands as cmd
from proxy.statement.machine.events import CommandRead, Copied, Listed, Started, Stopped
from tests.proxy.statement.outcomes import COPY, DATABASES, DONE
from tests.proxy.statement.playbook import WEST, session, statement


@pytest.mark.parametrize("command", [UseCluster("west"), ShowClusters(), ShowCurrentCluster()])
def test_own_commands_are_answered(command: ClusterCommand) -> None:
    state = session()
    book = statement(state=state) >> Started() << cmd.ReadCommand("TEXT") >> CommandRead(command)
    assert isinstance(book.due.pop(0), cmd.SetResult)
    assert (book << DONE << cmd.ReportOutcome()).is_over
    assert state.pinned == (WEST if isinstance(command, UseCluster) else None)


def test_copies_are_listed_from_the_metastore() -> None:
    command = ShowCopies("sales")
    book = statement() >> Started() << cmd.ReadCommand("TEXT") >> CommandRead(command)
    book = book << cmd.ListCopies(command) >> Listed(DATABASES) << cmd.SetResult(DATABASES)
    assert (book << DONE << cmd.ReportOutcome()).is_over


def test_an_explained_statement_is_decided_and_not_run() -> None:
    command = ExplainCluster("USE CLUSTER west")
    state = session()
    book = statement(state=state) >> Started() << cmd.ReadCommand("TEXT") >> CommandRead(command)
    book = book << cmd.Explain(command) >> Listed(DATABASES) << cmd.SetResult(DATABASES)
    assert (book << DONE << cmd.ReportOutcome()).is_over
    assert state.pinned is None


def test_a_pin_to_a_cluster_that_does_not_exist_is_an_error() -> None:
    book = statement() >> Started() << cmd.ReadCommand("TEXT") >> CommandRead(UseCluster("mars"))
    (become, _) = book.due
    assert isinstance(become, cmd.Become)
    assert "There is no cluster 'mars'" in str(become.failure)


def test_a_copy() -> None:
    book = statement(can_copy=True) >> Started() << cmd.ReadCommand("TEXT")
    book = book >> CommandRead(COPY) << cmd.MakeCopy(COPY) >> Copied("made")
    answer = cmd.SetResult(ResultTable(("result",), (("made",),)))
    assert (book << answer << DONE << cmd.ReportOutcome()).is_over


def test_a_copy_that_is_cancelled_ends() -> None:
    book = statement(can_copy=True) >> Started() << cmd.ReadCommand("TEXT")
    book = book >> CommandRead(COPY) << cmd.MakeCopy(COPY) >> Stopped() << cmd.CancelCopies()
    book = book >> Copied("cancelled")
    assert isinstance(book.due.pop(0), cmd.SetResult)
    assert (book << DONE << cmd.ReportOutcome()).is_over


def test_show_statements_lists_the_users_own() -> None:
    book = statement() >> Started() << cmd.ReadCommand("TEXT") >> CommandRead(ShowStatements(7))
    book = book << cmd.ListStatements(7) >> Listed(DATABASES) << cmd.SetResult(DATABASES)
    assert (book << DONE << cmd.ReportOutcome()).is_over
