"""The proxy before two fake clusters, with a fake metastore, in one event loop."""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

import uvloop

from conf.access.rules import AccessRules
from conf.catalog.tables import NotLoaded, TableInfo, TableKind, ViewText
from conf.copies import TableCopies
from conf.names import ClusterName, TableRef
from conf.partitions import Replicas, TableFacts
from conf.placement import Placement
from conf.settings.security.access import AccessSettings
from conf.settings.security.authentication import Identity
from conf.settings.security.restrictions import SessionRestrictions
from conf.settings.security.transports import Transport, Transports
from conf.settings.security.upstream_auth import Login
from conf.settings.settings import ClusterChoice, Settings
from conf.topology import Cluster, Endpoint, Topology
from proxy.auth.authenticator import Authenticator
from proxy.limits import Limits
from proxy.protocol import replies
from proxy.protocol.framing import client_negotiation
from proxy.protocol.messages import decode_message
from proxy.protocol.types import FETCH_LOG, OperationState
from proxy.server.listeners import ListenAddresses
from proxy.server.peers import ALONE, WorkerGroup
from proxy.statement.copies.copier import Copier
from proxy.workers.worker import serve
from tests.proxy.fake_cluster import FakeCluster
from thriftcodec.values import (
    BOOL,
    CALL,
    I16,
    I32,
    I64,
    MAP,
    STRING,
    STRUCT,
    Message,
    Pairs,
    Struct,
)
from thriftcodec.writer import encode_message

EAST, WEST = ClusterName("east"), ClusterName("west")


class FakeToken(str):
    """A running write, with the tables that it writes."""

    id = "mark"


@dataclass
class FakeMetastore:
    """Snapshot and loader in one: tables with their primary cluster."""

    primaries: dict[str, ClusterName] = field(default_factory=dict)
    fresh: dict[str, ClusterName] = field(default_factory=dict)  # a second cluster with all of it
    databases: set[str] = field(default_factory=lambda: {"default", "sales"})
    copied: dict[str, Placement] = field(default_factory=dict)
    lagging: dict[tuple[TableRef, ClusterName], float | None] = field(default_factory=dict)
    versions: dict[str, int] = field(default_factory=dict)
    sizes: dict[str, int] = field(default_factory=dict)
    log: list[str] = field(default_factory=list)
    loaded: set[TableRef] = field(default_factory=set)
    failing: Exception | None = None
    lists: list[tuple[str, list[Any]]] | None = None
    sql_texts: dict[str, ViewText | None] = field(default_factory=dict)
    hudi: set[str] = field(default_factory=set)  # tables of Hudi; the others are parquet

    def table(self, ref: TableRef) -> TableInfo | None:
        if ref not in self.loaded:
            raise NotLoaded(ref)
        exists = str(ref) in self.primaries
        is_hudi = str(ref) in self.hudi
        provider = "hudi" if is_hudi else "parquet"
        return (
            TableInfo(ref, TableKind.TABLE, provider=provider, is_hudi=is_hudi) if exists else None
        )

    def facts(self, ref: TableRef, selectors: object = None) -> TableFacts | None:
        primary = self.primaries.get(str(ref))
        fresh = frozenset({self.fresh[str(ref)]} if str(ref) in self.fresh else ())
        size = self.sizes.get(str(ref))
        return None if primary is None else TableFacts(Replicas(primary, fresh), size=size)

    def database_exists(self, name: str) -> bool:
        return name in self.databases

    def lacking_since(self) -> dict[tuple[TableRef, ClusterName], float | None]:
        return dict(self.lagging)

    def counts(self) -> dict[str, int]:
        return {"tables": len(self.loaded)}

    def invalidate(self, refs: Iterable[TableRef] | None) -> None:
        self.log += [f"forget {ref}" for ref in refs or ()]

    async def load(self, tables: Iterable[TableRef]) -> None:
        if self.failing is not None:
            raise self.failing
        self.loaded.update(tables)

    async def load_facts(self, tables: object, selectors: object = None) -> frozenset[TableRef]:
        return frozenset()

    async def load_database(self, name: str) -> None:
        if self.failing is not None:
            raise self.failing

    async def sql_functions(self) -> dict[str, ViewText | None]:
        return self.sql_texts

    def forget_functions(self) -> None: ...

    def placement(self, ref: TableRef) -> object:
        return self.versions.get(str(ref))

    async def tables_in(self, database: str) -> list[TableRef]:
        return [TableRef.parse(name) for name in self.primaries if name.startswith(database + ".")]

    async def copies(self, tables: Mapping[TableRef, object]) -> list[TableCopies]:
        plain = {name: Placement(primary) for name, primary in self.primaries.items()}
        known = plain | self.copied
        return [TableCopies(ref, known[str(ref)]) for ref in tables if str(ref) in known]

    @property
    def keeps_lists(self) -> bool:
        return self.lists is not None

    async def schemas(self, wanted: Callable[[str], bool]) -> Any:
        return None

    async def listed(self, wanted: Callable[[str], bool]) -> Any:
        return self.lists and [each for each in self.lists if wanted(each[0])]

    def new_write(self, targets: Any) -> Any:
        return FakeToken(" ".join(map(str, targets)))

    async def open_write(self, token: Any) -> Any:
        self.log.append(f"open {token}")
        return token

    async def close_write(self, token: Any) -> None:
        self.log.append(f"close {token}")

    async def claim(self, table: TableRef, cluster: ClusterName) -> None:
        self.log.append(f"claim {table} {cluster}")


