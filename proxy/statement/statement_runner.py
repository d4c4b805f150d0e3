"""One statement's way: our own command, or analysed, routed, run in a cluster and seen to its
end.

A write is marked open in the metastore before the cluster hears of it, and closed once it is
certain that it ended; where that cannot be learnt the mark stays, and copies stay unread.
"""

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Protocol

from conf.errors import CausewayError
from conf.names import ClusterName, TableRef
from dialect.grammar import cluster_statements
from dialect.grammar.cluster_statements import (
    CopyTable,
    ExplainCluster,
    ResetCluster,
    ShowClusters,
    ShowCurrentCluster,
    UseCluster,
)
from dialect.statement import (
    Action,
    ChangeFunction,
    Known,
    ResetVariables,
    SetVariable,
    Unknown,
    UseDatabase,
    Write,
)
from proxy.errors import ClusterLost, Failure, NotUnderstoodCommand, Rejected, SessionGone
from proxy.limits import DEFAULT
from proxy.operations.incidents import internal_error
from proxy.protocol.replies import Status
from proxy.protocol.requests import ExecuteStatement, RemoteOperation
from proxy.protocol.results import NO_ROWS, Table
from proxy.protocol.status import failure_of
from proxy.protocol.types import OperationState
from proxy.session import settings
from proxy.session.objects import after_error
from proxy.session.open_session import Session, cancel_remote, close_remote
from proxy.session.restrictions import check_statement, is_ignored
from proxy.session.time_zone import is_left_to_server, with_zone
from proxy.statement import commands
from proxy.statement.local_result import Local
from proxy.statement.operation import Operation, Remote
from proxy.statement.statement_router import Routed, StatementRouter
from proxy.upstream.claims import Outdated, is_outdated, overlay, spark_error
from proxy.upstream.lost_operation import settle
from proxy.upstream.upstream_session import UpstreamSession
from router.decision import Answer, Refuse, RunIn
from router.report import report

_NOT_LOOKED_AT = Unknown("no cluster is configured")
_log = logging.getLogger(__name__)
_ATTEMPTS = 3
_DECISIONS = 3  # for one statement, when tables change between decision and analysis


class Copier(Protocol):
    """Makes secondary copies (`cli.server.copier`)."""

    async def __call__(
        self, table: TableRef, partition: Sequence[tuple[str, str]], source: str, target: str
    ) -> str:
        """One line on what was done. Raises CausewayError; ends its work when cancelled."""
        ...


class _Abandoned(Exception):
    """The client cancelled before a cluster heard of the statement."""


