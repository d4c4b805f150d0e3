"""The state that all connections of the server share: sessions, operations, quotas, the pool."""

import asyncio
from contextlib import suppress
from dataclasses import dataclass

from conf.errors import CausewayError
from conf.logs.log_fields import add_log_fields, with_log_fields
from conf.names import ClusterName
from conf.settings.settings import Settings
from conf.topology import Cluster
from proxy.catalog.catalog_statements_runner import CatalogStatements
from proxy.catalog.cluster_facts_runner import ClusterFacts
from proxy.catalog.metadata_runner import MetadataAnswers
from proxy.counters import LocalCounters
from proxy.errors import LimitReached, Stopping
from proxy.limits import Limits, with_quota
from proxy.operations.metrics import Metrics
from proxy.operations.observer import Observer
from proxy.protocol import replies
from proxy.protocol.cluster_calls import NO_SESSION, get_info_call
from proxy.protocol.status import failure_of
from proxy.server.admission import Admission
from proxy.server.peers import ALONE, Peers, WorkerGroup
from proxy.session.handles import Registry, new_handle
from proxy.session.operation import Operation, close_remote, nothing_runs
from proxy.session.quota import Bounds, Quota
from proxy.session.replay.function_changes import FunctionChanges
from proxy.session.replay.server_caches import ServerCaches
from proxy.session.user_session import UserSession
from proxy.statement.change_sizes import ChangeSizes
from proxy.statement.copies.allowance import Allowance
from proxy.statement.copies.copier import Copier
from proxy.statement.copies.fetcher import Fetcher
from proxy.statement.copies.running_copies import RunningCopies
from proxy.statement.running_writes.journal_store import WriteJournal
from proxy.statement.running_writes.recovery_runner import WriteRecovery
from proxy.statement.services import StatementServices
from proxy.statement.statement_limits import is_too_long, is_unread, stop_too_long
from proxy.statement.statement_places import StatementPlace, StatementPlaces
from proxy.statement.statement_router import StatementRouter
from proxy.statement.statement_runner import StatementRunner
from proxy.statement.write_queue.queue import WriteQueue
from proxy.statement.write_queue.queue_client import LocalPlaces, SharedPlaces
from proxy.upstream.credentials import CredentialsByCluster
from proxy.upstream.upstream_pool import UpstreamPool
from thriftcodec.values import Struct

_INFO_TIMEOUT = 1.0  # seconds for a cluster's answer to GetInfo


@dataclass(frozen=True, slots=True)
class OwnedOperation:
    """An operation with the session that it belongs to."""

    session: UserSession
    operation: Operation


