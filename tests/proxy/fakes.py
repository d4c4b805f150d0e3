"""A Thrift Server of a few lines, and the proxy before two of it, in one event loop.

A statement has one row, unless the cluster is told otherwise.
"""

import asyncio
import itertools
import json
import ssl
from collections import deque
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

import uvloop

from conf.names import ClusterName, TableRef
from conf.partitions import Replicas, TableFacts
from conf.settings.authentication import Identity
from conf.settings.names import TIME_ZONE
from conf.settings.restrictions import Restrictions
from conf.settings.settings import Settings
from conf.settings.transports import Transport, Transports
from conf.settings.upstream_auth import Login
from conf.tables import NotLoaded, TableInfo, TableKind
from conf.topology import Cluster, Endpoint, Topology
from proxy.auth.authenticator import Authenticator
from proxy.limits import Limits
from proxy.operations.peers import ALONE, WorkerGroup
from proxy.protocol import replies, results
from proxy.protocol.framing import Credentials, Frame, SaslInbound, Send, client_negotiation
from proxy.protocol.messages import decode_message
from proxy.protocol.replies import Status
from proxy.protocol.requests import (
    CancelOperation,
    CloseOperation,
    CloseSession,
    ExecuteStatement,
    FetchResults,
    GetInfo,
    GetOperationStatus,
    GetResultSetMetadata,
    Handle,
    MetadataCall,
    OpenSession,
    read_request,
)
from proxy.protocol.types import OperationState, Orientation
from proxy.server.listeners import ListenAddresses
from proxy.server.server import serve
from router.claim import KEY, PROBE
from thriftcodec.values import (
    BOOL,
    CALL,
    I32,
    I64,
    LIST,
    MAP,
    STRING,
    STRUCT,
    Items,
    Message,
    Pairs,
    Struct,
)
from thriftcodec.writer import encode_message

EAST, WEST = ClusterName("east"), ClusterName("west")
_numbers = itertools.count(1)


def _handle() -> Handle:
    return Handle(next(_numbers).to_bytes(16, "big"), b"s" * 16)


@dataclass
class FakeOperation:
    sql: str
    status: Status
    changed: asyncio.Event = field(default_factory=asyncio.Event)
    start: int = 0  # of the batch that was fetched last
    position: int = 0


