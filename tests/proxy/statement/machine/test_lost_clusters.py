"""Clusters that are lost or down: statements that are repeated, reads that move to another cluster,
and marks that stay."""

from dataclasses import replace

import pytest

from conf.errors import Blame
from conf.settings.security.restrictions import Code
from dialect.parsing.function_calls import COMPUTED
from dialect.statement import Known, Unknown
from metastore.errors import MetastoreDown
from proxy.errors import ClusterLost, Failure, ThriftServerError
from proxy.protocol.replies import Status
from proxy.protocol.types import OperationState
from proxy.statement.machine import commands as cmd
from proxy.statement.machine.events import (
    Accepted,
    CallFailed,
    Entered,
    Event,
    ExecutionEnded,
    Lingered,
    OutcomeLearned,
    Stopped,
)
from proxy.statement.machine.steps import Step
from router.decision import RunIn
from tests.proxy.statement.outcomes import (
    DONE,
    DOWN,
    ENTER_READ,
    ENTER_WRITE,
    FINISHED,
    GONE,
    LOST,
    OPENED,
    REFUSE,
    TOKEN,
    WRONG,
    WROTE,
    error,
    running,
    sent,
)
from tests.proxy.statement.playbook import (
    CREATE,
    EAST,
    READ,
    RUNNING,
    TABLE,
    UNKNOWN,
    WEST,
    WRITE,
    Playbook,
    analysed,
    decided,
    routed,
    session,
)


@pytest.mark.parametrize("lost", [LOST, GONE])
def test_a_cluster_that_is_lost_before_the_statement_is_sent_is_tried_three_times(
    lost: ClusterLost,
) -> None:
    """After that, a query is routed to another cluster."""
    book = analysed(READ) << cmd.Route(READ) >> routed(READ)
    for _ in range(3):
        book = book << ENTER_READ >> CallFailed(lost)
    book = book << cmd.DiscardResult() << cmd.Route(READ, lost=EAST)
    assert (book >> routed(READ) << error(lost) << cmd.ReportOutcome()).is_over
    shown = Known("metadata_read", READ.reads)
    book = analysed(shown) << cmd.Route(shown) >> routed(shown)
    for _ in range(3):
        book = book << cmd.EnterCluster(EAST, shown, {TABLE: 1}) >> CallFailed(lost)
    assert (book << error(lost) << cmd.ReportOutcome()).is_over


def test_a_session_that_is_gone_when_the_write_is_sent_is_opened_again_without_its_mark() -> None:
    book = sent(WRITE) >> CallFailed(GONE) << cmd.RemoveMark(TOKEN) << WROTE << ENTER_WRITE
    book = book >> Entered(checked=False) << cmd.MarkWrite(WRITE.writes) >> OPENED << cmd.Execute()
    assert book.machine.step is Step.SENDING


def test_a_cluster_that_is_down_is_an_error() -> None:
    book = decided(READ) >> CallFailed(DOWN) << cmd.Route(READ)
    assert (book >> routed(READ) << error(DOWN) << cmd.ReportOutcome()).is_over


def test_a_statement_runs_in_another_cluster_when_the_first_one_opens_no_session() -> None:
    book = decided(READ) >> CallFailed(DOWN) << cmd.Route(READ)
    book = book >> routed(READ, RunIn(WEST, "D11", "east is down"))
    book = book << cmd.EnterCluster(WEST, READ, {TABLE: 1}) >> Entered(checked=False)
    assert (book << cmd.Execute()).machine.step is Step.SENDING


def test_clusters_that_open_no_session_are_tried_three_times_in_all() -> None:
    book = decided(READ)
    for cluster in (WEST, EAST):
        book = book >> CallFailed(DOWN) << cmd.Route(READ)
        book = book >> routed(READ, RunIn(cluster, "D11", "it may be up"))
        book = book << cmd.EnterCluster(cluster, READ, {TABLE: 1})
    assert (book >> CallFailed(DOWN) << error(DOWN) << cmd.ReportOutcome()).is_over


IN_WEST = RunIn(WEST, "lost", "east was lost while it ran the statement")
STOPPED = Failure("Job 3 cancelled because SparkContext was shut down")


