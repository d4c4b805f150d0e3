"""A session as the server keeps it: its state, its sessions in clusters and its operations."""

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
    """`close` ends everything that the session has anywhere.

    `through` is where all of it goes, unlooked at, while no cluster is configured (DC-N1).
    `address` is its client's, `by` who that proved to be; `opened` Unix time, `used` the loop's
    time of its last call; `application` is the name that its client gave itself (SetClientInfo).
    """

    def __init__(
        self,
        handle: Handle,
        state: SessionState,
        pool: UpstreamPool,
        through: Cluster | None = None,
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
        self.open_calls = 0  # calls that are being answered
        self.handle = handle
        self.state = state
        self.through = through
        self._chose_zone = TIME_ZONE in state.variables
        self._zone: str | None = None  # with which it began in its first cluster
        self.operations: dict[bytes, Operation] = {}
        self._pool = pool
        self._functions = functions or FunctionChanges()
        self._caches = caches or ServerCaches()
        self._upstreams: dict[ClusterName, ClusterSession] = {}
        self._opening: dict[ClusterName, asyncio.Lock] = {}
        self._closed = False

    @property
    def answering(self) -> "_OpenCall":
        """The context in which a call is answered."""
        return _OpenCall(self)

    async def upstream(self, cluster: ClusterName) -> ClusterSession:
        """The session in that cluster, opened and caught up.

        Raises ClusterDown, ClusterLost, LimitReached, StateNotRepeated, ClusterWithoutMetastore,
        Rejected.
        """
        async with self._opening.setdefault(cluster, asyncio.Lock()):
            upstream = self._upstreams.get(cluster)
            if upstream is not None and self._chose_away(upstream):
                await upstream.close()
            if upstream is not None and upstream.alive and self._may_leave(upstream):
                upstream.drop()
            if upstream is not None and not upstream.alive and self.through is not None:
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
        """Raises ClusterDown or ClusterLost where no statement of the session can run: all clusters
        that it may use are known to be down, or the server of `through` closed its session. Reads
        what is known already and asks no cluster."""
        if self.through is not None:
            upstream = self._upstreams.get(self.through.name)
            if upstream is not None and not upstream.alive:
                raise ClusterLost(_CLOSED_THERE)
            return
        pinned = self.state.pinned
        names = list(self.state.topology.clusters) if pinned is None else [pinned]
        if all(self._is_down(name) for name in names):
            raise ClusterDown(f"Cluster {' and cluster '.join(names)} is down.")

    def _is_down(self, cluster: ClusterName) -> bool:
        """Whether the session there cannot go on and no other can be opened, as far as is known."""
        health, upstream = self._pool.health, self._upstreams.get(cluster)
        if upstream is None or not upstream.alive:
            return health.is_down(self._where(cluster))
        is_up = health.condition(upstream.endpoint).up is not False
        return not is_up and health.is_down(self._where(cluster))

    def open_upstream(self, cluster: ClusterName) -> ClusterSession | None:
        """The session in that cluster, if it is open."""
        upstream = self._upstreams.get(cluster)
        return upstream if upstream is not None and upstream.alive else None

    def refreshed(self, tables: Iterable[TableRef], by: ClusterSession) -> None:
        """A statement in the session `by` refreshed what Spark remembers of the tables."""
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
            claims=self.through is None,
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
        """Whether its clusters have a say in its time zone."""
        return self.through is None and not self._chose_zone

    def _keep_zone(self, upstream: ClusterSession) -> None:
        """The time zone of its first cluster is that of the session in all clusters."""
        if upstream.zone is None:
            return
        effect = SetVariable(TIME_ZONE, upstream.zone)
        if not self._upstreams:
            self._zone = upstream.zone
            self.state.journal.record(FIRST, setting_zone(upstream.zone), effect)
        if upstream.zone == self._zone:
            upstream.replay.applied(FIRST, effect)

    def _chose_away(self, upstream: ClusterSession) -> bool:
        """Whether the session chose other endpoints since, with SET hive.cluster.properties.

        An endpoint that the operator took away keeps the sessions that it has.
        """
        configured = self.state.configured.clusters.get(upstream.cluster)
        return (
            upstream.endpoint not in self._where(upstream.cluster).hs2
            and configured is not None
            and upstream.endpoint in configured.hs2
        )

    def _may_leave(self, upstream: ClusterSession) -> bool:
        """Whether the session's endpoint is down, another is up, and nothing would be lost."""
        if self.through is not None or upstream.cluster in self.state.objects.homes().values():
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
        where = self.through or self.state.topology.clusters.get(cluster)
        if where is None or self._closed:
            raise ClusterDown(f"There is no cluster {cluster} in this session.")
        return where

    def touch(self) -> None:
        """Its client asked for something."""
        self.used = asyncio.get_running_loop().time()

    def is_idle(self, since: float, running_counts: bool) -> bool:
        """Whether nothing was asked since then and, if that counts, nothing runs."""
        if self.used > since or self.open_calls:
            return False
        return not (running_counts and any(not each.ended for each in self.operations.values()))

    def upstreams(self) -> dict[ClusterName, Endpoint]:
        """Where it has a session of the cluster's."""
        return {
            name: upstream.endpoint for name, upstream in self._upstreams.items() if upstream.alive
        }

    async def close(self, limits: Limits) -> None:
        """Cancels what runs, waits a little for it, and closes every cluster's session."""
        self._closed = True
        running = list(self.operations.values())
        self.operations.clear()
        for operation in running:
            if isinstance(operation.result, RemoteResult):
                operation.result.reader.stop()
        if running:  # most have closed theirs
            await asyncio.gather(*(operation.cancel() for operation in running))
        tasks = [each.task for each in running if each.task is not None and each.working]
        if tasks:
            await asyncio.wait(tasks, timeout=limits.close)
        upstreams, self._upstreams = list(self._upstreams.values()), {}
        if upstreams:  # none when nothing was asked of a cluster
            await asyncio.gather(*(upstream.close() for upstream in upstreams))


class _OpenCall:
    """While a call is answered, slowly by its cluster or to a slow client, it is not idle."""

    def __init__(self, session: UserSession) -> None:
        self._session = session

    def __enter__(self) -> None:
        self._session.open_calls += 1
        self._session.touch()

    def __exit__(self, *exc: object) -> None:
        self._session.open_calls -= 1
        self._session.touch()
