"""The proxy's own sessions over models of two clusters: everything but the connections is real."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

import pytest

from conf.names import ClusterName, TableRef
from conf.partitions import Replicas, TableFacts
from conf.settings.names import TIME_ZONE
from conf.settings.settings import Settings
from conf.topology import Cluster, Endpoint, Topology
from proxy.errors import Failure, ThriftServerError
from proxy.limits import Limits
from proxy.protocol.cluster_calls import RemoteOperation
from proxy.protocol.replies import Status
from proxy.protocol.requests import ExecuteStatement
from proxy.protocol.types import OperationState, OperationType
from proxy.session import user_session as session_module
from proxy.session.handles import new_handle
from proxy.session.local_result import LocalResult
from proxy.session.operation import Operation
from proxy.session.replay.function_changes import FunctionChanges
from proxy.session.session import SessionState
from proxy.session.user_session import UserSession
from proxy.statement.services import StatementServices
from proxy.statement.statement_router import StatementRouter
from proxy.statement.statement_runner import StatementRunner
from proxy.statement.write_queue.queue import WriteQueue
from proxy.statement.write_queue.queue_client import LocalPlaces
from proxy.upstream.busy_servers import BusyServers
from proxy.upstream.upstream_pool import UpstreamPool
from tests.proxy.fakes import FakeMetastore
from tests.sessions.histories import Names
from tests.sessions.spark_model import SQLSTATES, Metastore, Rows, Server, SparkError, SparkSession
from thriftcodec.values import Struct

C1, C2 = ClusterName("c1"), ClusterName("c2")
BOTH = frozenset({C1, C2})
TOPOLOGY = Topology(
    {name: Cluster(name, f"hdfs://{name}", (Endpoint(str(name), 1),)) for name in (C1, C2)},
    C1,
)
HOMES = {"t1": {C1}, "t2": {C2}, "both": BOTH, "w": BOTH}


def metastore() -> Metastore:
    names = Names()
    full = [f"{database}.{name}" for database in names.databases for name in names.tables]
    tables: dict[str, Rows] = {name: ((name,),) for name in full}
    return Metastore(
        {**tables, "default.none": ()}, files={each: ((each,),) for each in names.folders}
    )


class Snapshot(FakeMetastore):
    def facts(self, ref: TableRef, selectors: object = None) -> TableFacts | None:
        if str(ref) not in self.primaries:
            return None
        primary, copies = self.primaries[str(ref)], HOMES.get(ref.name, BOTH)
        return TableFacts(Replicas(primary, frozenset(copies - {primary})))


class FakeUpstream:
    """A cluster's session, with a model instead of a connection."""

    def __init__(self, cluster: Cluster, spark: SparkSession) -> None:
        self.cluster = cluster.name
        self.endpoint = cluster.hs2[0]
        self.busy = BusyServers()
        self.alive, self.checked = True, False
        self.rows: Rows = ()
        self.failure: Failure | None = None
        chosen = TIME_ZONE in spark.settings
        self.zone = None if chosen else spark.server.zone
        self._spark = spark

    async def read_zone(self) -> str:
        return self._spark.zone()

    async def run(self, sql: str) -> Failure | None:
        try:
            self.rows, self.failure = self._spark.execute(sql), None
        except SparkError as error:
            self.failure = Failure(f"[{error.code}]", SQLSTATES.get(error.code))
        return self.failure

    async def execute(self, statement: str, *_: object, **__: object) -> RemoteOperation:
        await self.run(statement)
        return RemoteOperation(Struct())

    async def execute_to_end(self, statement: str, *_: object, **__: object) -> RemoteOperation:
        if (failure := await self.run(statement)) is not None:
            raise ThriftServerError(failure)
        return RemoteOperation(Struct())

    async def end_of(self, _: RemoteOperation) -> Status:
        if self.failure is None:
            return Status(OperationState.FINISHED)
        return Status(OperationState.ERROR, self.failure)

    def ask(self, *_: object) -> None: ...

    def drop(self) -> None:
        self.alive = False

    async def close(self) -> None:
        self.alive = False


class NoRecovery:
    """Replaces `WriteRecovery`: no write is lost here."""

    def begin(self, token: object, session: object) -> None: ...

    def end(self, mark: str) -> None: ...


@dataclass
class Proxied:
    """A session of the proxy over the models of two clusters."""

    opening: Mapping[str, str]
    store: Metastore = field(default_factory=metastore)
    functions: FunctionChanges = field(default_factory=FunctionChanges)

    def __post_init__(self) -> None:
        self.servers = {
            cluster: Server(
                self.store, frozenset(name for name, homes in HOMES.items() if cluster not in homes)
            )
            for cluster in (C1, C2)
        }
        self.upstreams: list[FakeUpstream] = []
        primaries = {name: C2 if name.endswith(".t2") else C1 for name in self.store.tables}
        snapshot = Snapshot(primaries, databases=set(self.store.databases))
        self.router = StatementRouter(Settings(TOPOLOGY, ()), snapshot, snapshot)
        self.state = SessionState.opened("ann", 5, self.opening, TOPOLOGY)
        self.session = UserSession(
            new_handle(), self.state, UpstreamPool(Limits()), functions=self.functions
        )

    def patch(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Has sessions in clusters opened in the models."""
        opener = type("Opener", (), {"open": staticmethod(self.open_upstream)})
        monkeypatch.setattr(session_module, "ClusterSession", opener)

    async def open_upstream(
        self, pool: UpstreamPool, cluster: Cluster, user: str, protocol: int,
        configuration: Mapping[str, str], **_: object,
    ) -> FakeUpstream:  # fmt: skip
        spark = SparkSession(self.servers[cluster.name], dict(configuration))
        upstream = FakeUpstream(cluster, spark)
        self.upstreams.append(upstream)
        return upstream

    def lose(self) -> None:
        """The connections to the clusters break, and with them the clusters' sessions."""
        for upstream in self.upstreams:
            upstream.drop()

    async def execute(self, sql: str) -> Rows | str:
        """The statement's rows, or the code of its error."""
        operation = Operation(new_handle(), OperationType.EXECUTE_STATEMENT)
        request = ExecuteStatement(self.session.handle, sql, {}, False, 0)
        services = StatementServices(self.router, LocalPlaces(WriteQueue()), NoRecovery())
        limits = Limits(linger=0)
        runner = StatementRunner(self.session, operation, request, services, limits)
        await runner.run(lambda: None)
        failure = operation.status.failure
        if failure is not None:
            return code_of(failure.message)
        assert operation.state is OperationState.FINISHED, operation.state
        if not operation.record.cluster or isinstance(operation.result, LocalResult):
            return ()
        return self.upstreams_of(operation).rows

    def upstreams_of(self, operation: Operation) -> FakeUpstream:
        return next(
            each for each in reversed(self.upstreams) if each.cluster == operation.record.cluster
        )


def code_of(message: str) -> str:
    found = re.search(r"\[([A-Z_][\w.]*)\]", message)
    return message if found is None else found[1]


def plain(session: SparkSession, sql: str) -> Rows | str:
    try:
        return session.execute(sql)
    except SparkError as error:
        return error.code
