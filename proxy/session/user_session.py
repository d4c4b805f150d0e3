"""A user's session in the server: its state, its sessions in clusters and its operations."""

import asyncio
import time
from collections.abc import Iterable

from conf.names import ClusterName, TableRef
from conf.settings.names import TIME_ZONE
from conf.topology import Cluster, Endpoint
from dialect.statement import SetVariable
from proxy.errors import ClusterDown, ClusterLost
from proxy.limits import Limits
from proxy.protocol.requests import Handle
from proxy.session.operation import Operation
from proxy.session.replay.cluster_session import ClusterSession
from proxy.session.replay.function_changes import FunctionChanges
from proxy.session.replay.server_caches import ServerCaches
from proxy.session.replay.session_replay import SessionReplay, StaleSession
from proxy.session.session import DEFAULT_DATABASE, USE_DATABASE, SessionState
from proxy.session.settings.time_zone import FIRST, setting_zone
from proxy.upstream.remote_result import RemoteResult
from proxy.upstream.upstream_pool import UpstreamPool

_CLOSED_THERE = "The Thrift Server closed the session; open another one."


class UserSession:
    """A user's session, with at most one session in each cluster. `close` ends all of them.

    - `sole_server`: the server for all statements, not analysed, while no cluster is configured
      (DC-N1);
    - `address`: the client's address; `by`: the user whom the client authenticated as, who may act
      for `state.user`; `application`: the client's name for itself (SetClientInfo);
    - `opened`: Unix time; `used`: the event loop's time of the last call; `open_calls`: the number
      of calls that are being answered.
    """

    def __init__(
        self,
        handle: Handle,
        state: SessionState,
        pool: UpstreamPool,
        sole_server: Cluster | None = None,
        address: str = "",
        by: str = "",
        functions: FunctionChanges | None = None,
        caches: ServerCaches | None = None,
    ) -> None:
        self.address = address
        self.by = by or state.user
        self.application = ""
        self.opened = time.time()
        self.used = asyncio.get_running_loop().time()
        self.open_calls = 0
        self.handle = handle
        self.state = state
        self.sole_server = sole_server
        self._chose_zone = TIME_ZONE in state.variables
        self._zone: str | None = None  # the time zone of its first session in a cluster
        self.operations: dict[bytes, Operation] = {}
        self._pool = pool
        self._functions = functions or FunctionChanges()
        self._caches = caches or ServerCaches()
        self._upstreams: dict[ClusterName, ClusterSession] = {}
        self._opening: dict[ClusterName, asyncio.Lock] = {}
        self._closed = False

    @property
    def answering(self) -> "_OpenCall":
        """A context manager for the time in which one call is answered."""
        return _OpenCall(self)

    async def upstream(self, cluster: ClusterName) -> ClusterSession:
        """The session in the cluster: opened if needed, with all changes repeated there.

        Raises ClusterDown, ClusterLost, LimitReached, StateNotRepeated, ClusterWithoutMetastore,
        ThriftServerError.
        """
        async with self._opening.setdefault(cluster, asyncio.Lock()):
            upstream = self._upstreams.get(cluster)
            if upstream is not None and self._chose_away(upstream):
                await upstream.close()
            if upstream is not None and upstream.alive and self._may_leave(upstream):
                upstream.drop()
            if upstream is not None and not upstream.alive and self.sole_server is not None:
                raise ClusterLost(_CLOSED_THERE)
            if upstream is None or not upstream.alive:
                if upstream is not None:
                    self._pool.health.forget_checked(upstream.endpoint)
                upstream = await self._open(cluster)
        try:
            await upstream.replay.catch_up()
        except StaleSession:
            upstream.drop()
            return await self.upstream(cluster)
        return upstream

    def check_usable(self) -> None:
        """Raises ClusterDown if all clusters that the session may use are known to be down, and
        ClusterLost if the sole server closed its session. Does no I/O."""
        if self.sole_server is not None:
            upstream = self._upstreams.get(self.sole_server.name)
            if upstream is not None and not upstream.alive:
                raise ClusterLost(_CLOSED_THERE)
            return
        pinned = self.state.pinned
        names = list(self.state.topology.clusters) if pinned is None else [pinned]
        if all(self._is_down(name) for name in names):
            raise ClusterDown(f"Cluster {' and cluster '.join(names)} is down.")

    def _is_down(self, cluster: ClusterName) -> bool:
        """Whether the session's endpoint in the cluster is known to be down, and no other endpoint
        there takes a new session."""
        health, upstream = self._pool.health, self._upstreams.get(cluster)
        if upstream is None or not upstream.alive:
            return health.is_down(self._where(cluster))
        is_up = health.condition(upstream.endpoint).up is not False
        return not is_up and health.is_down(self._where(cluster))

    def open_upstream(self, cluster: ClusterName) -> ClusterSession | None:
        """The session in the cluster; None: it is not open."""
        upstream = self._upstreams.get(cluster)
        return upstream if upstream is not None and upstream.alive else None

    def refreshed(self, tables: Iterable[TableRef], by: ClusterSession) -> None:
        """Has the sessions in other clusters refresh the tables, as the session `by` has done."""
        tables = tuple(tables)
        for upstream in self._upstreams.values():
            if upstream is not by:
                upstream.replay.forget_files(tables)

    async def _open(self, cluster: ClusterName) -> ClusterSession:
        upstream = await ClusterSession.open(
            self._pool,
            self._where(cluster),
            self.state.user,
            self.state.protocol,
            self.state.configuration,
            claims=self.sole_server is None,
            zone=self._needs_zone,
        )
        if self._closed:
            await upstream.close()
            raise ClusterDown("The session was closed.")
        upstream.replay = SessionReplay(
            cluster,
            upstream.endpoint,
            self.state.journal,
            self._functions,
            upstream.run,
            self.state.configuration.get(USE_DATABASE, DEFAULT_DATABASE).lower(),
            self._caches,
        )
        self._keep_zone(upstream)
        self._upstreams[cluster] = upstream
        return upstream

    @property
    def _needs_zone(self) -> bool:
        """Whether the session's time zone is the default of its first cluster."""
        return self.sole_server is None and not self._chose_zone

    def _keep_zone(self, upstream: ClusterSession) -> None:
        """Makes the time zone of the first cluster that of the session in all clusters."""
        if upstream.zone is None:
            return
        effect = SetVariable(TIME_ZONE, upstream.zone)
        if not self._upstreams:
            self._zone = upstream.zone
            self.state.journal.record(FIRST, setting_zone(upstream.zone), effect)
        if upstream.zone == self._zone:
            upstream.replay.applied(FIRST, effect)

    def _chose_away(self, upstream: ClusterSession) -> bool:
        """Whether the user has chosen other endpoints meanwhile, by SET hive.cluster.properties.

        The session stays at an endpoint that the operator has removed from the settings.
        """
        configured = self.state.configured.clusters.get(upstream.cluster)
        return (
            upstream.endpoint not in self._where(upstream.cluster).hs2
            and configured is not None
            and upstream.endpoint in configured.hs2
        )

    def _may_leave(self, upstream: ClusterSession) -> bool:
        """Whether the session in the cluster may be opened again at another endpoint: its own is
        down, another one is up, and it has no temporary objects or results that would be lost."""
        if self.sole_server is not None or upstream.cluster in self.state.objects.homes().values():
            return False
        if not self._pool.health.is_better_elsewhere(
            self._where(upstream.cluster), upstream.endpoint
        ):
            return False
        results = (each.result for each in self.operations.values())
        return not any(
            isinstance(each, RemoteResult) and each.upstream is upstream for each in results
        )

    def _where(self, cluster: ClusterName) -> Cluster:
        where = self.sole_server or self.state.topology.clusters.get(cluster)
        if where is None or self._closed:
            raise ClusterDown(f"There is no cluster {cluster} in this session.")
        return where

    def touch(self) -> None:
        """Sets the time of the last call."""
        self.used = asyncio.get_running_loop().time()

    def is_idle(self, since: float, running_counts: bool) -> bool:
        """Whether no call came since the time `since`, and, with `running_counts`, no operation
        runs."""
        if self.used > since or self.open_calls:
            return False
        return not (running_counts and any(not each.ended for each in self.operations.values()))

    def upstreams(self) -> dict[ClusterName, Endpoint]:
        """The endpoints of its open sessions, by cluster."""
        return {
            name: upstream.endpoint for name, upstream in self._upstreams.items() if upstream.alive
        }

    async def close(self, limits: Limits) -> None:
        """Cancels the running operations, waits for them for `limits.close` seconds, and closes the
        sessions in all clusters."""
        self._closed = True
        running = list(self.operations.values())
        self.operations.clear()
        for operation in running:
            if isinstance(operation.result, RemoteResult):
                operation.result.reader.stop()
        if running:
            await asyncio.gather(*(operation.cancel() for operation in running))
        tasks = [each.task for each in running if each.task is not None and each.working]
        if tasks:
            await asyncio.wait(tasks, timeout=limits.close)
        upstreams, self._upstreams = list(self._upstreams.values()), {}
        if upstreams:
            await asyncio.gather(*(upstream.close() for upstream in upstreams))


class _OpenCall:
    """Counts a call while it is answered, so that its session is not idle: a cluster or a client
    may be slow."""

    def __init__(self, session: UserSession) -> None:
        self._session = session

    def __enter__(self) -> None:
        self._session.open_calls += 1
        self._session.touch()

    def __exit__(self, *exc: object) -> None:
        self._session.open_calls -= 1
        self._session.touch()
