"""Every path of a statement, as a playbook: what happens (`>>`), and what is done then (`<<`)."""

import random
from dataclasses import replace

import pytest

from conf.errors import Blame, CausewayError
from conf.names import TableRef
from conf.settings.security.restrictions import Code
from dialect.catalog_commands import ShowDatabases
from dialect.grammar.cluster_statements import (
    ClusterCommand,
    CopyTable,
    ExplainCluster,
    ShowClusters,
    ShowCopies,
    ShowCurrentCluster,
    ShowStatements,
    UseCluster,
)
from dialect.parsing.function_calls import COMPUTED
from dialect.statement import (
    Action,
    ChangeFunction,
    CreateTempTable,
    Known,
    ResetVariables,
    SetVariable,
    Unknown,
    UseDatabase,
    Write,
)
from metastore.errors import MetastoreDown
from proxy.errors import (
    ClusterDown,
    ClusterLost,
    Failure,
    Rejected,
    SessionGone,
    TableBusy,
    Unsettled,
)
from proxy.protocol.replies import Status
from proxy.protocol.results import NO_ROWS, Table
from proxy.protocol.status import failure_of
from proxy.protocol.types import OperationState
from proxy.session.states import BadTransition
from proxy.statement.machine import commands as cmd
from proxy.statement.machine.events import (
    Accepted,
    Analysed,
    CommandRead,
    Copied,
    DatabaseChecked,
    Ended,
    Entered,
    Event,
    Failed,
    Fetched,
    Interrupted,
    Lingered,
    Listed,
    OutcomeLearned,
    Recalled,
    Routed,
    Started,
    Stopped,
    SyntaxChecked,
    TablesClaimed,
    ThreadFreed,
    TurnCame,
    WriteOpened,
    ZoneRead,
)
from proxy.statement.machine.machine import StatementMachine
from proxy.statement.machine.steps import TRANSITIONS, Step
from router.claim import KEY
from router.cures import CopyNeeded
from router.decision import Answer, Refuse, RunIn
from tests.proxy.fake_cluster import BUSY
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
    Token,
    analysed,
    decided,
    routed,
    session,
    statement,
)

FINISHED = Ended(Status(OperationState.FINISHED))
CANCELED = Ended(Status(OperationState.CANCELED))
DONE = cmd.Become(OperationState.FINISHED)
WRONG = Failure("no such column", "42703")
FAILED = Ended(Status(OperationState.ERROR, WRONG))
LOST = ClusterLost("The connection to cluster east broke.")
GONE = SessionGone("Cluster east closed the session.")
DOWN = ClusterDown("Cluster east is down.")
TOKEN = Token("t")
OPENED = WriteOpened((TABLE,), TOKEN)
WROTE = cmd.ForgetFacts((TABLE,))
ENTER_READ = cmd.EnterCluster(EAST, READ, {TABLE: 1})
ENTER_WRITE = cmd.EnterCluster(EAST, WRITE, {})
SET = Known("set", effect=SetVariable("a", "1"))
APPLIED = cmd.Apply(SetVariable("a", "1"), 1, EAST)
REFUSE = Refuse("CW104", "0A000", "DC-R9", "No cluster has all inputs.", "Copy one.")
NEEDED = (CopyNeeded(TABLE, (), EAST, WEST, 10),)
CURABLE = replace(REFUSE, copies=NEEDED)


def error(failure: Failure | CausewayError) -> cmd.Become:
    failure = failure_of(failure) if isinstance(failure, CausewayError) else failure
    return cmd.Become(OperationState.ERROR, failure)


def sent(what: Known | Unknown = READ) -> Playbook:
    """A statement that was sent to east, and is not known to be there."""
    book = decided(what) >> Entered(checked=False)
    if isinstance(what, Known) and what.writes:
        book = book << cmd.OpenWrite(what.writes) >> OPENED
    return book << cmd.Execute()


def running(what: Known | Unknown = READ) -> Playbook:
    return sent(what) >> Accepted() << RUNNING << cmd.WaitForEnd()


# Reads and writes


def test_a_read() -> None:
    book = statement()
    book = book >> Started() << cmd.ReadCommand("TEXT") >> CommandRead(None) << cmd.Analyse()
    book = book >> Analysed(READ) << cmd.Route(READ) >> routed(READ) << ENTER_READ
    book = book >> Entered(checked=False) << cmd.Execute()
    book = book >> Accepted() << RUNNING << cmd.WaitForEnd()
    book = book >> FINISHED << DONE << cmd.KeepRequest() << cmd.AskSchema() << cmd.Report()
    assert book.is_over


def test_a_read_that_fails() -> None:
    assert (running() >> FAILED << error(WRONG) << cmd.Report()).is_over