class Client:
    """A client that sends any messages and reads the replies."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer
        self.session = Struct()
        self.seqid = 100

    async def send(self, name: str, request: Struct) -> None:
        self.seqid += 1
        data = encode_message(Message(name, CALL, self.seqid, Struct({1: (STRUCT, request)})))
        self.writer.write(len(data).to_bytes(4, "big") + data)
        await self.writer.drain()

    async def receive(self) -> Message:
        length = int.from_bytes(await self.reader.readexactly(4), "big")
        message = decode_message(await self.reader.readexactly(length))
        assert message.seqid == self.seqid
        return message

    async def call(self, name: str, request: Struct) -> Struct:
        await self.send(name, request)
        message = await self.receive()
        assert message.name == name
        result = message.body.get(0)
        assert isinstance(result, Struct)
        return result

    async def open(self, protocol: int = 5, **configuration: str) -> Struct:
        pairs: list[Any] = [
            (key.replace("__", ":").encode(), value.encode())
            for key, value in configuration.items()
        ]
        request = Struct({1: (I32, protocol), 4: (MAP, Pairs(STRING, STRING, pairs))})
        result = await self.call("OpenSession", request)
        handle = result.get(3, Struct())
        assert isinstance(handle, Struct)
        self.session = handle
        return result

    async def execute(self, sql: str, run_async: bool = False) -> Struct:
        request = Struct(
            {1: (STRUCT, self.session), 2: (STRING, sql.encode()), 4: (BOOL, run_async)}
        )
        return await self.call("ExecuteStatement", request)

    async def on(self, name: str, operation: Struct, **more: int) -> Struct:
        request = Struct({1: (STRUCT, operation)})
        if name == "FetchResults":
            request.set(2, I32, more.get("orientation", 0))
            request.set(3, I64, more.get("rows", 1000))
            request.set(4, I16, more.get("kind", 0))
        return await self.call(name, request)

    async def state(self, operation: Struct) -> OperationState:
        status: Any = await self.on("GetOperationStatus", operation)
        return OperationState(status.get(2))

    async def log(self, operation: Struct) -> list[str]:
        reply: Any = await self.on("FetchResults", operation, kind=FETCH_LOG)
        ((_, lines),) = reply.get(3).get(3)[0].fields.values()
        return [each.decode() for each in lines.get(1)]

    async def info(self, kind: int = 17) -> Struct:
        """The reply to GetInfo, by which `Connection.isValid` tests a connection."""
        return await self.call("GetInfo", Struct({1: (STRUCT, self.session), 2: (I32, kind)}))

    async def operation(self, sql: str, run_async: bool = False) -> Struct:
        result = await self.execute(sql, run_async)
        assert error_of(result) is None, error_of(result)
        handle = result.get(2)
        assert isinstance(handle, Struct)
        return handle

    async def rows(self, sql: str) -> int:
        """The number of rows of a statement."""
        return column_length(await self.on("FetchResults", await self.operation(sql)))

    def close(self) -> None:
        self.writer.transport.abort()


def error_of(result: Struct) -> replies.Failure | None:
    return replies.result_failure(result)


def column_length(result: Struct) -> int:
    assert error_of(result) is None, error_of(result)
    rows: Any = result.get(3, Struct())
    column: Any = rows.get(3)[0]
    ((_, typed),) = column.fields.values()
    return len(typed.get(1))


@dataclass
class World:
    """The proxy at `endpoint` and, over HTTP, at `http`; its clusters and its metastore."""

    endpoint: Endpoint
    http: Endpoint
    east: FakeCluster
    west: FakeCluster
    metastore: FakeMetastore
    clients: list["Client"] = field(default_factory=list)

    async def client(
        self,
        user: str = "ann",
        opened: bool = True,
        greeted: bool = True,
        password: str = "pw",
    ) -> Client:
        reader, writer = await asyncio.open_connection(
            self.endpoint.host, self.endpoint.port, limit=1 << 16
        )
        client = Client(reader, writer)
        self.clients.append(client)
        writer.write(client_negotiation(user, password))
        if greeted:
            assert await reader.readexactly(5) == b"\5\0\0\0\0"
        if opened:
            assert error_of(await client.open()) is None
        return client


@asynccontextmanager
async def world(
    limits: Limits,
    in_use: bool = True,
    authenticator: Authenticator | None = None,
    transports: Transports | None = None,
    identity: Identity | None = None,
    login: Login | None = None,
    prepared: Callable[[FakeCluster], None] | None = None,
    workers: WorkerGroup = ALONE,
    restrictions: SessionRestrictions | None = None,
    copier: Copier | None = None,
    choice: ClusterChoice = ClusterChoice.SPECIFICATION,
    access: AccessRules | None = None,
) -> AsyncIterator[World]:
    east, west = FakeCluster(EAST), FakeCluster(WEST)
    for each in (east, west):
        if prepared is not None:
            prepared(each)
    await east.start()
    await west.start()
    clusters = {
        each.name: Cluster(each.name, f"file:/{each.name}", (each.endpoint,))
        for each in (east, west)
    }
    topology = Topology(clusters, EAST) if in_use else Topology()
    listen = Endpoint("127.0.0.1", 0)
    settings = Settings(
        topology,
        (),
        listen,
        upstream=(east.endpoint,),
        transports=transports or Transports(Transport.ALL, http_port=0),
        identity=identity or Identity(),
        restrictions=restrictions or SessionRestrictions(),
        views={EAST: (listen,), WEST: (listen,)} if restrictions else {},
        logins={EAST: login, WEST: login} if login else {},
        cluster_choice=choice,
        access=AccessSettings(access or AccessRules()),
    )
    metastore = FakeMetastore({"default.e": EAST, "default.w": WEST, "sales.w": WEST})
    ready: asyncio.Future[ListenAddresses] = asyncio.get_running_loop().create_future()
    serving = asyncio.ensure_future(
        serve(
            settings,
            metastore,
            metastore,
            ready.set_result,
            limits,
            copier,
            authenticator=authenticator,
            workers=workers,
        )
    )
    listening = await ready
    assert listening.binary is not None
    assert listening.http is not None
    there = World(listening.binary, listening.http, east, west, metastore)
    try:
        yield there
    finally:
        for client in there.clients:
            client.close()
        serving.cancel()
        with suppress(asyncio.CancelledError):
            await serving
        await east.stop()
        await west.stop()


async def until(condition: Callable[[], bool]) -> None:
    """Waits for something to become true; the scenario's own time limit bounds it."""
    while not condition():  # noqa: ASYNC110
        await asyncio.sleep(0.002)


Scenario = Callable[[World], Coroutine[Any, Any, None]]


def play(
    scenario: Scenario,
    limits: Limits | None = None,
    in_use: bool = True,
    authenticator: Authenticator | None = None,
    transports: Transports | None = None,
    identity: Identity | None = None,
    login: Login | None = None,
    prepared: Callable[[FakeCluster], None] | None = None,
    restrictions: SessionRestrictions | None = None,
    copier: Copier | None = None,
    seconds: float = 120,
    choice: ClusterChoice = ClusterChoice.SPECIFICATION,
    access: AccessRules | None = None,
) -> None:
    """Runs a scenario in a world of its own, with a time limit."""

    async def main() -> None:
        bounds = limits or Limits()
        async with (
            asyncio.timeout(seconds),
            world(
                bounds,
                in_use,
                authenticator,
                transports,
                identity,
                login,
                prepared,
                restrictions=restrictions,
                copier=copier,
                choice=choice,
                access=access,
            ) as there,
        ):
            await scenario(there)

    uvloop.run(main())
