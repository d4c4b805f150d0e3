"""One statement as a state machine without I/O: `receive(event)` returns the commands to carry out.

`steps` has the theory and the table of steps; the methods here follow its order. The machine only
decides: whatever takes time or does I/O is a command, which `StatementRunner` carries out. The
machine reads and changes the user's `SessionState` itself, which does no I/O either.
"""

from collections.abc import Callable

from conf.errors import CausewayError
from conf.names import ClusterName, TableRef
from conf.topology import Cluster
from dialect.grammar.cluster_statements import ClusterCommand
from dialect.statement import Known, Unknown, UseDatabase
from proxy.errors import AnalysisUnstable, ClusterLost, ThriftServerError, refusal
from proxy.protocol.replies import Status
from proxy.protocol.results import NO_ROWS, ResultTable
from proxy.protocol.status import failure_of, is_cluster_stopped
from proxy.protocol.types import OperationState
from proxy.session import own_settings
from proxy.session.session import SessionState
from proxy.session.settings.restrictions import check_statement
from proxy.session.settings.time_zone import is_left_to_server
from proxy.session.states import BadTransition
from proxy.statement.machine import cluster_commands, session_statements
from proxy.statement.machine import commands as cmd
from proxy.statement.machine import events as ev
from proxy.statement.machine.access_checks import check_command, check_list
from proxy.statement.machine.attempt import Attempt
from proxy.statement.machine.claims import check_unguarded
from proxy.statement.machine.commands import Command
from proxy.statement.machine.events import Event, Routed
from proxy.statement.machine.retries import StatementRetries
from proxy.statement.machine.steps import TRANSITIONS, Step, step_after
from router import decision
from router.access.statement_access import LISTS
from router.needed_copies import CopyNeeded

_NOT_ANALYSED = Unknown("no cluster is configured")


