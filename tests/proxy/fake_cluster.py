"""A Thrift Server of a few lines, which reads and writes messages by PyHive's generated classes.

None of the proxy's own protocol code is used, so that a fault in it is not answered by the same
fault. A statement has one row, unless the test sets another number.
"""

import asyncio
import itertools
import json
import ssl
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from TCLIService import TCLIService, ttypes
from thrift.protocol.TBinaryProtocol import TBinaryProtocol
from thrift.Thrift import TMessageType
from thrift.transport.TTransport import TMemoryBuffer

from conf.names import ClusterName
from conf.settings.names import TIME_ZONE
from conf.topology import Endpoint
from router.claim import KEY, PROBE

_START, _BAD, _COMPLETE = 1, 3, 5  # of SASL over Thrift
_numbers = itertools.count(1)


def _identifier() -> Any:
    return ttypes.THandleIdentifier(next(_numbers).to_bytes(16, "big"), b"s" * 16)


def _succeeded() -> Any:
    return ttypes.TStatus(ttypes.TStatusCode.SUCCESS_STATUS)


def _failed(message: str, sqlstate: str | None = None) -> Any:
    return ttypes.TStatus(
        ttypes.TStatusCode.ERROR_STATUS, sqlState=sqlstate, errorCode=0, errorMessage=message
    )


BUSY = "The background threadpool cannot accept new task for execution, please retry the operation"


@dataclass
class FakeOperation:
    """A statement that was executed. `changed` is set when it has ended."""

    sql: str
    state: int = ttypes.TOperationState.RUNNING_STATE
    message: str | None = None
    sqlstate: str | None = None
    changed: asyncio.Event = field(default_factory=asyncio.Event)
    start: int = 0  # of the batch that was fetched last
    position: int = 0