class FakeCluster:
    """What it was asked is in `log`, as (user, call, text)."""

    def __init__(self, name: ClusterName) -> None:
        self.name = name
        self.log: list[tuple[str, str, str]] = []
        self.sessions: dict[bytes, set[bytes]] = {}
        self.operations: dict[bytes, FakeOperation] = {}
        self.protocols: list[int] = []
        self.configurations: list[dict[str, str]] = []
        self.connections: set[asyncio.StreamWriter] = set()
        self.poll_time = 0.2
        self.sleeping: set[str] = set()  # run until they are cancelled
        self.fails: dict[str, str] = {}
        self.counts: dict[str, int] = {}
        self.without_columns: set[str] = set()
        self.numbered: set[str] = set()  # whose rows are their numbers, not `row`
        self.silent = False
        self.drip = 0  # bytes of a reply that are sent at a time, 0: all
        self.hangs_at = ""  # the call that it never answers
        self.dies_at = ""  # the call that makes it drop the connection
        self.row = b"x" * 1000
        self.checks = False  # whether it answers as one with a guard that checks claims
        self.probes = 0
        self.zone: str | None = None  # the time zone of its sessions; None: it does not say it
        self.outdated = 0  # statements that its guard finds outdated, before it takes one
        self.claims: list[tuple[str, Any]] = []  # of its statements; None where there is none
        self.traced: dict[str, str] = {}  # ids of the proxy's statements, by text
        self.password: str | None = None  # None: any
        self.tls: ssl.SSLContext | None = None
        self.endpoint = Endpoint("127.0.0.1", 0)
        self._server: asyncio.Server | None = None

    @property
    def statements(self) -> list[str]:
        return [text for _, call, text in self.log if call == "ExecuteStatement"]

    async def start(self) -> None:
        self._server = await asyncio.start_server(
            self._client, "127.0.0.1", self.endpoint.port, ssl=self.tls
        )
        self.endpoint = Endpoint("127.0.0.1", self._server.sockets[0].getsockname()[1])

    async def stop(self) -> None:
        if self._server is not None:
            self._server.close()
            self._server = None
        while self.connections:  # one that was on its way may still come
            for writer in self.connections:
                writer.transport.abort()
            await asyncio.sleep(0.002)

    async def _client(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections.add(writer)
        inbound, user, opened = SaslInbound(), "", []
        try:
            while data := await reader.read(1 << 16):
                if self.silent:
                    continue
                events = deque(inbound.feed(data))
                while events:
                    match events.popleft():
                        case Send(reply):
                            writer.write(reply)
                        case Credentials(name, password):
                            user = name
                            known = self.password in (None, password)
                            events.extend(inbound.accept() if known else inbound.refuse())
                        case Frame(frame):
                            call = decode_message(frame)
                            if call.name == self.hangs_at:
                                self.log.append((user, call.name, "hangs"))
                                await until(lambda: reader.at_eof() or bool(reader.exception()))
                                return
                            result = await self._answer(user, call, opened)
                            reply = replies.reply(call.name, call.seqid, result)
                            await self._send(writer, len(reply).to_bytes(4, "big") + reply)
        except ConnectionError:
            pass
        finally:
            for session in opened[-1:]:  # the Thrift Server's own leak: only the last one
                self._end_session(session)
            writer.transport.abort()
            self.connections.discard(writer)

    async def _send(self, writer: asyncio.StreamWriter, data: bytes) -> None:
        for at in range(0, len(data), self.drip or len(data)):
            writer.write(data[at : at + (self.drip or len(data))])
            if self.drip:
                await asyncio.sleep(0.001)
                if writer.transport.is_closing():
                    raise ConnectionResetError
        await writer.drain()

    async def _answer(self, user: str, call: Message, opened: list[bytes]) -> Struct:
        request = read_request(call)
        text = request.statement if isinstance(request, ExecuteStatement) else ""
        if isinstance(request, ExecuteStatement):
            claim = request.overlay.get(KEY)
            if claim == PROBE:
                words = "causeway: claims are checked, version 1" if self.checks else "no guard"
                self.probes += 1
                return replies.failed(replies.Failure(words))
            if text == f"SET {TIME_ZONE}" and self.zone is None:
                return replies.failed(replies.Failure("no time zone"))
            self.claims.append((text, claim and json.loads(claim)))
            self.traced[text] = request.overlay.get("causeway.statement", "")
        self.log.append((user, call.name, text))
        if call.name == self.dies_at:
            raise ConnectionResetError
        match request:
            case OpenSession(protocol, _, configuration):
                self.protocols.append(protocol)
                self.configurations.append(dict(configuration))
                handle = _handle()
                self.sessions[handle.guid] = set()
                opened.append(handle.guid)
                return replies.session_opened(protocol, handle)
            case CloseSession(handle):
                self._end_session(handle.guid)
                return replies.succeeded()
            case GetInfo():
                return replies.info("Fake 1")
            case ExecuteStatement(session):
                if not request.run_async and text in self.fails:
                    return replies.failed(replies.Failure(self.fails[text], "42P01"))
                return self._execute(session, text)
            case MetadataCall(session):
                return self._execute(session, call.name)
        operation = self.operations.get(request.operation.guid)  # type: ignore[union-attr]
        if operation is None:
            return replies.failed(replies.Failure("Invalid OperationHandle: gone"))
        match request:
            case GetOperationStatus():
                with suppress(TimeoutError):
                    async with asyncio.timeout(self.poll_time):
                        await operation.changed.wait()
                return replies.operation_status(operation.status, True)
            case CancelOperation(handle):
                self._end(operation, OperationState.CANCELED)
                return replies.succeeded()
            case CloseOperation(handle):
                self._end(operation, OperationState.CANCELED)
                del self.operations[handle.guid]
                return replies.succeeded()
            case GetResultSetMetadata():
                return results.metadata_reply(results.Table(("c",)))
            case FetchResults():
                return self._fetch(operation, request)
        raise AssertionError(request)

    def _execute(self, session: Handle, sql: str) -> Struct:
        if session.guid not in self.sessions:
            return replies.failed(replies.Failure("Invalid SessionHandle: SessionHandle [x]"))
        handle = _handle()
        operation = FakeOperation(sql, Status(OperationState.RUNNING))
        claim = self.claims[-1][1] if self.claims else None
        if claim and claim.get("mode") in ("parse", "analyze") and sql not in self.fails:
            self._fail(operation, "causeway: parsed")
        elif claim and claim.get("reads") and self.outdated:
            self.outdated -= 1
            self._fail(operation, "[CW363] Table default.e was written.")
        self.operations[handle.guid] = operation
        self.sessions[session.guid].add(handle.guid)
        if sql in self.fails:
            words = "org.apache.hive.service.cli.HiveSQLException: " + self.fails[sql]
            stack = "\n\tat org.apache.hive.service.cli.operation.Operation.run(O:1)\n"
            failure = replies.Failure(words + stack, "42P01")
            operation.status = Status(OperationState.ERROR, failure)
            operation.changed.set()
        elif sql not in self.sleeping:  # does nothing to one that has failed
            self._end(operation, OperationState.FINISHED)
        return replies.operation_started(handle, 0, True)

    def _fail(self, operation: FakeOperation, message: str) -> None:
        operation.status = Status(OperationState.ERROR, replies.Failure(message, "0A000"))
        operation.changed.set()

    def _fetch(self, operation: FakeOperation, request: FetchResults) -> Struct:
        if operation.sql in self.without_columns:
            row_set = Struct({1: (I64, 0), 2: (LIST, Items(STRUCT, []))})
            return Struct({**replies.succeeded().fields, 2: (BOOL, False), 3: (STRUCT, row_set)})
        if operation.sql == f"SET {TIME_ZONE}":
            table = results.Table(("key", "value"), ((TIME_ZONE, self.zone),))
            return results.fetch_reply(table, 0, 1, 10)
        match request.orientation:
            case Orientation.FIRST:
                operation.position = 0
            case Orientation.PRIOR:
                operation.position = max(0, operation.start - request.max_rows)
        count = self.counts.get(operation.sql, 1)
        text = self.row.decode()
        numbered = operation.sql in self.numbered
        rows = tuple((str(row) if numbered else text,) for row in range(count))
        table = results.Table(("c",), rows)
        start = operation.start = operation.position
        operation.position = min(count, start + request.max_rows)
        return results.fetch_reply(table, start, request.max_rows, 10)

    def end(self, operation: FakeOperation) -> None:
        """A sleeping statement finishes."""
        self._end(operation, OperationState.FINISHED)

    def _end(self, operation: FakeOperation, state: OperationState) -> None:
        if not operation.changed.is_set():
            operation.status = Status(state)
            operation.changed.set()

    def _end_session(self, session: bytes) -> None:
        for guid in self.sessions.pop(session, set()):
            operation = self.operations.pop(guid, None)
            if operation is not None:
                self._end(operation, OperationState.CANCELED)


class FakeToken(str):
    """A running write, by what it writes."""

    id = "mark"


@dataclass
class FakeMetastore:
    """Snapshot and loader in one: tables with the cluster that holds them."""

    primaries: dict[str, ClusterName] = field(default_factory=dict)
    databases: set[str] = field(default_factory=lambda: {"default", "sales"})
    versions: dict[str, int] = field(default_factory=dict)
    log: list[str] = field(default_factory=list)
    loaded: set[TableRef] = field(default_factory=set)
    failing: Exception | None = None
    lists: list[tuple[str, list[Any]]] | None = None

    def table(self, ref: TableRef) -> TableInfo | None:
        if ref not in self.loaded:
            raise NotLoaded(ref)
        return TableInfo(ref, TableKind.TABLE) if str(ref) in self.primaries else None

    def facts(self, ref: TableRef, selectors: object = None) -> TableFacts | None:
        primary = self.primaries.get(str(ref))
        return None if primary is None else TableFacts(Replicas(primary, frozenset()))

    def database_exists(self, name: str) -> bool:
        return name in self.databases

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

    def placement(self, ref: TableRef) -> object:
        return self.versions.get(str(ref))

    async def tables_in(self, database: str) -> list[TableRef]:
        return [TableRef.parse(name) for name in self.primaries if name.startswith(database + ".")]

    async def schemas(self, wanted: Callable[[str], bool]) -> Any:
        return None

    async def listed(self, wanted: Callable[[str], bool]) -> Any:
        return self.lists and [each for each in self.lists if wanted(each[0])]

    async def open_write(self, targets: Any) -> Any:
        token = FakeToken(" ".join(map(str, targets)))
        self.log.append(f"open {token}")
        return token

    async def close_write(self, token: Any) -> None:
        self.log.append(f"close {token}")

    async def claim(self, table: TableRef, cluster: ClusterName) -> None:
        self.log.append(f"claim {table} {cluster}")


class Client:
    """A client that says what it likes and reads what it is told."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer
        self.session = Struct()
        self._seqid = 100

    async def send(self, name: str, request: Struct) -> None:
        self._seqid += 1
        data = encode_message(Message(name, CALL, self._seqid, Struct({1: (STRUCT, request)})))
        self.writer.write(len(data).to_bytes(4, "big") + data)
        await self.writer.drain()

    async def receive(self) -> Message:
        length = int.from_bytes(await self.reader.readexactly(4), "big")
        message = decode_message(await self.reader.readexactly(length))
        assert message.seqid == self._seqid
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
            {
                1: (STRUCT, self.session),
                2: (STRING, sql.encode()),
                4: (BOOL, run_async),
            }
        )
        return await self.call("ExecuteStatement", request)

    async def on(self, name: str, operation: Struct, **more: int) -> Struct:
        request = Struct({1: (STRUCT, operation)})
        if name == "FetchResults":
            request.set(2, I32, more.get("orientation", 0))
            request.set(3, I64, more.get("rows", 1000))
        return await self.call(name, request)

    async def operation(self, sql: str, run_async: bool = False) -> Struct:
        result = await self.execute(sql, run_async)
        assert error_of(result) is None, error_of(result)
        handle = result.get(2)
        assert isinstance(handle, Struct)
        return handle

    async def rows(self, sql: str) -> int:
        """How many rows a statement has."""
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
    restrictions: Restrictions | None = None,
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
        restrictions=restrictions or Restrictions(),
        views={EAST: listen, WEST: listen} if restrictions else {},
        logins={EAST: login, WEST: login} if login else {},
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
    restrictions: Restrictions | None = None,
    seconds: float = 20,
) -> None:
    """Runs a scenario in a world of its own, for that long at most."""

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
            ) as there,
        ):
            await scenario(there)

    uvloop.run(main())