class StatementMachine:
    """Runs the statement `sql` in the session `state`.

    `sole_server` is the server for all statements, not analysed, while no cluster is configured
    (DC-N1). `limited`: the client set a time-out. `can_copy`: this proxy makes copies. `can_move`:
    a read whose cluster is lost may run in another one. `is_checked` returns whether all guards of
    a cluster check claims; None: not known yet. `lost`: the cluster that was lost with the result
    of the query, and the error for the client if no other cluster can run it."""

    def __init__(
        self,
        sql: str,
        state: SessionState,
        sole_server: ClusterName | None = None,
        limited: bool = False,
        can_copy: bool = False,
        can_move: bool = True,
        is_checked: Callable[[Cluster], bool | None] = lambda cluster: None,
        lost: tuple[ClusterName, CausewayError] | None = None,
    ) -> None:
        self.step = Step.NEW
        self._sql = sql
        self._state = state
        self._sole_server = sole_server
        self._limited = limited
        self._can_copy = can_copy
        self._is_checked = is_checked
        self._stopped = False
        self._is_running = False  # whether the client sees RUNNING
        self._turn: frozenset[TableRef] = frozenset()  # tables for which it is in the write queue
        self._database = ""  # the argument of a USE
        self._decided_last: Routed | None = None
        self._retries = StatementRetries(sole_server is None, can_move=can_move, lost=lost)
        self._has_fetched = False
        self._started: Attempt | None = None
        self._reported = False

    @property
    def _routed(self) -> Routed:
        """The last decision; there is one from ROUTING on."""
        assert self._decided_last is not None
        return self._decided_last

    @property
    def _attempt(self) -> Attempt:
        """The last attempt; there is one after ENTERING."""
        assert self._started is not None
        return self._started

    def receive(self, event: Event) -> list[Command]:
        """The commands that follow. The call among them is the next step. Raises BadTransition if
        the event cannot come at this step."""
        if isinstance(event, ev.Stopped):
            self._stopped = True
            return self._stop()
        if isinstance(event, ev.TaskCancelled):
            commands = self._interrupt()
            self.step = Step.OVER
            return commands
        allowed = TRANSITIONS[self.step].get(type(event))
        if allowed is None:
            raise BadTransition(f"{type(event).__name__} at {self.step.name}")
        try:
            commands = self._commands(event)
        except (CausewayError, ThriftServerError) as error:
            commands = self._fail(error)
        next_step = step_after(commands)
        if next_step not in allowed:
            raise BadTransition(f"{self.step.name} -> {next_step.name}")
        self.step = next_step
        return commands

    def _commands(self, event: Event) -> list[Command]:
        match event:
            case ev.Started():
                return self._start()
            case ev.CommandRead(command):
                return self._read(command)
            case ev.Copied(summary):
                return self._answer(ResultTable(("result",), ((summary,),)))
            case ev.Listed(table):
                return self._answer(table)
            case ev.Fetched():
                return self._conclude() if self._stopped else [self._route()]
            case ev.Analysed(statement):
                return self._analysed(statement)
            case ev.DatabaseChecked(exists):
                return self._use_database(exists)
            case ev.Routed():
                return self._decided(event)
            case ev.TurnCame(waited):
                return [self._route()] if waited and not self._stopped else self._enter()
            case ev.ThreadFreed():
                return self._enter() if self._stopped or self._sole_server else [self._route()]
            case ev.Recalled(table):
                return self._not_recalled() if table is None else self._answer(table)
            case ev.SyntaxChecked(failure):
                raise ThriftServerError(failure or refusal(self._routed.decision))
            case ev.Entered():
                return self._entered(event)
            case ev.WriteMarked():
                return self._send(event)
            case ev.Accepted():
                return self._accepted()
            case ev.ExecutionEnded(status):
                return self._ended(status)
            case ev.ZoneRead(zone):
                return self._zone_read(zone)
            case ev.TablesClaimed():
                return self._finish()
            case ev.OutcomeLearned(ended):
                return [cmd.Linger() if ended else cmd.RecoverWrite(self._attempt.write)]
            case ev.Lingered():
                return [cmd.RemoveMark(self._attempt.write)]
            case ev.CallFailed(error):
                return self._failed(error)
        raise AssertionError(event)

    def _stop(self) -> list[Command]:
        match self.step:
            case Step.QUEUEING | Step.WAITING:
                return [cmd.LeaveQueue()]
            case Step.COPYING | Step.FETCHING:
                return [cmd.CancelCopies()]
            case Step.RUNNING:
                return [cmd.CancelInCluster()]
        return []

    # Causeway's own commands, and statements that change the session alone

    def _start(self) -> list[Command]:
        if self._sole_server is None:
            return [cmd.ReadCommand(self._sql)]
        runs = decision.RunIn(self._sole_server, "DC-N1", "no cluster is configured")
        return self._decided(Routed(_NOT_ANALYSED, runs, {}, {}))

    def _read(self, command: ClusterCommand | None) -> list[Command]:
        if command is None:
            return [cmd.Analyse()]
        check_command(command, self._state)
        answer = cluster_commands.begin(command, self._state, self._is_checked, self._can_copy)
        return self._answer(answer) if isinstance(answer, ResultTable) else [answer]

    def _analysed(self, statement: Known | Unknown) -> list[Command]:
        answer = session_statements.begin(statement, self._state, self._sql)
        if isinstance(answer, ResultTable):
            return self._answer(answer)
        if answer is None:
            return [self._route(statement)]
        self._database = answer.name
        return [answer]

    def _use_database(self, exists: bool) -> list[Command]:
        if not exists:
            raise ThriftServerError(own_settings.no_such_database(self._database))
        number = self._state.journal.reserve()
        return self._answer(NO_ROWS, cmd.Apply(UseDatabase(self._database), number, None))

    # Decisions and attempts

    def _decided(self, routed: Routed) -> list[Command]:
        self._decided_last = routed
        self._retries.decided(routed.decision)
        match routed.decision:
            case decision.RunIn():
                check_statement(routed.statement, self._state.restrictions)
                if routed.catalog is not None:
                    return [cmd.Recall(routed.catalog, routed.cluster)]
                return self._queue(routed.in_turn)
            case decision.Refuse() if isinstance(routed.statement, Unknown):
                return [cmd.CheckSyntax(routed.statement)]
            case decision.Refuse(copies=copies) if copies and not self._has_fetched:
                return self._fetch(copies)
            case decision.Refuse():
                raise ThriftServerError(refusal(routed.decision))
            case decision.Answer():
                return self._answer(NO_ROWS)

    def _fetch(self, copies: tuple[CopyNeeded, ...]) -> list[Command]:
        """Makes the copies that the query needs. Its client sees RUNNING meanwhile."""
        if self._stopped:
            return self._conclude()
        self._has_fetched = True
        return [*self._runs(), cmd.FetchMissing(copies)]

    def _route(self, statement: Known | Unknown | None = None) -> Command:
        """The call for a decision, with what earlier attempts have shown."""
        return cmd.Route(statement, self._retries.lost_cluster, self._retries.whole)

    def _queue(self, tables: frozenset[TableRef]) -> list[Command]:
        """Waits for the turn to write these tables, unless the statement has it."""
        if self._stopped or tables <= self._turn:
            return self._enter()
        if not self._retries.may_decide:
            raise AnalysisUnstable("The tables of the statement keep changing.")
        self._turn = tables
        return [cmd.AwaitTurn(tables)]

    def _not_recalled(self) -> list[Command]:
        """Leaves the answer to the cluster, unless it lists names that the user may not see."""
        if isinstance(self._routed.catalog, LISTS):
            check_list(self._state)
        return self._enter()

    def _enter(self) -> list[Command]:
        self._started = None
        self._retries.attempts += 1
        if self._stopped:
            return self._conclude()
        routed = self._routed
        return [cmd.EnterCluster(routed.cluster, routed.statement, routed.versions)]

    def _entered(self, event: ev.Entered) -> list[Command]:
        if not event.checked:
            check_unguarded(self._routed.cluster, self._routed)
        number = self._state.journal.reserve()
        self._started = attempt = Attempt(self._routed, self._routed.cluster, event.checked, number)
        if event.lacks:
            return self._answer(NO_ROWS, *attempt.apply(attempt.statement))
        if self._stopped:
            return self._conclude()
        if attempt.writes:
            return [cmd.MarkWrite(attempt.writes)]
        return self._send(ev.WriteMarked((), None))

    def _send(self, opened: ev.WriteMarked) -> list[Command]:
        attempt = self._attempt
        attempt.token = opened.token
        if self._stopped:
            closed = [] if opened.token is None else [cmd.RemoveMark(opened.token)]
            return [*closed, *self._conclude()]
        attempt.at_once = attempt.is_constant and not self._limited
        before = self._runs() if attempt.at_once else []
        return [*before, cmd.Execute(attempt.claim(opened.targets), attempt.at_once)]

    def _runs(self) -> list[Command]:
        """Shows the client RUNNING: once, also if the statement is routed again."""
        if self._stopped or self._is_running:
            return []
        self._is_running = True
        return [cmd.Become(OperationState.RUNNING)]

    def _accepted(self) -> list[Command]:
        self._attempt.accepted = True
        first = [cmd.CancelInCluster()] if self._stopped else self._runs()
        return [*first, cmd.WaitForEnd()]

    # The end of an attempt

    def _ended(self, status: Status) -> list[Command]:
        attempt = self._attempt
        failure = status.failure
        if failure is not None and is_cluster_stopped(failure) and self._may_move():
            return self._move(ThriftServerError(failure))
        if self._sole_server is None:
            status = attempt.explained(status)
        attempt.status = status
        marks = attempt.close_mark(status)
        statement = attempt.statement
        changes = statement.changes if isinstance(statement, Known) else None
        if status.state is OperationState.FINISHED and is_left_to_server(changes):
            return [*marks, cmd.ReadZone()]
        return marks + self._settle(statement)

    def _zone_read(self, zone: str | None) -> list[Command]:
        try:
            statement = self._attempt.with_zone(zone)
        except ClusterLost as error:
            return self._failed(error)
        return self._settle(statement)

    def _settle(self, statement: Known | Unknown) -> list[Command]:
        """Applies the effects of a known end, and then routes again or answers the client."""
        attempt = self._attempt
        assert attempt.status is not None
        effects = attempt.effects(statement, attempt.status)
        forget = self._retries.after_refusal(attempt, attempt.status)
        if forget is not None:
            return [*effects, *forget, cmd.DiscardResult(), self._route()]
        created = attempt.created
        # A script that failed may have made tables before.
        if created and (attempt.is_script or attempt.status.state is OperationState.FINISHED):
            return [*effects, cmd.ClaimTables(created, attempt.cluster)]
        return effects + self._finish()

    def _finish(self) -> list[Command]:
        status = self._attempt.status
        assert status is not None
        become = cmd.Become(status.state, status.failure)
        if status.state is not OperationState.FINISHED:
            return [become, *self._conclude()]
        keep = [cmd.KeepRequest()] if self._retries.is_movable(self._routed, self._state) else []
        return [become, *keep, cmd.AskSchema(), *self._conclude()]

    # Failures

    def _failed(self, error: CausewayError | ThriftServerError) -> list[Command]:
        """Handles a failed call: repeats the attempt, routes the statement again, or fails it."""
        if self.step is Step.RECALLING:
            return self._not_recalled()
        if self._retries.lost is not None and self.step is Step.ROUTING:
            return self._fail(self._retries.lost[1])
        effects: list[Command] = []
        if self.step in (Step.SENDING, Step.RUNNING, Step.ZONING):
            attempt, sent = self._attempt, self.step is Step.SENDING
            if sent and attempt.at_once and isinstance(error, ThriftServerError):
                return self._send_again(attempt)
            effects = attempt.cut_off(error if sent else None)
            if sent and not self._stopped and self._retries.waits_for_thread(error):
                return [*effects, cmd.AwaitThread(error)]
        if self._retries.may_repeat(self.step, error):
            return effects + self._enter()
        if isinstance(error, ClusterLost) and self._may_move():
            return effects + self._move(error)
        if self.step is Step.ENTERING and self._retries.opened_none(self._routed.cluster, error):
            return [*effects, self._route(self._routed.statement)]
        return effects + self._fail(error)

    def _may_move(self) -> bool:
        """Whether a read whose cluster was lost may run in another one: its client has no row."""
        if self._stopped or self.step not in (Step.ENTERING, Step.SENDING, Step.RUNNING):
            return False
        return self._retries.may_move(self._routed, self._state)

    def _move(self, error: ClusterLost | ThriftServerError) -> list[Command]:
        self._retries.lost = self._routed.cluster, error
        return [cmd.DiscardResult(), self._route(self._routed.statement)]

    def _send_again(self, attempt: Attempt) -> list[Command]:
        """Sends a refused SELECT of literals asynchronously: its error is the usual one then."""
        attempt.at_once = False
        return [cmd.Execute(attempt.claim(()))]

    def _fail(self, error: CausewayError | ThriftServerError) -> list[Command]:
        if self._reported:
            return []
        failure = error.failure if isinstance(error, ThriftServerError) else failure_of(error)
        return [cmd.Become(OperationState.ERROR, failure), *self._conclude()]

    # The end

    def _answer(self, table: ResultTable, *before: Command) -> list[Command]:
        finished = cmd.Become(OperationState.FINISHED)
        return [*before, cmd.SetResult(table), finished, *self._conclude()]

    def _conclude(self) -> list[Command]:
        """Reports the outcome. The call that follows looks after a write without a known end."""
        self._reported = True
        return [cmd.ReportOutcome(), *(self._started.left() if self._started else ())]

    def _interrupt(self) -> list[Command]:
        if self.step is Step.LINGERING:
            return [cmd.RemoveMark(self._attempt.write)]
        if self._reported:
            return []
        running = self.step in (Step.SENDING, Step.RUNNING, Step.ZONING)
        effects = self._attempt.cut_off(None) if running else []
        self._reported = True
        return [*effects, cmd.Become(OperationState.CANCELED), cmd.ReportOutcome()]