def test_a_write_is_marked_before_it_is_sent_and_closed_after_its_end() -> None:
    book = analysed(WRITE) << cmd.Route(WRITE) >> routed(WRITE) << ENTER_WRITE
    book = book >> Entered(checked=False) << cmd.OpenWrite(WRITE.writes) >> OPENED << cmd.Execute()
    book = book >> Accepted() << RUNNING << cmd.WaitForEnd()
    book = book >> FINISHED << cmd.CloseWrite(TOKEN) << WROTE << DONE << cmd.AskSchema()
    assert (book << cmd.Report()).is_over


def test_a_write_that_fails_is_closed_too() -> None:
    book = running(WRITE) >> FAILED << cmd.CloseWrite(TOKEN) << WROTE << error(WRONG)
    assert (book << cmd.Report()).is_over


def test_a_new_table_has_its_primary_before_the_client_gets_the_reply() -> None:
    book = running(CREATE) >> FINISHED << cmd.CloseWrite(TOKEN) << WROTE
    book = book << cmd.ClaimTables((TABLE,), EAST) >> TablesClaimed()
    assert (book << DONE << cmd.AskSchema() << cmd.Report()).is_over


def test_an_explained_write_is_not_marked() -> None:
    explained = replace(WRITE, explain=True)
    assert (decided(explained) >> Entered(checked=False) << cmd.Execute()).machine.step


def test_a_claim_goes_along_where_a_guard_checks_it_and_names_the_mark() -> None:
    book = decided(WRITE) >> Entered(checked=True) << cmd.OpenWrite(WRITE.writes) >> OPENED
    (execute,) = book.due
    assert isinstance(execute, cmd.Execute)
    assert '"mark"' in execute.claim[KEY]


@pytest.mark.parametrize("limited", [False, True])
def test_a_select_of_literals_is_sent_to_its_end(limited: bool) -> None:
    book = decided(Known("select", constant=True), limited=limited) >> Entered(checked=False)
    if limited:  # the cluster needs a thread for the limit
        assert book.due == [cmd.Execute()]
        return
    book = book << RUNNING << cmd.Execute(at_once=True) >> FINISHED
    assert (book << DONE << cmd.KeepRequest() << cmd.AskSchema() << cmd.Report()).is_over


def test_a_select_of_literals_that_is_refused_is_sent_again_for_its_error() -> None:
    book = decided(Known("select", constant=True)) >> Entered(checked=False)
    book = book << RUNNING << cmd.Execute(at_once=True) >> Failed(Rejected(WRONG)) << cmd.Execute()
    book = book >> Accepted() << cmd.WaitForEnd() >> FAILED << error(WRONG)
    assert (book << cmd.Report()).is_over


def test_without_clusters_everything_goes_through() -> None:
    book = Playbook(StatementMachine("TEXT", session(), through=WEST)) >> Started()
    (enter,) = book.due
    assert isinstance(enter, cmd.EnterCluster)
    assert enter.cluster == WEST
    book.due = []
    book = book >> Entered(checked=False) << cmd.Execute() >> Failed(GONE) << error(GONE)
    assert (book << cmd.Report()).is_over


# Decisions


def test_a_refusal_names_its_code() -> None:
    book = analysed(READ) << cmd.Route(READ) >> routed(READ, REFUSE)
    book = book << error(Failure("[CW104] No cluster has all inputs. Copy one.", "0A000", 104))
    assert (book << cmd.Report()).is_over


def test_spark_says_what_is_wrong_with_a_statement_that_is_not_understood() -> None:
    book = analysed(UNKNOWN) << cmd.Route(UNKNOWN) >> routed(UNKNOWN, REFUSE)
    book = book << cmd.CheckSyntax(UNKNOWN) >> SyntaxChecked(WRONG) << error(WRONG)
    assert (book << cmd.Report()).is_over
    book = analysed(UNKNOWN) << cmd.Route(UNKNOWN) >> routed(UNKNOWN, REFUSE)
    book = book << cmd.CheckSyntax(UNKNOWN) >> SyntaxChecked(None)
    book = book << error(Failure("[CW104] No cluster has all inputs. Copy one.", "0A000", 104))
    assert (book << cmd.Report()).is_over


def test_what_needs_no_cluster_is_answered() -> None:
    book = analysed(READ) << cmd.Route(READ) >> routed(READ, Answer("DC-M4", "nothing to do"))
    assert (book << cmd.Answer(NO_ROWS) << DONE << cmd.Report()).is_over


@pytest.mark.parametrize("events", [(), (CommandRead(None),), (CommandRead(None), Analysed(READ))])
def test_what_fails_before_a_cluster_is_asked(events: tuple[Event, ...]) -> None:
    down = MetastoreDown("It does not answer.")
    book = statement() >> Started()
    for event in events:
        book.due = []
        book = book >> event
    book.due = []
    assert (book >> Failed(down) << error(down) << cmd.Report()).is_over


def test_a_stale_claim_is_decided_again_twice() -> None:
    stale = Ended(Status(OperationState.ERROR, Failure("[CW363] Table t was written.")))
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
    assert (book << error(stale.status.failure) << cmd.Report()).is_over