@dataclass
class _Connection:
    """A client of the fake: its user, once it has logged in, and the sessions that it opened."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    user: str = ""
    sessions: list[bytes] = field(default_factory=list)


class FakeCluster:
    """The calls that it received are in `log`, as (user, call, text)."""

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
        self.column = "c"  # the name of the column in its schemas
        self.numbered: set[str] = set()  # whose rows are their numbers, not `row`
        self.silent = False
        self.dbms: str | None = "Fake 1"  # its answer to GetInfo; None: it refuses it
        self.checks_sessions = False  # whether it answers GetInfo for its sessions alone
        self.drip = 0  # bytes of a reply that are sent at a time, 0: all
        self.stalls_after = 0  # bytes of a longer reply, of which no more is sent; 0: all is
        self.most_logins: int | None = None  # at the same time: it never answers one beyond them
        self.logins = 0
        self.opens: asyncio.Event | None = None  # until it is set OpenSession is not answered
        self.opening = 0  # sessions for which OpenSession is not answered yet
        self.most_opening = 0  # the largest number of these at the same time
        self.threads: int | None = None  # asynchronous statements that run at the same time
        self.refuses = ""  # the error with which it refuses new sessions
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
        while self.connections:
            for writer in self.connections:
                writer.transport.abort()
            await asyncio.sleep(0.002)

    def end(self, operation: FakeOperation) -> None:
        """A sleeping statement finishes."""
        self._end(operation, ttypes.TOperationState.FINISHED_STATE)

    async def _client(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self._server is None:  # accepted while the cluster was stopped
            writer.transport.abort()
            return
        self.connections.add(writer)
        client = _Connection(reader, writer)
        try:
            if await self._log_in(client):
                while await self._serve_call(client):
                    pass
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            for session in client.sessions[-1:]:  # the Thrift Server's own leak: only the last one
                self._end_session(session)
            writer.transport.abort()
            self.connections.discard(writer)

    async def _log_in(self, client: _Connection) -> bool:
        """SASL PLAIN as in the Thrift Server. Returns whether the client is accepted."""
        user, password = "", ""
        while True:
            head = await client.reader.readexactly(5)
            payload = await client.reader.readexactly(int.from_bytes(head[1:], "big"))
            if self.silent:
                await _until_closed(client.reader)
                return False
            if head[0] != _START:
                _, user, password = payload.decode().split("\0")
                break
        if self.most_logins is not None and not await self._is_login_answered(self.most_logins):
            await _until_closed(client.reader)
            return False
        client.user = user
        known = self.password in (None, password)
        message = b"" if known else b"Unsupported mechanism type PLAIN"
        head = bytes((_COMPLETE if known else _BAD,)) + len(message).to_bytes(4, "big")
        client.writer.write(head + message)
        return known

    async def _is_login_answered(self, most: int) -> bool:
        self.logins += 1
        if self.logins > most:
            return False
        await asyncio.sleep(0.002)
        self.logins -= 1
        return True

    async def _serve_call(self, client: _Connection) -> bool:
        """Reads a call and sends its reply. Returns whether the connection stays open."""
        length = int.from_bytes(await client.reader.readexactly(4), "big")
        frame = await client.reader.readexactly(length)
        if self.silent:
            await _until_closed(client.reader)
            return False
        protocol = TBinaryProtocol(TMemoryBuffer(frame))
        name, _, seqid = protocol.readMessageBegin()
        arguments = getattr(TCLIService, f"{name}_args")()
        arguments.read(protocol)
        if name == self.hangs_at:
            self.log.append((client.user, name, "hangs"))
            await _until_closed(client.reader)
            return False
        response = await self._response(client, name, arguments.req)
        out = TMemoryBuffer()
        protocol = TBinaryProtocol(out)
        protocol.writeMessageBegin(name, TMessageType.REPLY, seqid)
        getattr(TCLIService, f"{name}_result")(success=response).write(protocol)
        reply = out.getvalue()
        await self._send(client.writer, len(reply).to_bytes(4, "big") + reply)
        return True

    async def _send(self, writer: asyncio.StreamWriter, data: bytes) -> None:
        if 0 < self.stalls_after < len(data):
            writer.write(data[: self.stalls_after])
            while not writer.transport.is_closing():  # noqa: ASYNC110
                await asyncio.sleep(0.002)
            raise ConnectionResetError
        for at in range(0, len(data), self.drip or len(data)):
            writer.write(data[at : at + (self.drip or len(data))])
            if self.drip:
                await asyncio.sleep(0.001)
                if writer.transport.is_closing():
                    raise ConnectionResetError
        await writer.drain()

    async def _response(self, client: _Connection, name: str, request: Any) -> Any:
        text = request.statement if name == "ExecuteStatement" else ""
        if name == "ExecuteStatement":
            overlay = request.confOverlay or {}
            claim = overlay.get(KEY)
            if claim == PROBE:
                words = "causeway: claims are checked, version 1" if self.checks else "no guard"
                self.probes += 1
                return ttypes.TExecuteStatementResp(_failed(words))
            if text == f"SET {TIME_ZONE}" and self.zone is None:
                return ttypes.TExecuteStatementResp(_failed("no time zone"))
            self.claims.append((text, claim and json.loads(claim)))
            self.traced[text] = overlay.get("causeway.statement", "")
        self.log.append((client.user, name, text))
        if name == self.dies_at:
            raise ConnectionResetError
        match name:
            case "OpenSession":
                return await self._open_session_when_ready(client, request)
            case "CloseSession":
                self._end_session(request.sessionHandle.sessionId.guid)
                return ttypes.TCloseSessionResp(_succeeded())
            case "GetInfo":
                if (
                    self.checks_sessions
                    and request.sessionHandle.sessionId.guid not in self.sessions
                ):
                    return ttypes.TGetInfoResp(
                        _failed("Invalid SessionHandle"), ttypes.TGetInfoValue("-")
                    )
                if self.dbms is None:
                    return ttypes.TGetInfoResp(_failed("no info"), ttypes.TGetInfoValue("-"))
                return ttypes.TGetInfoResp(_succeeded(), ttypes.TGetInfoValue(self.dbms))
            case "ExecuteStatement":
                if not request.runAsync and text in self.fails:
                    return ttypes.TExecuteStatementResp(_failed(self.fails[text], "42P01"))
                return self._execute(ttypes.TExecuteStatementResp, request, text)
        if hasattr(request, "sessionHandle"):
            return self._execute(getattr(ttypes, f"T{name}Resp"), request, name)
        return await self._operation_response(name, request)

    async def _operation_response(self, name: str, request: Any) -> Any:
        response = getattr(ttypes, f"T{name}Resp")
        guid = request.operationHandle.operationId.guid
        operation = self.operations.get(guid)
        if operation is None:
            return response(_failed("Invalid OperationHandle: gone"))
        match name:
            case "GetOperationStatus":
                with suppress(TimeoutError):
                    async with asyncio.timeout(self.poll_time):
                        await operation.changed.wait()
                return _operation_status(operation)
            case "CancelOperation":
                self._end(operation, ttypes.TOperationState.CANCELED_STATE)
                return response(_succeeded())
            case "CloseOperation":
                self._end(operation, ttypes.TOperationState.CANCELED_STATE)
                del self.operations[guid]
                return response(_succeeded())
            case "GetResultSetMetadata":
                return response(_succeeded(), ttypes.TTableSchema([_text_column(self.column, 0)]))
            case "FetchResults":
                return self._fetch(operation, request)
        raise AssertionError(name)

    async def _open_session_when_ready(self, client: _Connection, request: Any) -> Any:
        self.opening += 1
        self.most_opening = max(self.most_opening, self.opening)
        if self.opens is not None:
            await self.opens.wait()
        self.opening -= 1
        return self._open_session(client, request)

    def _open_session(self, client: _Connection, request: Any) -> Any:
        if self.refuses:
            return ttypes.TOpenSessionResp(_failed(self.refuses), request.client_protocol)
        self.protocols.append(request.client_protocol)
        self.configurations.append(dict(request.configuration or {}))
        identifier = _identifier()
        self.sessions[identifier.guid] = set()
        client.sessions.append(identifier.guid)
        return ttypes.TOpenSessionResp(
            _succeeded(), request.client_protocol, ttypes.TSessionHandle(identifier), {}
        )

    def _execute(self, response: Callable[..., Any], request: Any, sql: str) -> Any:
        session = request.sessionHandle.sessionId.guid
        if session not in self.sessions:
            return response(_failed("Invalid SessionHandle: SessionHandle [x]"))
        if getattr(request, "runAsync", False) and self._is_busy():
            return response(_failed(BUSY))
        identifier = _identifier()
        operation = FakeOperation(sql)
        claim = self.claims[-1][1] if self.claims else None
        if claim and claim.get("mode") in ("parse", "analyze") and sql not in self.fails:
            self._fail(operation, "causeway: parsed", "0A000")
        elif claim and claim.get("reads") and self.outdated:
            self.outdated -= 1
            self._fail(operation, "[CW363] Table default.e was written.", "0A000")
        self.operations[identifier.guid] = operation
        self.sessions[session].add(identifier.guid)
        if sql in self.fails:
            words = "org.apache.hive.service.cli.HiveSQLException: " + self.fails[sql]
            stack = "\n\tat org.apache.hive.service.cli.operation.Operation.run(O:1)\n"
            self._fail(operation, words + stack, "42P01")
        elif sql not in self.sleeping:  # does nothing to one that has failed
            self.end(operation)
        kind = ttypes.TOperationType.EXECUTE_STATEMENT
        return response(_succeeded(), ttypes.TOperationHandle(identifier, kind, True))

    def _is_busy(self) -> bool:
        running = [each for each in self.operations.values() if not each.changed.is_set()]
        return self.threads is not None and len(running) >= self.threads

    def _fail(self, operation: FakeOperation, message: str, sqlstate: str) -> None:
        operation.state = ttypes.TOperationState.ERROR_STATE
        operation.message, operation.sqlstate = message, sqlstate
        operation.changed.set()

    def _fetch(self, operation: FakeOperation, request: Any) -> Any:
        if operation.sql in self.without_columns:
            return ttypes.TFetchResultsResp(_succeeded(), False, ttypes.TRowSet(0, []))
        if operation.sql == f"SET {TIME_ZONE}":
            return _batch(0, [TIME_ZONE], [str(self.zone)])
        match request.orientation:
            case ttypes.TFetchOrientation.FETCH_FIRST:
                operation.position = 0
            case ttypes.TFetchOrientation.FETCH_PRIOR:
                operation.position = max(0, operation.start - request.maxRows)
        count = self.counts.get(operation.sql, 1)
        start = operation.start = operation.position
        operation.position = min(count, start + request.maxRows)
        text, numbered = self.row.decode(), operation.sql in self.numbered
        rows = range(start, operation.position)
        return _batch(start, [str(row) if numbered else text for row in rows])

    def _end(self, operation: FakeOperation, state: int) -> None:
        if not operation.changed.is_set():
            operation.state = state
            operation.changed.set()

    def _end_session(self, session: bytes) -> None:
        for guid in self.sessions.pop(session, set()):
            operation = self.operations.pop(guid, None)
            if operation is not None:
                self._end(operation, ttypes.TOperationState.CANCELED_STATE)


def _operation_status(operation: FakeOperation) -> Any:
    response = ttypes.TGetOperationStatusResp(_succeeded(), operation.state)
    if operation.message is not None:
        response.sqlState, response.errorCode = operation.sqlstate, 0
        response.errorMessage = operation.message
    if operation.state == ttypes.TOperationState.FINISHED_STATE:
        response.hasResultSet = True
    return response


def _text_column(name: str, position: int) -> Any:
    primitive = ttypes.TPrimitiveTypeEntry(ttypes.TTypeId.STRING_TYPE)
    kind = ttypes.TTypeDesc([ttypes.TTypeEntry(primitive)])
    return ttypes.TColumnDesc(name, kind, position + 1)


def _batch(start: int, *columns: Sequence[str]) -> Any:
    """FetchResultsResp with columns of text."""
    found = [ttypes.TColumn(stringVal=ttypes.TStringColumn(list(each), b"\0")) for each in columns]
    return ttypes.TFetchResultsResp(_succeeded(), False, ttypes.TRowSet(start, [], found))


async def _until_closed(reader: asyncio.StreamReader) -> None:
    while await reader.read(1 << 16):
        pass