class ServerState:
    """The sessions and operations of all clients, and the connections to all clusters.

    `sole_server` receives every statement if no cluster is configured (DC-N1); otherwise it is
    None.
    """

    def __init__(
        self,
        router: StatementRouter,
        limits: Limits,
        group: asyncio.TaskGroup,
        copier: Copier | None = None,
        observer: Observer | None = None,
        workers: WorkerGroup = ALONE,
        journal: WriteJournal | None = None,
        change_sizes: ChangeSizes | None = None,
    ) -> None:
        settings = router.settings
        self.topology = settings.topology
        self.sole_server = None if settings.topology.in_use else _upstream(settings)
        self.router = router
        self.group = group
        self.stopping = False
        self.admission = Admission()
        self.observer = observer or Observer(Metrics())
        self.metadata = MetadataAnswers(router.loader, router.health)
        copies = None if copier is None else RunningCopies(copier)
        self.identity = settings.identity
        upstream_login = settings.upstream_login if self.sole_server else None
        credentials = CredentialsByCluster(settings.logins, upstream_login)
        self.functions = workers.functions or FunctionChanges()
        self.caches = ServerCaches(workers.cached, workers.used_before)
        self.pool = UpstreamPool(
            limits, router.health, credentials, workers.counters, len(workers.sockets) or 1
        )
        self.peers = Peers(workers)
        places = SharedPlaces(workers.writes) if workers.writes else LocalPlaces(WriteQueue())
        recovery = WriteRecovery(journal or WriteJournal(), router.loader, self.pool, group)
        self.services = StatementServices(
            router,
            write_places=places,
            write_recovery=recovery,
            catalog_answers=CatalogStatements(router.loader, ClusterFacts()),
            copier=copies,
            fetcher=_fetcher(copies, settings, workers),
            history=self.observer.history,
            change_sizes=change_sizes,
        )
        self._session_quota = Quota("sessions", Bounds(), workers.counters)
        self.statements = StatementPlaces(workers.counters)
        self._info: dict[tuple[ClusterName, int], Struct] = {}
        self.sessions: Registry[UserSession] = Registry("sessions", 0)
        self.operations: Registry[OwnedOperation] = Registry(
            "operations", limits.operations_per_user
        )
        self.apply_limits(limits)

    def apply_limits(self, limits: Limits) -> None:
        """Applies these limits. No open session or running statement is ended."""
        self.limits = self.pool.limits = limits
        self._session_quota.bounds = Bounds(
            limits.sessions_per_user, limits.sessions_per_address, limits.sessions_per_user_address
        )
        self.statements.bound(Bounds(limits.statements_per_user, limits.statements_per_address))

    def reconfigure(self, settings: Settings, limits: Limits) -> None:
        """Applies these settings, also to open sessions."""
        self.router.reconfigure(settings)
        self.topology = settings.topology
        self.apply_limits(limits)
        self.pool.health.keep(each for cluster in self.clusters() for each in cluster.hs2)
        for session in self.sessions.items():
            session.state.reconfigured(settings.topology, settings.restrictions)
            session.state.access = self.router.access.of(session.state.user)

    @property
    def running(self) -> int:
        """The number of statements that wait or run, here or only in their clusters."""
        return len(self.statements)

    def check_not_stopping(self) -> None:
        """Raises Stopping if the server accepts no new work."""
        if self.stopping:
            raise Stopping

    def admit(self, session: UserSession, owner: str) -> None:
        """Adds a session, whose handle `owner` may use.

        Raises LimitReached, Stopping, UserBlocked.
        """
        self.check_not_stopping()
        self.admission.check_users(session.state.user, session.by)
        self._take(self._session_quota, session, "session")
        self.sessions.add(session.handle, owner, session)

    def begin(self, session: UserSession, statement: StatementRunner, operation: Operation) -> None:
        """Starts a task that runs the statement. Raises LimitReached, Stopping, InMaintenance."""
        self.check_not_stopping()
        self.admission.check_statement()
        place = self._take_statement(session)
        operation.working = True
        operation.task = self.group.create_task(self._run(statement, operation, place))

    def _take_statement(self, session: UserSession) -> StatementPlace:
        """A place for one more statement of the session. Raises LimitReached."""
        user, priority = session.state.user, session.state.priority
        quota = self.router.access.quota_of(user)
        try:
            return self.statements.take(user, session.address, session.handle, quota, priority)
        except LimitReached:
            self.observer.metrics.count("causeway_refused_total", "statement")
            raise

    def limits_of(self, session: UserSession) -> Limits:
        """The limits of the session's statements, with its user's quota."""
        return with_quota(self.limits, self.router.access.quota_of(session.state.user))

    def _take(self, quota: Quota, session: UserSession, kind: str) -> None:
        try:
            quota.take(session.state.user, session.address)
        except LimitReached:
            self.observer.metrics.count("causeway_refused_total", kind)
            raise

    async def _run(
        self, statement: StatementRunner, operation: Operation, place: StatementPlace
    ) -> None:
        """Runs the statement when its turn comes, and reports its end to the observer."""
        record = operation.record
        add_log_fields(session=record.session, statement=record.statement, user=record.user)
        try:
            if place.has_turn or await self._has_turn(place, operation):
                await statement.run(lambda: self.observer.ended(operation))
        finally:
            place.leave()

    async def _has_turn(self, place: StatementPlace, operation: Operation) -> bool:
        """Waits for the statement's place; returns whether the statement may run then. It may not
        if it was stopped in the meantime, or if Causeway begins no more statements."""
        operation.stop, operation.waits = place.stop, True
        try:
            await place.turn(operation.log_line)
            if not operation.cancelled:
                self.check_not_stopping()
                self.admission.check_statement()
        except CausewayError as error:
            await operation.end(failure_of(error))
        except asyncio.CancelledError:
            operation.fail(failure_of(Stopping()))
            raise
        finally:
            operation.stop, operation.waits = nothing_runs, False
            operation.began = asyncio.get_running_loop().time()
            if operation.ended:
                operation.working = False
                self.observer.ended(operation)
        operation.record.mark("queue")
        return not operation.ended

    def new_operation(self, session: UserSession, owner: str, kind: int) -> Operation:
        """A new operation of the session, whose handle `owner` may use. Raises LimitReached."""
        operation = Operation(new_handle(self.peers.number), kind)
        self.operations.add(operation.handle, owner, OwnedOperation(session, operation))
        session.operations[operation.handle.guid] = operation
        return operation

    def clusters(self) -> list[Cluster]:
        """The clusters to which statements may be sent."""
        return [self.sole_server] if self.sole_server else list(self.topology.clusters.values())

    async def cluster_info(self, kind: int, session: UserSession) -> Struct | None:
        """The cached reply of the default cluster to GetInfo, or of another cluster while that one
        is down (D11); None if the cluster does not answer."""
        health, topology = self.pool.health, self.topology
        cluster = self.sole_server or topology.clusters[health.first_up(topology)]
        if (cluster.name, kind) not in self._info:
            with suppress(CausewayError, TimeoutError):
                async with asyncio.timeout(_INFO_TIMEOUT):
                    reply = await self._get_info(kind, session, cluster)
                if replies.result_failure(reply) is None:
                    self._info[cluster.name, kind] = reply
        return self._info.get((cluster.name, kind))

    async def any_cluster_answers(self, kind: int, session: UserSession) -> bool:
        """Whether a cluster that the session may use answers GetInfo. This is called if the last
        health checks failed, since the next ones may be some seconds away."""
        clusters, pinned = self.topology.clusters, session.state.pinned
        for cluster in clusters.values() if pinned is None else [clusters[pinned]]:
            with suppress(CausewayError, TimeoutError):
                async with asyncio.timeout(_INFO_TIMEOUT):
                    await self._get_info(kind, session, cluster)
                return True
        return False

    async def _get_info(self, kind: int, session: UserSession, cluster: Cluster) -> Struct:
        """The cluster's reply to GetInfo.

        A Thrift Server needs no session for it. The `sole_server` may be another HiveServer2, so
        it receives the user's session. Raises ClusterDown, ClusterLost, LimitReached, WireError.
        """
        if self.sole_server is not None:
            upstream = await session.upstream(cluster.name)
            endpoint, remote = upstream.endpoint, upstream.session
        else:
            endpoint, remote = self.pool.health.choose(cluster, self.pool.load)[0], NO_SESSION
        async with self.pool.borrow(cluster.name, endpoint, session.state.user) as connection:
            request = get_info_call(remote, kind)
            data = await connection.call("GetInfo", request, _INFO_TIMEOUT)
        return replies.read_result(data, "GetInfo")

    def _remove(self, session: UserSession) -> None:
        if self.sessions.remove(session.handle):
            self._session_quota.give_back(session.state.user, session.address)
            self.observer.session_closed(session)
        for operation in session.operations.values():
            self.operations.remove(operation.handle)
            self.observer.closed(operation)

    async def close(self, session: UserSession) -> None:
        """Closes the session, here and in its clusters."""
        with with_log_fields(session=session.handle.guid.hex(), user=session.state.user):
            self._remove(session)
            await session.close(self.limits)

    async def close_operation(self, owned: OwnedOperation) -> None:
        """Ends the operation, and closes its result in the cluster."""
        operation = owned.operation
        self.operations.remove(operation.handle)
        owned.session.operations.pop(operation.handle.guid, None)
        self.observer.closed(operation)
        await operation.cancel()
        operation.closed = True
        if not operation.working:
            close_remote(operation)

    def close_idle(self) -> None:
        """Closes idle sessions, idle operations and results that are not read, and ends statements
        that run for too long."""
        limits, now = self.limits, asyncio.get_running_loop().time()
        count = self.observer.metrics.count
        if limits.idle_session:
            since = now - limits.idle_session
            for session in self.sessions.items():
                if session.is_idle(since, limits.idle_session_check):
                    count("causeway_idle_closed_total", "session")
                    self.group.create_task(self.close(session))
        for owned in self.operations.items():
            session_limits = self.limits_of(owned.session)
            if is_too_long(owned.operation, now, session_limits):
                count("causeway_stopped_total", "statement")
                self.group.create_task(stop_too_long(owned.operation, session_limits))
            elif is_unread(owned.operation, now, limits) and not owned.session.open_calls:
                count("causeway_idle_closed_total", "result")
                self.group.create_task(self.close_operation(owned))
        if limits.idle_operation:
            since = now - abs(limits.idle_operation)
            for owned in self.operations.items():
                if owned.session.open_calls:
                    continue
                if owned.operation.is_idle(since, limits.idle_operation < 0):
                    count("causeway_idle_closed_total", "operation")
                    self.group.create_task(self.close_operation(owned))


def _fetcher(copier: Copier | None, settings: Settings, workers: WorkerGroup) -> Fetcher | None:
    if copier is None:
        return None
    fetching, counters = settings.fetching, workers.counters or LocalCounters()
    return Fetcher(copier, fetching.keep, Allowance(fetching, counters), fetching.bandwidth)


def _upstream(settings: Settings) -> Cluster:
    return Cluster(ClusterName("upstream"), "", settings.upstream)