def test_a_query_of_which_spark_reads_more_partitions_is_decided_once_by_all_of_them() -> None:
    more = Ended(Status(OperationState.ERROR, Failure("[CW362] Spark reads partition ds=a.")))
    book = analysed(READ) << cmd.Route(READ)
    for number in range(2):
        book = book >> routed(READ) << ENTER_READ >> Entered(checked=True)
        book.due = []
        book = book >> Accepted()
        book = (book << RUNNING if number == 0 else book) << cmd.WaitForEnd() >> more
        if number == 0:
            book = book << cmd.DiscardResult() << cmd.Route(None, whole=True)
    assert more.status.failure is not None
    assert (book << error(more.status.failure) << cmd.Report()).is_over


def test_a_stale_write_is_closed_before_it_is_decided_again() -> None:
    stale = Ended(Status(OperationState.ERROR, Failure("[CW363] Table t was written.")))
    book = decided(WRITE) >> Entered(checked=True) << cmd.OpenWrite(WRITE.writes) >> OPENED
    book.due = []
    book = book >> Accepted() << RUNNING << cmd.WaitForEnd() >> stale << cmd.CloseWrite(TOKEN)
    book = book << WROTE << cmd.ForgetFacts(()) << cmd.ForgetFiles(()) << cmd.DiscardResult()
    assert (book << cmd.Route(None)).machine.step is Step.ROUTING


def test_a_script_is_decided_again_only_if_it_writes_nothing() -> None:
    stale = Ended(Status(OperationState.ERROR, Failure("[CW363] Table t was written.")))
    assert stale.status.failure is not None
    read, write = replace(READ, kind="script"), replace(WRITE, kind="script")
    book = decided(read) >> Entered(checked=True)
    book.due = []
    book = book >> Accepted() << RUNNING << cmd.WaitForEnd() >> stale
    book = book << cmd.ForgetFacts((TABLE,)) << cmd.ForgetFiles((TABLE,)) << cmd.DiscardResult()
    assert (book << cmd.Route(None)).machine.step is Step.ROUTING
    book = decided(write) >> Entered(checked=True) << cmd.OpenWrite(WRITE.writes) >> OPENED
    book.due = []
    book = book >> Accepted() << RUNNING << cmd.WaitForEnd() >> stale << cmd.CloseWrite(TOKEN)
    assert (book << WROTE << error(stale.status.failure) << cmd.Report()).is_over


def test_a_table_that_a_script_made_has_its_primary_though_the_script_failed() -> None:
    book = running(replace(CREATE, kind="script")) >> FAILED << cmd.CloseWrite(TOKEN) << WROTE
    book = book << cmd.ClaimTables((TABLE,), EAST) >> TablesClaimed()
    assert (book << error(WRONG) << cmd.Report()).is_over


def test_a_table_that_a_script_drops_may_be_a_new_one_afterwards() -> None:
    dropping = Known("script", writes=(Write(TABLE, Action.DROP, exists=True),))
    book = running(dropping) >> FINISHED << cmd.CloseWrite(TOKEN) << WROTE
    assert (book << cmd.ClaimTables((TABLE,), EAST)).machine.step is Step.CLAIMING


# Writes of one table, one after the other

TURN = frozenset({TABLE})


def queued() -> Playbook:
    book = analysed(WRITE) << cmd.Route(WRITE) >> routed(WRITE, in_turn=TURN)
    return book << cmd.AwaitTurn(TURN)


def test_a_write_that_has_its_turn_at_once_is_sent_by_its_decision() -> None:
    book = queued() >> TurnCame(waited=False) << ENTER_WRITE >> Entered(checked=False)
    book = book << cmd.OpenWrite(WRITE.writes) >> OPENED << cmd.Execute() >> Accepted()
    assert (book << RUNNING << cmd.WaitForEnd()).machine.step is Step.RUNNING


def test_a_write_that_waited_is_decided_again_and_keeps_its_turn() -> None:
    book = queued() >> TurnCame(waited=True) << cmd.Route(None)
    book = book >> routed(WRITE, in_turn=TURN) << ENTER_WRITE >> Failed(LOST) << ENTER_WRITE
    assert book.machine.step is Step.ENTERING


def test_a_write_whose_tables_are_others_after_the_wait_waits_for_these() -> None:
    other = frozenset({TableRef("default", "other")})
    book = queued() >> TurnCame(waited=True) << cmd.Route(None)
    book = book >> routed(WRITE, in_turn=other) << cmd.AwaitTurn(other)
    book = book >> TurnCame(waited=True) << cmd.Route(None) >> routed(WRITE, in_turn=TURN)
    changing = Unsettled("The tables of the statement keep changing.")
    assert (book << error(changing) << cmd.Report()).is_over


def test_a_write_that_is_stopped_leaves_the_queue() -> None:
    book = queued() >> Stopped() << cmd.LeaveQueue() >> TurnCame(waited=True) << cmd.Report()
    assert book.is_over


def test_a_write_that_cannot_wait_fails() -> None:
    busy = TableBusy("1000 statements wait to write default.t.")
    assert (queued() >> Failed(busy) << error(busy) << cmd.Report()).is_over


