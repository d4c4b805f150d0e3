"""Carries out the commands of `StatementMachine`, and returns their results to it as events.

`services` lists what is called for each command. Nothing is decided here.
"""

import asyncio
import logging
from collections.abc import Callable, Collection, Mapping, Sequence

from conf.errors import CausewayError
from conf.names import ClusterName, PartitionRef, TableRef
from conf.settings.settings import LostReads
from dialect.statement import Known
from proxy.errors import SessionGone, ThriftServerError
from proxy.limits import DEFAULT, Limits
from proxy.protocol.replies import Status
from proxy.protocol.requests import ExecuteStatement
from proxy.protocol.status import failure_of
from proxy.protocol.types import OperationState
from proxy.record.incidents import internal_error
from proxy.session.local_result import LocalResult
from proxy.session.operation import Operation, Repeatable, close_remote, nothing_runs
from proxy.session.replay.cluster_session import ClusterSession
from proxy.session.replay.server_caches import caches_rows
from proxy.session.user_session import UserSession
from proxy.statement.awaited_turns import AwaitedTurns
from proxy.statement.copies.awaited_copies import AwaitedCopies
from proxy.statement.copies.copier import CopyOrder
from proxy.statement.dry_run import explain
from proxy.statement.listings import list_copies, list_statements
from proxy.statement.machine import commands as cmd
from proxy.statement.machine import events as ev
from proxy.statement.machine.commands import Command
from proxy.statement.machine.events import Event, MarkedWrite
from proxy.statement.machine.machine import StatementMachine
from proxy.statement.services import StatementServices
from proxy.statement.spark_error import spark_error
from proxy.upstream.cluster_load import StatementLoad
from proxy.upstream.remote_result import RemoteResult
from router.needed_copies import CopyNeeded

FROM_MEMORY = "memory"  # in the place of a rule's name in metrics and the audit log
_log = logging.getLogger(__name__)