@pytest.mark.parametrize(
    ("book", "event"),
    [
        (sent(), CallFailed(LOST)),
        (running(), CallFailed(LOST)),
        (running(), ExecutionEnded(Status(OperationState.ERROR, STOPPED))),
    ],
)
def test_a_read_whose_cluster_is_lost_runs_in_another_one(book: Playbook, event: Event) -> None:
    was_running = book.machine.step is Step.RUNNING
    book = book >> event << cmd.DiscardResult() << cmd.Route(READ, lost=EAST)
    book = book >> routed(READ, IN_WEST) << cmd.EnterCluster(WEST, READ, {TABLE: 1})
    book = book >> Entered(checked=False) << cmd.Execute() >> Accepted()
    book = (book if was_running else book << RUNNING) << cmd.WaitForEnd()
    assert (book >> FINISHED << DONE << cmd.AskSchema() << cmd.ReportOutcome()).is_over


@pytest.mark.parametrize(
    "answer",
    [
        routed(READ, REFUSE),
        routed(READ),  # nowhere but in the cluster that was lost
        CallFailed(MetastoreDown("It does not answer.")),
    ],
)
def test_a_read_that_no_other_cluster_can_run_fails_for_its_own_reason(answer: Event) -> None:
    book = running() >> CallFailed(LOST) << cmd.DiscardResult() << cmd.Route(READ, lost=EAST)
    assert (book >> answer << error(LOST) << cmd.ReportOutcome()).is_over
    ended = ExecutionEnded(Status(OperationState.ERROR, STOPPED))
    book = running() >> ended << cmd.DiscardResult() << cmd.Route(READ, lost=EAST)
    assert (book >> answer << error(STOPPED) << cmd.ReportOutcome()).is_over


def test_a_read_moves_once() -> None:
    other = ClusterLost("The connection to cluster west broke.")
    book = running() >> CallFailed(LOST) << cmd.DiscardResult() << cmd.Route(READ, lost=EAST)
    book = book >> routed(READ, IN_WEST) << cmd.EnterCluster(WEST, READ, {TABLE: 1})
    book = book >> Entered(checked=False) << cmd.Execute() >> Accepted() << cmd.WaitForEnd()
    assert (book >> CallFailed(other) << error(other) << cmd.ReportOutcome()).is_over


def test_a_read_that_moved_is_routed_again_without_the_lost_cluster() -> None:
    book = running() >> CallFailed(LOST) << cmd.DiscardResult() << cmd.Route(READ, lost=EAST)
    book = book >> routed(READ, IN_WEST) << cmd.EnterCluster(WEST, READ, {TABLE: 1})
    book = book >> CallFailed(DOWN) << cmd.Route(READ, lost=EAST)
    assert (book >> routed(READ) << error(LOST) << cmd.ReportOutcome()).is_over


@pytest.mark.parametrize(
    "what",
    [
        replace(READ, functions=frozenset({"reflect"})),
        replace(READ, functions=frozenset({COMPUTED})),
        replace(READ, code=frozenset({Code.SCRIPT})),
        Known("metadata_read", READ.reads),
        UNKNOWN,
    ],
)
def test_a_statement_that_may_have_effects_does_not_move(what: Known | Unknown) -> None:
    assert (running(what) >> CallFailed(LOST) << error(LOST) << cmd.ReportOutcome()).is_over


def test_a_pinned_read_does_not_move() -> None:
    state = session()
    state.pinned = EAST
    book = analysed(READ, state=state) << cmd.Route(READ) >> routed(READ) << ENTER_READ
    book = book >> Entered(checked=False) << cmd.Execute() >> CallFailed(LOST) << error(LOST)
    assert (book << cmd.ReportOutcome()).is_over


def test_a_read_does_not_move_where_the_operator_says_so() -> None:
    book = decided(READ, can_move=False) >> Entered(checked=False) << cmd.Execute()
    assert (book >> CallFailed(LOST) << error(LOST) << cmd.ReportOutcome()).is_over


def test_a_read_that_its_client_stopped_does_not_move() -> None:
    book = running() >> Stopped() << cmd.CancelInCluster()
    assert (book >> CallFailed(LOST) << error(LOST) << cmd.ReportOutcome()).is_over