# Clusters that are lost


@pytest.mark.parametrize("lost", [LOST, GONE])
def test_a_cluster_that_is_lost_before_the_statement_is_sent_is_tried_three_times(
    lost: ClusterLost,
) -> None:
    """And then another one, if it is a query."""
    book = analysed(READ) << cmd.Route(READ) >> routed(READ)
    for _ in range(3):
        book = book << ENTER_READ >> Failed(lost)
    book = book << cmd.DiscardResult() << cmd.Route(READ, lost=EAST)
    assert (book >> routed(READ) << error(lost) << cmd.Report()).is_over
    shown = Known("metadata_read", READ.reads)
    book = analysed(shown) << cmd.Route(shown) >> routed(shown)
    for _ in range(3):
        book = book << cmd.EnterCluster(EAST, shown, {TABLE: 1}) >> Failed(lost)
    assert (book << error(lost) << cmd.Report()).is_over


def test_a_session_that_is_gone_when_the_write_is_sent_is_opened_again_without_its_mark() -> None:
    book = sent(WRITE) >> Failed(GONE) << cmd.CloseWrite(TOKEN) << WROTE << ENTER_WRITE
    book = book >> Entered(checked=False) << cmd.OpenWrite(WRITE.writes) >> OPENED << cmd.Execute()
    assert book.machine.step is Step.SENDING


def test_a_cluster_that_is_down_is_an_error() -> None:
    book = decided(READ) >> Failed(DOWN) << cmd.Route(READ)
    assert (book >> routed(READ) << error(DOWN) << cmd.Report()).is_over


def test_a_statement_runs_in_another_cluster_when_the_first_one_opens_no_session() -> None:
    book = decided(READ) >> Failed(DOWN) << cmd.Route(READ)
    book = book >> routed(READ, RunIn(WEST, "D11", "east is down"))
    book = book << cmd.EnterCluster(WEST, READ, {TABLE: 1}) >> Entered(checked=False)
    assert (book << cmd.Execute()).machine.step is Step.SENDING


def test_clusters_that_open_no_session_are_tried_three_times_in_all() -> None:
    book = decided(READ)
    for cluster in (WEST, EAST):
        book = book >> Failed(DOWN) << cmd.Route(READ)
        book = book >> routed(READ, RunIn(cluster, "D11", "it may be up"))
        book = book << cmd.EnterCluster(cluster, READ, {TABLE: 1})
    assert (book >> Failed(DOWN) << error(DOWN) << cmd.Report()).is_over


# Reads whose cluster is lost while it runs them

IN_WEST = RunIn(WEST, "lost", "east was lost while it ran the statement")
STOPPED = Failure("Job 3 cancelled because SparkContext was shut down")


@pytest.mark.parametrize(
    ("book", "event"),
    [
        (sent(), Failed(LOST)),
        (running(), Failed(LOST)),
        (running(), Ended(Status(OperationState.ERROR, STOPPED))),
    ],
)
def test_a_read_whose_cluster_is_lost_runs_in_another_one(book: Playbook, event: Event) -> None:
    was_running = book.machine.step is Step.RUNNING
    book = book >> event << cmd.DiscardResult() << cmd.Route(READ, lost=EAST)
    book = book >> routed(READ, IN_WEST) << cmd.EnterCluster(WEST, READ, {TABLE: 1})
    book = book >> Entered(checked=False) << cmd.Execute() >> Accepted()
    book = (book if was_running else book << RUNNING) << cmd.WaitForEnd()
    assert (book >> FINISHED << DONE << cmd.AskSchema() << cmd.Report()).is_over


@pytest.mark.parametrize(
    "answer",
    [
        routed(READ, REFUSE),
        routed(READ),  # nowhere but in the cluster that was lost
        Failed(MetastoreDown("It does not answer.")),
    ],
)
def test_a_read_that_no_other_cluster_can_run_fails_for_its_own_reason(answer: Event) -> None:
    book = running() >> Failed(LOST) << cmd.DiscardResult() << cmd.Route(READ, lost=EAST)
    assert (book >> answer << error(LOST) << cmd.Report()).is_over
    ended = Ended(Status(OperationState.ERROR, STOPPED))
    book = running() >> ended << cmd.DiscardResult() << cmd.Route(READ, lost=EAST)
    assert (book >> answer << error(STOPPED) << cmd.Report()).is_over


def test_a_read_moves_once() -> None:
    other = ClusterLost("The connection to cluster west broke.")
    book = running() >> Failed(LOST) << cmd.DiscardResult() << cmd.Route(READ, lost=EAST)
    book = book >> routed(READ, IN_WEST) << cmd.EnterCluster(WEST, READ, {TABLE: 1})
    book = book >> Entered(checked=False) << cmd.Execute() >> Accepted() << cmd.WaitForEnd()
    assert (book >> Failed(other) << error(other) << cmd.Report()).is_over