class StatementRunner:
    """Runs one ExecuteStatement to its end. `operation` has the state and result for the client."""

    def __init__(
        self,
        session: UserSession,
        operation: Operation,
        request: ExecuteStatement,
        services: StatementServices,
        limits: Limits = DEFAULT,
        lost: tuple[ClusterName, CausewayError] | None = None,
    ) -> None:
        """`lost`: the cluster that was lost with the query's result, and the error (`rerun`)."""
        self._session = session
        self._operation = operation
        self._request = request
        self._services = services
        self._router = services.router
        self._limits = limits
        self._turns = AwaitedTurns(
            services.write_places, limits, request.timeout, operation.log_line
        )
        self._upstream: ClusterSession | None = None
        self._cached: Mapping[TableRef, object] | None = None  # versions of tables that it caches
        self._remote: RemoteResult | None = None
        self._copies = AwaitedCopies()
        self._routed: ev.Routed | None = None
        self._load: StatementLoad | None = None  # its part of the cluster's load
        self._reported: Callable[[], object] | None = None
        self._left: list[Command] = []  # commands after the current one
        self._machine = StatementMachine(
            request.statement,
            session.state,
            sole_server=session.sole_server.name if session.sole_server else None,
            limited=bool(request.timeout),
            can_copy=services.copier is not None,
            can_move=services.router.settings.lost_reads is LostReads.MOVE,
            is_checked=services.router.health.is_checked,
            lost=lost,
        )

    async def run(self, reported: Callable[[], object]) -> None:
        """Runs the statement. Raises only CancelledError. `reported` is called when the outcome is
        final; after that the end of a write in a lost cluster may be waited for, for minutes."""
        self._reported = reported
        self._operation.stop = self.stop
        event: Event | None = ev.Started()
        try:
            if self._operation.cancelled:
                self._machine.receive(ev.Stopped())
            while event is not None:
                event = await self._carry_out(self._machine.receive(event))
        except asyncio.CancelledError:
            effects = [each for each in self._left if not isinstance(each, cmd.Call)]
            await self._carry_out([*effects, *self._machine.receive(ev.TaskCancelled())])
            raise
        except Exception:
            self._operation.fail(failure_of(internal_error(_log, "running a statement")))
            await self._report()
        finally:
            self._operation.stop = nothing_runs  # leaves no cycle
            self._turns.leave()
            if self._load is not None:
                self._load.leave()
            if self._cached is not None:
                self._entered.replay.caches(self._cached)

    async def stop(self) -> None:
        """Stops the statement, also in its cluster. The operation has its final state already."""
        for command in self._machine.receive(ev.Stopped()):
            if not isinstance(command, cmd.Call):
                await self._effect(command)

    async def _carry_out(self, commands: list[Command]) -> Event | None:
        """Carries out the commands. Returns the event of the call among them; None: no call."""
        for at, command in enumerate(commands, 1):
            self._left = commands[at:]
            if not isinstance(command, cmd.Call):
                await self._effect(command)
                continue
            try:
                return await self._call(command)
            except (CausewayError, ThriftServerError) as error:
                return ev.CallFailed(error)
            except Exception:
                return ev.CallFailed(internal_error(_log, "running a statement"))
        return None

    async def _call(self, command: cmd.Call) -> Event:
        if isinstance(command, cmd.Preparation):
            return await self._prepare(command)
        return await self._run_in_cluster(command)

    async def _prepare(self, command: cmd.Preparation) -> Event:
        state, record = self._session.state, self._operation.record
        match command:
            case cmd.ReadCommand(sql):
                return ev.CommandRead(await self._router.analysis.command(sql, state))
            case cmd.Explain(explained):
                sizes = self._services.change_sizes
                return ev.Listed(await explain(explained, state, self._router, sizes))
            case cmd.ListStatements(limit):
                return ev.Listed(await list_statements(self._services.history, state.user, limit))
            case cmd.ListCopies(wanted):
                return ev.Listed(await list_copies(self._router, state, wanted))
            case cmd.MakeCopy():
                return await self._copy(command)
            case cmd.FetchMissing(copies):
                return await self._fetch(copies)
            case cmd.Analyse():
                record.analysis = await self._router.analysis.analyse(
                    self._request.statement, state
                )
                record.mark("analyse")
                return ev.Analysed(record.analysis)
            case cmd.CheckDatabase(name):
                return ev.DatabaseChecked(await self._router.database_exists(name))
            case cmd.Route(statement, lost, whole):
                sql = self._request.statement
                routed = await self._router.decide(sql, state, statement, lost, whole)
                self._routed = routed
                record.decided(routed.statement, routed.decision, routed.facts)
                record.mark("decide")
                return routed
            case cmd.Recall():
                return await self._recall(command)
            case cmd.CheckSyntax(unknown):
                sql = self._request.statement
                failure = await spark_error(self._session, sql, unknown, self._router.health)
                return ev.SyntaxChecked(failure)

    async def _run_in_cluster(self, command: cmd.Execution) -> Event:
        match command:
            case cmd.AwaitTurn(tables):
                return await self._await_turn(tables)
            case cmd.AwaitThread(refused):
                return await self._await_thread(refused)
            case cmd.EnterCluster():
                return await self._enter(command)
            case cmd.MarkWrite(writes):
                targets = self._router.write_targets(writes)
                return ev.WriteMarked(targets, await self._open_write(targets))
            case cmd.Execute():
                return await self._execute(command)
            case cmd.WaitForEnd():
                status = await self._entered.end_of(self._sent.operation)
                self._operation.record.mark("execute")
                self._ended(status.state is OperationState.FINISHED)
                return ev.ExecutionEnded(status)
            case cmd.ReadZone():
                return ev.ZoneRead(await self._entered.read_zone())
            case cmd.ClaimTables(tables, cluster):
                for table in tables:
                    await self._router.loader.claim(table, cluster)
                return ev.TablesClaimed()
            case cmd.LearnOutcome(token):
                return await self._learn_outcome(token)
            case cmd.Linger():
                await asyncio.sleep(self._limits.linger)
                return ev.Lingered()

    async def _recall(self, recall: cmd.Recall) -> Event:
        """The result from memory. A statement with settings of its own (`overlay`) may have another
        result in the cluster, so the cluster runs it."""
        answers = self._services.catalog_answers
        if answers is None or self._request.overlay:
            return ev.Recalled(None)
        table = await answers.answer(recall.command, recall.cluster, self._session)
        if table is not None:
            self._operation.record.rule = FROM_MEMORY
            self._operation.record.mark("execute")
        return ev.Recalled(table)

    async def _copy(self, copy: cmd.MakeCopy) -> Event:
        copier = self._services.copier
        assert copier is not None
        command = copy.command
        ref = command.ref(self._session.state.namespace().database)
        order = CopyOrder(ref, command.partitions, command.source, command.target)
        done = await self._copies.run(copier(order))
        self._router.snapshot.invalidate([ref])
        return ev.Copied("cancelled" if done is None else done.text)

    async def _fetch(self, copies: Sequence[CopyNeeded]) -> Event:
        """Makes the copies. Raises CopyQuotaExceeded, CopyFailed."""
        fetcher, state = self._services.fetcher, self._session.state
        assert fetcher is not None
        work = fetcher.fetch(state.user, copies, state.fetch_bytes, self._operation.log_line)
        await self._copies.run(work)
        self._router.snapshot.invalidate([copy.table for copy in copies])
        self._operation.record.mark("copy")
        return ev.Fetched()

    async def _await_turn(self, tables: Collection[TableRef]) -> Event:
        """Waits for the turn to write the tables. Raises TableBusy, WorkerFailed."""
        waited = await self._turns.write(tables, lambda: self._operation.cancelled)
        self._operation.record.mark("queue")
        return ev.TurnCame(waited)

    async def _await_thread(self, refused: ThriftServerError) -> Event:
        """Waits for a thread of the server. Raises `refused` after the time-out."""
        await self._turns.thread(self._entered, refused)
        self._operation.record.mark("queue")
        return ev.ThreadFreed()

    async def _enter(self, command: cmd.EnterCluster) -> Event:
        self._operation.record.cluster = command.cluster
        self._begin(command.cluster)
        self._upstream = upstream = await self._session.upstream(command.cluster)
        upstream.replay.check(command.statement)
        statement = command.statement
        if isinstance(statement, Known) and upstream.replay.lacks(statement.changes):
            return ev.Entered(upstream.checked, lacks=True)
        await upstream.replay.refresh(command.versions)
        if isinstance(statement, Known) and caches_rows(statement.changes):
            self._cached = command.versions
            upstream.replay.caches(command.versions)
        self._operation.record.mark("connect")
        return ev.Entered(upstream.checked)

    def _begin(self, cluster: ClusterName) -> None:
        """Counts the statement in the cluster's load, instead of in that of an earlier attempt."""
        if self._load is not None:
            self._load.leave()
        self._load = self._router.begin_load(cluster, self._routed)

    def _ended(self, succeeded: bool) -> None:
        if self._load is not None:
            self._load.ended(succeeded)

    async def _open_write(self, targets: Sequence[TableRef | PartitionRef]) -> MarkedWrite | None:
        loader, recovery = self._router.loader, self._services.write_recovery
        if not targets:
            return None
        token = loader.new_write(targets)
        recovery.begin(token, self._entered)
        try:
            opened: MarkedWrite = await loader.open_write(token)
        except CausewayError:
            recovery.recover(token.id, has_ended=True)
            raise
        return opened

    async def _execute(self, command: cmd.Execute) -> Event:
        """Sends the statement. Raises SessionGone if the session is closed."""
        upstream, request = self._entered, self._request
        if not upstream.alive:
            raise SessionGone(f"The connection to cluster {upstream.cluster} broke.")
        overlay = {**request.overlay, **command.claim}
        if self._load is not None:
            self._load.sent()
        if command.at_once:
            started = await upstream.execute_to_end(request.statement, overlay, is_bounded=False)
            self._operation.record.mark("execute")
            self._ended(True)
        else:
            self._turns.check_thread(upstream)
            started = await upstream.execute(request.statement, overlay, request.timeout)
        self._turns.accepted()
        remote = RemoteResult.of(upstream, started, self._session.sole_server is None)
        self._remote = self._operation.result = remote
        if command.at_once:
            return ev.ExecutionEnded(Status(OperationState.FINISHED))
        return ev.Accepted()

    async def _learn_outcome(self, token: MarkedWrite) -> Event:
        ended = await self._sent.learn_end()
        if ended:
            _log.warning("a write whose end was not known has ended: %r", token)
        return ev.OutcomeLearned(ended)

    async def _effect(self, command: cmd.Effect) -> None:
        match command:
            case cmd.Become(state, failure):
                self._operation.becomes(state, failure)
            case cmd.ReportOutcome():
                await self._report()
            case cmd.KeepRequest():
                journal = self._session.state.journal
                self._operation.repeatable = Repeatable(self._request, journal.changes)
            case cmd.AskSchema():
                if isinstance(self._operation.result, RemoteResult):
                    asyncio.get_running_loop().call_soon(_request_schema, self._operation.result)
            case cmd.SetResult(table):
                self._operation.result = LocalResult(table)
            case cmd.Apply(effect, number, cluster, used, immediate):
                if cluster is not None:
                    self._entered.replay.applied(number, effect)
                sql = immediate or self._request.statement
                self._session.state.apply(effect, sql, cluster, number, used)
            case cmd.ForgetFacts(tables):
                self._router.snapshot.invalidate(tables)
            case cmd.ForgetFiles(tables, elsewhere):
                if elsewhere:
                    self._session.refreshed(tables, self._entered)
                else:
                    self._entered.replay.forget_files(tables)
            case cmd.FunctionChanged(function):
                if not function.is_new:
                    self._entered.replay.function_changed(function.database, function.name)
                self._router.loader.forget_functions()
            case cmd.DropSession():
                self._entered.drop()
            case cmd.DiscardResult():
                close_remote(self._operation)
                self._operation.result = None
            case cmd.LeaveQueue():
                self._turns.leave()
            case cmd.CancelCopies():
                self._copies.cancel()
            case cmd.CancelInCluster():
                await self._sent.cancel()
            case cmd.RemoveMark(token):
                await self._close_write(token)
            case cmd.KeepMark(token):
                _log.warning("the end of a write is not known; copies stay unread: %r", token)
            case cmd.RecoverWrite(token):
                self._services.write_recovery.recover(token.id)

    async def _report(self) -> None:
        """Reports the outcome one turn of the event loop later: the client is answered first."""
        reported, self._reported = self._reported, None
        try:
            await asyncio.sleep(0)
        finally:
            if reported is not None:
                reported()
            self._operation.working = False
            if self._operation.closed:
                close_remote(self._operation)

    async def _close_write(self, token: MarkedWrite) -> None:
        try:
            await self._router.loader.close_write(token)
        except CausewayError as error:
            _log.warning("a write ended, and its mark stays for now: %s", error)
            self._services.write_recovery.recover(token.id, has_ended=True)
        else:
            self._services.write_recovery.end(token.id)

    @property
    def _entered(self) -> ClusterSession:
        assert self._upstream is not None
        return self._upstream

    @property
    def _sent(self) -> RemoteResult:
        assert self._remote is not None
        return self._remote


def _request_schema(remote: RemoteResult) -> None:
    """Requests the schema of an ended statement before its client does. Before the end of the
    statement a Thrift Server would return, and keep, a wrong schema: one column `Result`."""
    remote.upstream.send_pipelined(remote.schema_call())
