"""SHOW and DESCRIBE, answered from memory or by the cluster."""

from dataclasses import replace

from dialect.catalog_commands import ShowDatabases
from proxy.statement.machine import commands as cmd
from proxy.statement.machine.events import CallFailed, Recalled
from proxy.statement.machine.steps import Step
from tests.proxy.statement.outcomes import DATABASES, DONE, LOST, SHOW
from tests.proxy.statement.playbook import EAST, analysed, routed

RECALL, ENTER_SHOW = cmd.Recall(ShowDatabases(None), EAST), cmd.EnterCluster(EAST, SHOW, {})


def test_show_databases_is_answered_from_memory() -> None:
    book = analysed(SHOW) << cmd.Route(SHOW) >> routed(SHOW) << RECALL >> Recalled(DATABASES)
    assert (book << cmd.SetResult(DATABASES) << DONE << cmd.ReportOutcome()).is_over


def test_a_statement_that_memory_cannot_answer_is_sent_to_the_cluster() -> None:
    book = analysed(SHOW) << cmd.Route(SHOW) >> routed(SHOW) << RECALL >> Recalled(None)
    assert (book << ENTER_SHOW).machine.step is Step.ENTERING


def test_a_failure_to_answer_from_memory_does_not_fail_the_statement() -> None:
    book = analysed(SHOW) << cmd.Route(SHOW) >> routed(SHOW) << RECALL >> CallFailed(LOST)
    assert (book << ENTER_SHOW).machine.step is Step.ENTERING


def test_an_explained_show_is_sent_to_the_cluster() -> None:
    explained = replace(SHOW, explain=True)
    book = analysed(explained) << cmd.Route(explained) >> routed(explained)
    assert (book << cmd.EnterCluster(EAST, explained, {})).machine.step is Step.ENTERING