def test_a_read_that_moved_knows_what_was_lost_when_it_is_decided_again() -> None:
    book = running() >> Failed(LOST) << cmd.DiscardResult() << cmd.Route(READ, lost=EAST)
    book = book >> routed(READ, IN_WEST) << cmd.EnterCluster(WEST, READ, {TABLE: 1})
    book = book >> Failed(DOWN) << cmd.Route(READ, lost=EAST)
    assert (book >> routed(READ) << error(LOST) << cmd.Report()).is_over


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
def test_what_may_have_effects_does_not_move(what: Known | Unknown) -> None:
    assert (running(what) >> Failed(LOST) << error(LOST) << cmd.Report()).is_over


def test_a_pinned_read_does_not_move() -> None:
    state = session()
    state.pinned = EAST
    book = analysed(READ, state=state) << cmd.Route(READ) >> routed(READ) << ENTER_READ
    book = book >> Entered(checked=False) << cmd.Execute() >> Failed(LOST) << error(LOST)
    assert (book << cmd.Report()).is_over


def test_a_read_does_not_move_where_the_operator_says_so() -> None:
    book = decided(READ, can_move=False) >> Entered(checked=False) << cmd.Execute()
    assert (book >> Failed(LOST) << error(LOST) << cmd.Report()).is_over


def test_a_read_that_its_client_stopped_does_not_move() -> None:
    book = running() >> Stopped() << cmd.CancelInCluster()
    assert (book >> Failed(LOST) << error(LOST) << cmd.Report()).is_over


def test_a_write_that_may_have_been_sent_keeps_its_mark() -> None:
    book = sent(WRITE) >> Failed(LOST) << cmd.KeepMark(TOKEN) << cmd.RecoverWrite(TOKEN) << WROTE
    assert (book << error(LOST) << cmd.Report()).is_over


def test_a_write_that_the_cluster_refuses_loses_its_mark() -> None:
    book = sent(WRITE) >> Failed(Rejected(WRONG)) << cmd.CloseWrite(TOKEN) << WROTE << error(WRONG)
    assert (book << cmd.Report()).is_over


@pytest.mark.parametrize("ended", [True, False])
def test_the_end_of_a_write_is_learnt_after_its_client_got_the_error(ended: bool) -> None:
    book = running(WRITE) >> Failed(LOST) << cmd.KeepMark(TOKEN) << WROTE << error(LOST)
    book = book << cmd.Report() << cmd.LearnOutcome(TOKEN) >> OutcomeLearned(ended)
    if ended:
        assert (book << cmd.Linger() >> Lingered() << cmd.CloseWrite(TOKEN)).is_over
    else:
        assert (book << cmd.RecoverWrite(TOKEN)).is_over


@pytest.mark.parametrize(
    "text",
    [
        "org.apache.hadoop.hive.ql.metadata.HiveException:"
        " org.apache.thrift.transport.TTransportException: java.net.SocketTimeoutException",
        "org.apache.hadoop.hive.ql.metadata.HiveException: MetaException(message:Got exception:"
        " org.apache.thrift.transport.TTransportException null)",
    ],
)
def test_a_cluster_that_cannot_reach_the_metastore_is_named(text: str) -> None:
    lost = Ended(Status(OperationState.ERROR, Failure(f"Error running query: {text}")))
    book = running() >> lost
    (become, _) = book.due
    assert isinstance(become, cmd.Become)
    assert become.failure is not None
    named = "[CW226] Cluster east cannot reach the metastore (Error running query: "
    assert become.failure.message.startswith(named)
    assert become.failure.blame is Blame.METASTORE


def test_a_metastore_that_cannot_mark_a_write_keeps_it_from_the_cluster() -> None:
    down = MetastoreDown("It does not answer.")
    book = decided(WRITE) >> Entered(checked=False) << cmd.OpenWrite(WRITE.writes) >> Failed(down)
    assert (book << error(down) << cmd.Report()).is_over


def test_a_new_table_that_cannot_be_claimed_is_an_error() -> None:
    down = MetastoreDown("It does not answer.")
    book = running(CREATE) >> FINISHED << cmd.CloseWrite(TOKEN) << WROTE
    book = book << cmd.ClaimTables((TABLE,), EAST) >> Failed(down) << error(down)
    assert (book << cmd.Report()).is_over


# Stopped by the client, a limit or an operator


def test_a_statement_stopped_before_it_is_sent_goes_nowhere() -> None:
    assert (decided(WRITE) >> Stopped() >> Entered(checked=False) << cmd.Report()).is_over
    book = analysed(WRITE) << cmd.Route(WRITE) >> Stopped() >> routed(WRITE)
    assert (book << cmd.Report()).is_over


def test_a_statement_stopped_while_it_is_sent_is_cancelled_when_it_is_there() -> None:
    book = sent() >> Stopped() >> Accepted() << cmd.CancelInCluster() << cmd.WaitForEnd()
    book = book >> CANCELED << cmd.Become(OperationState.CANCELED) << cmd.Report()
    assert book.is_over