class Statement:
    """Runs one ExecuteStatement to its end; the operation tells the client."""

    def __init__(
        self,
        session: Session,
        operation: Operation,
        request: ExecuteStatement,
        router: StatementRouter,
        copier: Copier | None = None,
        linger: float = DEFAULT.linger,
    ) -> None:
        self._linger = linger
        self._asked = False  # whether a cluster may have heard of it
        self._claim: Mapping[str, str] = {}  # what goes along in the statement's overlay
        self._open: list[Any] = []  # tokens of writes that may not have ended quite yet
        self._lost: tuple[Any, Remote | None] = (None, None)  # a write of which nobody knows
        self._copier = copier
        self._session = session
        self._operation = operation
        self._request = request
        self._router = router

    async def run(self, told: Callable[[], object]) -> None:
        """Never raises but on cancellation. `told` is called when the operation is at an end; what
        is left then is to see to its writes, which may take minutes where a cluster is lost."""
        try:
            try:
                await self._run_or_fail()
                await asyncio.sleep(0)  # who waits for its end goes first
            finally:
                told()
            self._operation.working = False
            if self._operation.closed:
                close_remote(self._operation)
            await self._find_out()
            if self._open:
                await asyncio.sleep(self._linger)
        finally:
            for token in self._open:
                await self._close_write(token)

    async def _find_out(self) -> None:
        """How a write ended whose cluster was lost. Nobody waits: its client has been told."""
        token, remote = self._lost
        if remote is not None and await settle(remote):
            _log.warning("a write whose end was not known has ended: %r", token)
            self._open.append(token)

    async def _run_or_fail(self) -> None:
        try:
            await self._run()
        except _Abandoned:
            pass
        except Rejected as error:
            self._operation.fail(error.failure)
        except CausewayError as error:
            self._operation.fail(failure_of(error))
        except asyncio.CancelledError:
            self._operation.cancel()
            raise
        except Exception:
            self._operation.fail(failure_of(internal_error(_log, "running a statement")))

    async def _run(self) -> None:
        if self._session.through is not None:
            decision = RunIn(self._session.through.name, "DC-N1", "no cluster is configured")
            await self._run_in(decision.cluster, Routed(_NOT_LOOKED_AT, decision, {}, {}))
            return
        state = self._session.state
        sql = self._request.statement
        command = await self._router.command(sql, state)
        if command is not None:
            self._answer(await self._command(command))
            return
        record = self._operation.record
        statement = await self._router.analyse(sql, state)
        record.what = statement
        record.mark("analyse")
        if isinstance(statement, Known):
            check_statement(statement, state.restrictions)
            if is_ignored(statement, state.restrictions):
                self._answer(settings.answer(statement.changes))
                return
        if isinstance(statement, Known) and statement.changes is not None:
            state.check(statement.changes, sql)
            answer = await self._session_statement(statement)
            if answer is not None:
                self._answer(answer)
                return
        routed = await self._decide(statement)
        for again in range(_DECISIONS - 1, -1, -1):
            try:
                await self._carry_out(routed, may_decide_again=again > 0)
                break
            except Outdated:
                routed = await self._decide()

    async def _decide(self, statement: Known | Unknown | None = None) -> Routed:
        record = self._operation.record
        routed = await self._router.decide(self._request.statement, self._session.state, statement)
        record.what, record.rule = routed.statement, routed.decision.rule
        record.mark("decide")
        return routed

    async def _carry_out(self, routed: Routed, may_decide_again: bool) -> None:
        """Raises Outdated when a table changed after the decision and nothing has run."""
        state = self._session.state
        match routed.decision:
            case RunIn(cluster, _, _):
                check_statement(routed.statement, state.restrictions)
                await self._run_in(cluster, routed, may_decide_again)
            case Refuse(code, sqlstate, _, because, hint):
                if isinstance(routed.statement, Unknown):
                    failure = await spark_error(
                        self._session, self._request.statement, routed.statement
                    )
                    if failure is not None:
                        self._operation.fail(failure)
                        return
                number = int(code.removeprefix("CW"))
                raise Rejected(Failure(f"[{code}] {because} {hint}".rstrip(), sqlstate, number))
            case Answer():
                self._answer(NO_ROWS)

    def _answer(self, table: Table) -> None:
        self._operation.result = Local(table)
        self._operation.becomes(OperationState.FINISHED)

    async def _command(self, command: cluster_statements.ClusterCommand) -> Table:
        state = self._session.state
        match command:
            case UseCluster(name):
                return commands.use_cluster(state, name)
            case ResetCluster():
                return commands.reset_cluster(state)
            case ShowClusters():
                return commands.show_clusters(state, self._router.health.is_checked)
            case ShowCurrentCluster():
                return commands.show_current_cluster(state)
            case ExplainCluster(statement):
                if await self._router.command(statement, state) is not None:
                    own = Answer("DC-U1", "the statement is Causeway's own")
                    return commands.explain(report(None, own, {}))
                routed = await self._router.decide(statement, state)
                if isinstance(routed.decision, RunIn):
                    check_statement(routed.statement, state.restrictions)
                return commands.explain(report(routed.statement, routed.decision, routed.facts))
            case CopyTable():
                return await self._copy(command)

    async def _copy(self, command: CopyTable) -> Table:
        """DC-P1: a secondary copy, made while the client waits."""
        if self._copier is None:
            raise NotUnderstoodCommand("This proxy makes no copies: use `causeway copy`.")
        ref = command.ref(self._session.state.namespace().database)
        told = await self._copier(ref, command.partition, command.source, command.target)
        self._router.snapshot.invalidate([ref])
        return Table(("result",), ((told,),))

    async def _session_statement(self, statement: Known) -> Table | None:
        """The answer to what changes the session and needs no cluster; None: ask one."""
        state = self._session.state
        match statement.changes:
            case UseDatabase(database):
                if not await self._router.database_exists(database):
                    raise Rejected(settings.no_such_database(database))
                table = NO_ROWS
            case SetVariable(key, value) if settings.is_ours(key):
                return settings.change(state, key, value)
            case _:
                return None
        sql = self._request.statement
        state.apply(statement.changes, sql, None, state.journal.reserve())
        return table

    async def _run_in(
        self, cluster: ClusterName, routed: Routed, may_decide_again: bool = False
    ) -> None:
        self._operation.record.cluster = cluster
        for attempt in range(1, _ATTEMPTS + 1):
            self._asked = False
            try:
                await self._attempt(cluster, routed, may_decide_again)
                return
            except ClusterLost as error:
                if attempt == _ATTEMPTS or not self._may_repeat(error):
                    raise

    def _may_repeat(self, error: ClusterLost) -> bool:
        """Whether the statement certainly did not start, so that another session may run it."""
        if self._session.through is not None:
            return False
        refused = isinstance(error, SessionGone) and self._operation.result is None
        return refused or not self._asked

    async def _attempt(self, cluster: ClusterName, routed: Routed, may_decide_again: bool) -> None:
        statement = routed.statement
        self._go_on()
        upstream = await self._session.upstream(cluster)
        upstream.replay.check(statement)
        number = self._session.state.journal.reserve()
        if isinstance(statement, Known) and upstream.replay.lacks(statement.changes):
            self._apply(upstream, statement, number)
            self._answer(NO_ROWS)
            return
        await upstream.replay.refresh(routed.versions)
        self._operation.record.mark("connect")
        self._go_on()
        writes: Sequence[Write] = ()
        if isinstance(statement, Known) and not statement.explain:
            writes = statement.writes
        targets = self._router.write_targets(writes)
        token = await self._router.loader.open_write(targets) if targets else None
        self._claim = overlay(upstream, routed, self._router.settings.coverage, targets, token)
        end: Status | None = None
        try:
            at_once = isinstance(statement, Known) and statement.constant and not statement.explain
            status = await self._execute(upstream, token, at_once)
            statement = await _with_zone(upstream, statement, status)
            end = status
            self._operation.record.mark("execute")
        except Rejected as error:
            if self._operation.result is None:
                end = Status(OperationState.ERROR, error.failure)  # it never began
            raise
        finally:
            self._router.snapshot.invalidate(each.table for each in writes)
            self._take_effect(upstream, statement, number, end)
        if may_decide_again and self._claim and is_outdated(status):
            self._decide_again(upstream, routed)
        if status.state is OperationState.FINISHED:
            for table in _created(writes):
                await self._router.loader.claim(table, upstream.cluster)
        self._operation.becomes(status.state, status.failure)
        result = self._operation.result
        if status.state is OperationState.FINISHED and isinstance(result, Remote):
            asyncio.get_running_loop().call_soon(_ask_schema, result)

    def _decide_again(self, upstream: UpstreamSession, routed: Routed) -> None:
        """Raises Outdated, with all forgotten that the decision and the cluster knew."""
        self._router.snapshot.invalidate(routed.versions)
        upstream.replay.forget_files(routed.versions)
        result, self._operation.result = self._operation.result, None
        if isinstance(result, Remote):
            result.reader.stop()
            upstream.close_operation(result.operation)
        raise Outdated

    def _go_on(self) -> None:
        if self._operation.cancelled:
            raise _Abandoned

    async def _execute(self, upstream: UpstreamSession, token: Any, at_once: bool) -> Status:
        """Runs the statement; closes the write of `token` once it is certain that it ended.

        A cluster says that a statement is cancelled while the thread that ran it may still be at
        its last step: then the write stays open a little longer.
        """
        remote: Remote | None = None
        ended = settled = False
        try:
            if at_once and (status := await self._execute_at_once(upstream)) is not None:
                return status
            remote = self._keep(upstream, await self._start(upstream))
            if self._operation.cancelled:
                await cancel_remote(remote)
            elif self._operation.state is OperationState.PENDING:  # else it is decided again
                self._operation.becomes(OperationState.RUNNING)
            status = await remote.upstream.end_of(remote.operation)
            settled = True
            ended = status.state in (OperationState.FINISHED, OperationState.ERROR)
            return status
        except (Rejected, SessionGone):
            ended = remote is None  # the cluster said no
            raise
        finally:
            if token is not None:
                if ended:
                    await self._close_write(token)
                elif settled:
                    self._open.append(token)
                else:
                    _log.warning("the end of a write is not known; copies stay unread: %r", token)
                    self._lost = (token, remote)

    async def _start(self, upstream: UpstreamSession) -> RemoteOperation:
        request = self._request
        return await upstream.execute(request.statement, self._sent_to(upstream), request.timeout)

    async def _execute_at_once(self, upstream: UpstreamSession) -> Status | None:
        """The end of a statement that ends at once, in one call. None when the cluster refuses it:
        the error that a client gets is that of an asynchronous call."""
        if self._request.timeout:
            return None
        if self._operation.state is OperationState.PENDING:
            self._operation.becomes(OperationState.RUNNING)
        try:
            sent = self._sent_to(upstream)
            started = await upstream.execute_to_end(self._request.statement, sent)
        except Rejected:
            return None
        self._keep(upstream, started)
        return Status(OperationState.FINISHED)

    def _sent_to(self, upstream: UpstreamSession) -> Mapping[str, str]:
        """The overlay of the statement, which the cluster hears of now. Raises SessionGone."""
        if not upstream.alive:
            raise SessionGone(f"The connection to cluster {upstream.cluster} broke.")
        self._asked = True
        return {**self._request.overlay, **self._claim}

    def _keep(self, upstream: UpstreamSession, started: RemoteOperation) -> Remote:
        remote = Remote.of(upstream, started, self._session.through is None)
        self._operation.result = remote
        return remote

    async def _close_write(self, token: Any) -> None:
        try:
            await self._router.loader.close_write(token)
        except CausewayError as error:
            _log.warning("a write ended, its mark stays and its copies unread: %s", error)

    def _take_effect(
        self, upstream: UpstreamSession, statement: Known | Unknown, number: int, end: Status | None
    ) -> None:
        """What the statement did to the session when it ended so; None: how is not known."""
        if isinstance(statement, Known) and statement.kind == "refresh":
            self._session.refreshed((read.table for read in statement.reads), upstream)
        if not isinstance(statement, Known) or statement.changes is None:
            return
        if isinstance(statement.changes, ChangeFunction):
            upstream.replay.function_changed(statement.changes.database, statement.changes.name)
        if end is not None and end.state is OperationState.FINISHED:
            self._apply(upstream, statement, number)
        elif end is None or end.state is not OperationState.ERROR:
            upstream.drop()  # it may or may not have happened there
        elif (failed := after_error(statement.changes, end.failure)) is not None:
            self._apply(upstream, replace(statement, effect=failed), number)

    def _apply(self, upstream: UpstreamSession, statement: Known, number: int) -> None:
        """The statement did what it does to the session."""
        if statement.changes is not None:
            sql = self._request.statement
            upstream.replay.applied(number, statement.changes)
            self._session.state.apply(
                statement.changes, sql, upstream.cluster, number, statement.temps
            )


async def _with_zone(
    upstream: UpstreamSession, statement: Known | Unknown, status: Status
) -> Known | Unknown:
    """The statement with the time zone that it left to the server, as the server has it now.

    Raises ClusterLost when the server does not say which zone SET made it.
    """
    if not isinstance(statement, Known) or status.state is not OperationState.FINISHED:
        return statement
    if not is_left_to_server(statement.changes):
        return statement
    zone = await upstream.read_zone()
    if zone is None:
        if isinstance(statement.changes, ResetVariables):
            return statement
        raise ClusterLost(f"Cluster {upstream.cluster} does not say which time zone it has set.")
    return replace(statement, effect=with_zone(statement.effect, zone))


def _created(writes: Sequence[Write]) -> list[TableRef]:
    return [write.table for write in writes if not write.exists and write.action is not Action.VIEW]


def _ask_schema(remote: Remote) -> None:
    """Asks for the schema of a statement that ended, before its client does.

    Not before the end: a Thrift Server that is asked too early makes up a column `Result` and
    remembers it. Nor before the client has heard of the end.
    """
    remote.upstream.ask(remote.ask_schema())