def test_a_write_that_may_have_been_sent_keeps_its_mark() -> None:
    book = (
        sent(WRITE) >> CallFailed(LOST) << cmd.KeepMark(TOKEN) << cmd.RecoverWrite(TOKEN) << WROTE
    )
    assert (book << error(LOST) << cmd.ReportOutcome()).is_over


def test_a_write_that_the_cluster_refuses_loses_its_mark() -> None:
    book = (
        sent(WRITE)
        >> CallFailed(ThriftServerError(WRONG))
        << cmd.RemoveMark(TOKEN)
        << WROTE
        << error(WRONG)
    )
    assert (book << cmd.ReportOutcome()).is_over


@pytest.mark.parametrize("ended", [True, False])
def test_the_end_of_a_write_is_learnt_after_its_client_got_the_error(ended: bool) -> None:
    book = running(WRITE) >> CallFailed(LOST) << cmd.KeepMark(TOKEN) << WROTE << error(LOST)
    book = book << cmd.ReportOutcome() << cmd.LearnOutcome(TOKEN) >> OutcomeLearned(ended)
    if ended:
        assert (book << cmd.Linger() >> Lingered() << cmd.RemoveMark(TOKEN)).is_over
    else:
        assert (book << cmd.RecoverWrite(TOKEN)).is_over


@pytest.mark.parametrize(
    "text",
    [
        "org.apache.hadoop.hive.ql.metadata.HiveException:"
        " org.apache.thrift.transport.TTransportException: java.net.SocketTimeoutException",
        "org.apache.hadoop.hive.ql.metadata.HiveException: MetaException(message:Got exception:"
        " org.apache.thrift.transport.TTransportException null)",
        # of Spark 4
        "[_LEGACY_ERROR_TEMP_3065] org.apache.spark.sql.AnalysisException:"
        " org.apache.hadoop.hive.ql.metadata.HiveException: Unable to fetch table t."
        " Socket is closed by peer.",
        "[_LEGACY_ERROR_TEMP_3065] org.apache.spark.sql.AnalysisException:"
        " org.apache.hadoop.hive.ql.metadata.HiveException: Unable to fetch table t."
        " java.net.SocketTimeoutException: Read timed out;\nCreateDataSourceTableAsSelectCommand",
    ],
)
def test_a_cluster_that_cannot_reach_the_metastore_is_named(text: str) -> None:
    lost = ExecutionEnded(Status(OperationState.ERROR, Failure(f"Error running query: {text}")))
    book = running() >> lost
    (become, _) = book.due
    assert isinstance(become, cmd.Become)
    assert become.failure is not None
    named = "[CW226] Cluster east cannot reach the metastore (Error running query: "
    assert become.failure.message.startswith(named)
    assert become.failure.blame is Blame.METASTORE


@pytest.mark.parametrize("reason", ["Invalid method name: 'get_table_req'", "java.io.IOException"])
def test_another_error_about_a_table_is_sparks(reason: str) -> None:
    text = f"org.apache.hadoop.hive.ql.metadata.HiveException: Unable to fetch table t. {reason}"
    book = running() >> ExecutionEnded(Status(OperationState.ERROR, Failure(text)))
    (become, _) = book.due
    assert isinstance(become, cmd.Become)
    assert become.failure == Failure(text)


def test_a_metastore_that_cannot_mark_a_write_keeps_it_from_the_cluster() -> None:
    down = MetastoreDown("It does not answer.")
    book = (
        decided(WRITE) >> Entered(checked=False) << cmd.MarkWrite(WRITE.writes) >> CallFailed(down)
    )
    assert (book << error(down) << cmd.ReportOutcome()).is_over


def test_a_new_table_that_cannot_be_claimed_is_an_error() -> None:
    down = MetastoreDown("It does not answer.")
    book = running(CREATE) >> FINISHED << cmd.RemoveMark(TOKEN) << WROTE
    book = book << cmd.ClaimTables((TABLE,), EAST) >> CallFailed(down) << error(down)
    assert (book << cmd.ReportOutcome()).is_over