def test_a_running_statement_is_cancelled_at_once() -> None:
    book = running() >> Stopped() << cmd.CancelInCluster() >> CANCELED
    assert (book << cmd.Become(OperationState.CANCELED) << cmd.Report()).is_over


def test_a_cancelled_write_keeps_its_mark_a_little_longer() -> None:
    book = running(WRITE) >> Stopped() << cmd.CancelInCluster() >> CANCELED << WROTE
    book = book << cmd.Become(OperationState.CANCELED) << cmd.Report() << cmd.Linger()
    assert (book >> Lingered() << cmd.CloseWrite(TOKEN)).is_over


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
    assert count(cmd.OpenWrite) == count(cmd.CloseWrite) == marked
    assert count(cmd.Execute) == executed
    assert count(cmd.CancelInCluster) == cancelled
    assert count(cmd.Report) == 1


def test_a_statement_that_timed_out_in_its_cluster_says_so() -> None:
    timed_out = Status(OperationState.TIMEDOUT)
    book = running(WRITE) >> Ended(timed_out) << WROTE << cmd.Become(OperationState.TIMEDOUT)
    book = book << cmd.Report() << cmd.Linger() >> Lingered() << cmd.CloseWrite(TOKEN)
    assert book.is_over


# The session


@pytest.mark.parametrize(
    ("end", "after"),
    [
        (FINISHED, [APPLIED, DONE, cmd.AskSchema()]),
        (FAILED, [error(WRONG)]),
        (CANCELED, [cmd.DropSession(), cmd.Become(OperationState.CANCELED)]),
        (Failed(LOST), [cmd.DropSession(), error(LOST)]),
    ],
)
def test_the_journal_has_what_certainly_happened(end: Event, after: list[cmd.Command]) -> None:
    book = running(SET) >> end
    for command in after:
        book = book << command
    assert (book << cmd.Report()).is_over


def test_a_change_that_fails_and_has_its_effect_all_the_same() -> None:
    cached = Known("cache", effect=CreateTempTable("v", cached=True))
    there = Status(OperationState.ERROR, Failure("it is there", "42P07"))
    book = running(cached) >> Ended(there)
    apply = book.due.pop(0)
    assert isinstance(apply, cmd.Apply)
    assert type(apply.effect).__name__ == "DropTemp"


def test_a_drop_of_what_could_not_be_made_there_is_answered() -> None:
    book = decided(SET) >> Entered(checked=False, lacks=True) << APPLIED << cmd.Answer(NO_ROWS)
    assert (book << DONE << cmd.Report()).is_over


def test_a_function_is_looked_up_again_however_its_change_ended() -> None:
    change = ChangeFunction("default", "f")
    book = running(Known("function", effect=change)) >> FAILED << cmd.FunctionChanged(change)
    assert (book << error(WRONG) << cmd.Report()).is_over


def test_a_refresh_is_one_in_all_clusters() -> None:
    refresh = replace(READ, kind="refresh")
    book = running(refresh) >> FINISHED << cmd.ForgetFiles((TABLE,), elsewhere=True)
    assert (book << DONE << cmd.AskSchema() << cmd.Report()).is_over


@pytest.mark.parametrize(
    ("effect", "zone", "applied"),
    [
        (SetVariable("spark.sql.session.timeZone", "", by_server=True), "Asia/Tokyo", True),
        (SetVariable("spark.sql.session.timeZone", "", by_server=True), None, False),
        (ResetVariables(None), None, True),
    ],
)
def test_a_zone_that_is_left_to_the_server_is_read_there(
    effect: SetVariable | ResetVariables, zone: str | None, applied: bool
) -> None:
    book = running(Known("set", effect=effect)) >> FINISHED << cmd.ReadZone() >> ZoneRead(zone)
    if not applied:
        assert book.due[0] == cmd.DropSession()
        return
    apply = book.due.pop(0)
    assert isinstance(apply, cmd.Apply)
    assert zone is None or zone in str(apply.effect)
    assert (book << DONE << cmd.AskSchema() << cmd.Report()).is_over


@pytest.mark.parametrize("exists", [True, False])
def test_use_is_answered_when_the_database_exists(exists: bool) -> None:
    book = analysed(Known("use", effect=UseDatabase("sales"))) << cmd.CheckDatabase("sales")
    book = book >> DatabaseChecked(exists)
    if exists:
        book = book << cmd.Apply(UseDatabase("sales"), 1, None) << cmd.Answer(NO_ROWS)
        assert (book << DONE << cmd.Report()).is_over
        return
    (become, report) = book.due
    assert isinstance(become, cmd.Become)
    assert "SCHEMA_NOT_FOUND" in str(become.failure)
    assert report == cmd.Report()


def test_settings_of_causeway_are_changed_here() -> None:
    state = session()
    ours = SetVariable("hive.default.cluster.name", "west")
    book = analysed(Known("set", effect=ours), state=state)
    assert state.topology.default == WEST
    answer = cmd.Answer(Table(("key", "value"), ((ours.key, ours.value),)))
    assert (book << answer << DONE << cmd.Report()).is_over


# Causeway's own commands


@pytest.mark.parametrize("command", [UseCluster("west"), ShowClusters(), ShowCurrentCluster()])
def test_own_commands_are_answered(command: ClusterCommand) -> None:
    state = session()
    book = statement(state=state) >> Started() << cmd.ReadCommand("TEXT") >> CommandRead(command)
    assert isinstance(book.due.pop(0), cmd.Answer)
    assert (book << DONE << cmd.Report()).is_over
    assert state.pinned == (WEST if isinstance(command, UseCluster) else None)


def test_copies_are_listed_from_the_metastore() -> None:
    command = ShowCopies("sales")
    book = statement() >> Started() << cmd.ReadCommand("TEXT") >> CommandRead(command)
    book = book << cmd.ListCopies(command) >> Listed(DATABASES) << cmd.Answer(DATABASES)
    assert (book << DONE << cmd.Report()).is_over


def test_an_explained_statement_is_decided_and_not_run() -> None:
    command = ExplainCluster("USE CLUSTER west")
    state = session()
    book = statement(state=state) >> Started() << cmd.ReadCommand("TEXT") >> CommandRead(command)
    book = book << cmd.Explain(command) >> Listed(DATABASES) << cmd.Answer(DATABASES)
    assert (book << DONE << cmd.Report()).is_over
    assert state.pinned is None


def test_a_pin_to_a_cluster_that_does_not_exist_is_an_error() -> None:
    book = statement() >> Started() << cmd.ReadCommand("TEXT") >> CommandRead(UseCluster("mars"))
    (become, _) = book.due
    assert isinstance(become, cmd.Become)
    assert "There is no cluster 'mars'" in str(become.failure)


COPY = CopyTable("default", "t", (), "east", "west")


def test_a_copy() -> None:
    book = statement(can_copy=True) >> Started() << cmd.ReadCommand("TEXT")
    book = book >> CommandRead(COPY) << cmd.Copy(COPY) >> Copied("made")
    answer = cmd.Answer(Table(("result",), (("made",),)))
    assert (book << answer << DONE << cmd.Report()).is_over


def test_a_copy_that_is_cancelled_ends() -> None:
    book = statement(can_copy=True) >> Started() << cmd.ReadCommand("TEXT")
    book = book >> CommandRead(COPY) << cmd.Copy(COPY) >> Stopped() << cmd.CancelCopies()
    book = book >> Copied("cancelled")
    assert isinstance(book.due.pop(0), cmd.Answer)
    assert (book << DONE << cmd.Report()).is_over


# Copies that a query needs


def fetching() -> Playbook:
    book = analysed(READ) << cmd.Route(READ) >> routed(READ, CURABLE)
    return book << RUNNING << cmd.FetchMissing(NEEDED)


def test_a_query_runs_when_what_it_lacks_has_been_copied() -> None:
    book = fetching() >> Fetched() << cmd.Route(None)
    book = (
        book
        >> routed(READ, RunIn(WEST, "DC-R7", "it has all"))
        << cmd.EnterCluster(WEST, READ, {TABLE: 1})
    )
    book = book >> Entered(checked=False) << cmd.Execute() >> Accepted() << cmd.WaitForEnd()
    assert (
        book >> FINISHED << DONE << cmd.KeepRequest() << cmd.AskSchema() << cmd.Report()
    ).is_over


def test_copies_are_made_once_for_a_query() -> None:
    book = fetching() >> Fetched() << cmd.Route(None) >> routed(READ, CURABLE)
    book = book << error(Failure("[CW104] No cluster has all inputs. Copy one.", "0A000", 104))
    assert (book << cmd.Report()).is_over


def test_copies_that_fail_fail_the_query() -> None:
    failure = MetastoreDown("down")
    assert (fetching() >> Failed(failure) << error(failure) << cmd.Report()).is_over


def test_a_query_that_is_stopped_ends_its_copies_and_runs_nowhere() -> None:
    book = fetching() >> Stopped() << cmd.CancelCopies()
    assert (book >> Fetched() << cmd.Report()).is_over
    book = analysed(READ) << cmd.Route(READ) >> Stopped()
    assert (book >> routed(READ, CURABLE) << cmd.Report()).is_over


def test_a_copy_where_none_are_made() -> None:
    book = statement() >> Started() << cmd.ReadCommand("TEXT") >> CommandRead(COPY)
    assert (book.due[0], book.due[1]) == (error(failure_error(book)), cmd.Report())


def failure_error(book: Playbook) -> Failure:
    become = book.due[0]
    assert isinstance(become, cmd.Become)
    assert become.failure is not None
    assert "makes no copies" in become.failure.message
    return become.failure


# SHOW STATEMENTS


def test_ones_own_statements() -> None:
    book = statement() >> Started() << cmd.ReadCommand("TEXT") >> CommandRead(ShowStatements(7))
    book = book << cmd.ListStatements(7) >> Listed(DATABASES) << cmd.Answer(DATABASES)
    assert (book << DONE << cmd.Report()).is_over


# Statements about the catalog

SHOW = Known("metadata_read", catalog=ShowDatabases(None))
DATABASES = Table(("namespace",), (("default",),))
RECALL, ENTER_SHOW = cmd.Recall(ShowDatabases(None), EAST), cmd.EnterCluster(EAST, SHOW, {})


def test_a_question_about_the_catalog_is_answered_from_memory() -> None:
    book = analysed(SHOW) << cmd.Route(SHOW) >> routed(SHOW) << RECALL >> Recalled(DATABASES)
    assert (book << cmd.Answer(DATABASES) << DONE << cmd.Report()).is_over


def test_a_question_that_memory_cannot_answer_goes_to_the_cluster() -> None:
    book = analysed(SHOW) << cmd.Route(SHOW) >> routed(SHOW) << RECALL >> Recalled(None)
    assert (book << ENTER_SHOW).machine.step is Step.ENTERING


def test_a_failure_of_memory_is_not_the_statements() -> None:
    book = analysed(SHOW) << cmd.Route(SHOW) >> routed(SHOW) << RECALL >> Failed(LOST)
    assert (book << ENTER_SHOW).machine.step is Step.ENTERING


def test_an_explained_question_goes_to_the_cluster() -> None:
    explained = replace(SHOW, explain=True)
    book = analysed(explained) << cmd.Route(explained) >> routed(explained)
    assert (book << cmd.EnterCluster(EAST, explained, {})).machine.step is Step.ENTERING


# The end of the server


def test_an_interrupted_write_keeps_its_mark() -> None:
    book = running(WRITE) >> Interrupted() << cmd.KeepMark(TOKEN) << WROTE
    assert (book << cmd.Become(OperationState.CANCELED) << cmd.Report()).is_over


def test_an_interrupted_wait_for_the_last_step_closes_the_write() -> None:
    book = running(WRITE) >> CANCELED << WROTE << cmd.Become(OperationState.CANCELED)
    book = book << cmd.Report() << cmd.Linger() >> Interrupted() << cmd.CloseWrite(TOKEN)
    assert book.is_over


def test_an_interrupted_change_gives_up_its_session() -> None:
    book = running(SET) >> Interrupted() << cmd.DropSession()
    assert (book << cmd.Become(OperationState.CANCELED) << cmd.Report()).is_over


# The table


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
    """One that may come at the machine's step."""
    kinds = [each for each in TRANSITIONS[machine.step] if each is not Failed]
    if machine.step is Step.SENDING:
        kinds = [Ended if getattr(done[-1], "at_once", False) else Accepted]
    may_fail = Failed in TRANSITIONS[machine.step]
    late = machine.step is Step.QUEUEING or machine.step.value > Step.MARKING.value
    fails = may_fail and dice.random() < (0.3 if late else 0.05)
    kind = Failed if fails else dice.choice(kinds)
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
        WriteOpened: [WriteOpened((TABLE,), TOKEN), WriteOpened((), None)],
        Accepted: [Accepted()],
        Ended: [FINISHED] if machine.step is Step.SENDING else [Ended(each) for each in ends],
        ZoneRead: [ZoneRead("UTC"), ZoneRead(None)],
        TablesClaimed: [TablesClaimed()],
        OutcomeLearned: [OutcomeLearned(True), OutcomeLearned(False)],
        Lingered: [Lingered()],
        Started: [Started()],
        Failed: [
            *(Failed(each) for each in (LOST, GONE, DOWN, Rejected(WRONG), MetastoreDown("down"))),
            Failed(Rejected(Failure(BUSY))),
        ],
    }
    return dice.choice(events[kind])


def test_whatever_happens_a_statement_ends_once_and_each_mark_is_seen_to() -> None:
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
                done += machine.receive(Stopped() if dice.random() < 0.7 else Interrupted())
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
    assert table == taken  # no row that nothing uses


def check(done: list[cmd.Command], seed: int) -> None:
    """One report, the client's state before it and nothing of it after; a mark for each write that
    is sent, and each mark closed or kept."""
    at = [i for i, each in enumerate(done) if isinstance(each, cmd.Report)]
    assert len(at) == 1, seed
    states = [i for i, each in enumerate(done) if isinstance(each, cmd.Become)]
    assert all(each < at[0] for each in states), seed
    ends = [done[i] for i in states if done[i] != RUNNING]
    assert len(ends) <= 1, seed  # none of a statement that was stopped before it was sent
    assert sum(each == RUNNING for each in done) <= 1, seed
    assert sum(isinstance(each, cmd.Apply) for each in done) <= 1, seed
    opened = sum(isinstance(each, cmd.OpenWrite) for each in done)
    closed = sum(isinstance(each, cmd.CloseWrite | cmd.KeepMark) for each in done)
    learnt = sum(isinstance(each, cmd.LearnOutcome) for each in done)
    assert closed <= opened + learnt, seed
