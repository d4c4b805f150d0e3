"""Runs statements through the proxy as a user of the console: queries of the screen "Where", and
copies. Each statement has its own connection and session, which end with it."""

import asyncio
import secrets
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from enum import StrEnum

from conf.errors import BadSetting, CausewayError
from conf.names import ClusterName
from conf.settings.settings import Settings
from conf.topology import Endpoint
from console.errors import Refused
from console.sources.result_rows import is_number, rows_of
from proxy.auth.impersonation.requested_user import PROXY_USER
from proxy.errors import Failure, ThriftServerError
from proxy.protocol.cluster_calls import (
    RemoteOperation,
    close_session_call,
    execute_call,
    fetch_call,
    open_session_call,
    operation_call,
)
from proxy.protocol.replies import (
    opened_session,
    read_operation_status,
    read_result,
    read_started,
    result_failure,
)
from proxy.protocol.requests import FetchResults, Handle
from proxy.protocol.results import header
from proxy.protocol.types import ENDS, FETCH_ROWS, NEWEST_PROTOCOL, OperationState, Orientation
from proxy.upstream.credentials import UpstreamCredentials
from proxy.upstream.upstream_connection import UpstreamConnection
from thriftcodec.values import Struct

MAX_ROWS = 1_000
QUERY_LIMIT = 600.0  # seconds of a query
COPY_LIMIT = 24 * 3600.0  # seconds of a copy
AT_ONCE = 20  # running statements
_KEPT = 100  # ended statements that are kept
_KEPT_SECONDS = 3600.0
_CHUNK = 250  # rows of a reply
_MAX_TEXT = 4 << 20  # characters of a result
_CALL = 30.0  # seconds for a call
_PROXY = ClusterName("the proxy")  # the name in messages
_ANY_HOST = {"0.0.0.0": "127.0.0.1", "::": "::1", "": "127.0.0.1"}


class RunState(StrEnum):
    RUNNING = "running"
    FINISHED = "finished"
    FAILED = "failed"
    CANCELLED = "cancelled"


@dataclass(slots=True)
class SqlRun:
    """A running or ended statement. `columns` has the name of each column, and whether it holds
    numbers. `more` says whether the result has more rows than `rows`."""

    user: str
    sql: str
    name: str = field(default_factory=lambda: secrets.token_hex(8))
    about: str = ""
    began: float = field(default_factory=time.time)
    ended: float | None = None
    state: RunState = RunState.RUNNING
    error: str = ""
    columns: list[tuple[str, bool]] = field(default_factory=list)
    rows: list[tuple[str | None, ...]] = field(default_factory=list)
    more: bool = False

    @property
    def seconds(self) -> float:
        return (self.ended or time.time()) - self.began


class SqlClient:
    """Runs statements through the proxy in `console.sql`."""

    def __init__(self, settings: Settings) -> None:
        """Raises BadSetting for an unusable `console.login`."""
        listen = settings.console.sql or settings.listen
        self._endpoint = Endpoint(_ANY_HOST.get(listen.host, listen.host), listen.port)
        self._credentials = UpstreamCredentials(settings.console.login)
        self._runs: dict[str, SqlRun] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}

    def start(
        self, user: str, sql: str, database: str = "", limit: float = QUERY_LIMIT, about: str = ""
    ) -> SqlRun:
        """Starts a statement as the user, for `limit` seconds at most. `about` is its title in
        lists. Raises Refused if too many run."""
        self._forget()
        if len(self._tasks) >= AT_ONCE:
            raise Refused(f"{AT_ONCE} statements run through the console: wait for one to end.")
        run = SqlRun(user, sql, about=about)
        self._runs[run.name] = run
        task = asyncio.ensure_future(self._run(run, database, limit))
        self._tasks[run.name] = task
        task.add_done_callback(lambda _: self._ended(run))
        return run

    def _ended(self, run: SqlRun) -> None:
        """Called at the end of a run's task, which may have been cancelled before it began."""
        self._tasks.pop(run.name, None)
        if run.ended is None:
            run.state, run.ended = RunState.CANCELLED, time.time()

    def run(self, name: str, user: str) -> SqlRun | None:
        """The run with this name, if it is the user's own."""
        run = self._runs.get(name)
        return run if run is not None and run.user == user else None

    def runs(self, about: str = "") -> list[SqlRun]:
        """All runs whose title begins with `about`, the newest first."""
        return [each for each in reversed(self._runs.values()) if each.about.startswith(about)]

    def cancel(self, run: SqlRun) -> None:
        """Cancels a run, and its statement in the cluster."""
        task = self._tasks.get(run.name)
        if task is not None:
            run.state = RunState.CANCELLED
            task.cancel()

    async def close(self) -> None:
        """Ends all runs."""
        tasks = list(self._tasks.values())
        for each in tasks:
            each.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _forget(self) -> None:
        ended = [each for each in self._runs.values() if each.ended is not None]
        for at, each in enumerate(reversed(ended)):
            if at >= _KEPT or time.time() - (each.ended or 0) > _KEPT_SECONDS:
                del self._runs[each.name]

    async def _run(self, run: SqlRun, database: str, limit: float) -> None:
        try:
            async with asyncio.timeout(limit):
                await self._in_session(run, database)
            run.state = RunState.FINISHED
        except asyncio.CancelledError:
            run.state = RunState.CANCELLED
        except TimeoutError:
            run.state, run.error = RunState.FAILED, f"It took more than {limit:g} s."
        except ThriftServerError as error:
            run.state, run.error = RunState.FAILED, error.failure.message
        except (CausewayError, OSError) as error:
            run.state, run.error = RunState.FAILED, str(error)
        finally:
            run.ended = time.time()

    async def _in_session(self, run: SqlRun, database: str) -> None:
        connection = await self._connect(run.user)
        try:
            configuration = {"use:database": database} if database else {}
            if self._credentials.login.is_service:
                configuration[PROXY_USER] = run.user
            request = open_session_call(NEWEST_PROTOCOL, run.user, configuration)
            session = opened_session(await _call(connection, "OpenSession", request))
            request = execute_call(session, run.sql, {}, 0)
            started = read_started(await connection.call("ExecuteStatement", request, _CALL))
            if isinstance(started, Failure):
                raise ThriftServerError(started)
            try:
                await _end_of(connection, started)
            except (asyncio.CancelledError, TimeoutError):
                await self._cancel(run.user, started)
                raise
            await _read_rows(connection, started, run)
            await _call(connection, "CloseSession", close_session_call(session))
        finally:
            connection.abort()  # the proxy closes the session with its connection

    async def _connect(self, user: str) -> UpstreamConnection:
        try:
            return await UpstreamConnection.connect(
                _PROXY, self._endpoint, user, lambda: None, self._credentials
            )
        except BadSetting as error:
            raise Refused(str(error)) from error

    async def _cancel(self, user: str, operation: RemoteOperation) -> None:
        """Cancels over a new connection, because the run's connection waits for a reply."""
        with suppress(CausewayError, ThriftServerError, OSError, TimeoutError):
            async with asyncio.timeout(_CALL):
                connection = await self._connect(user)
                try:
                    request = operation_call("CancelOperation", operation)
                    await _call(connection, "CancelOperation", request)
                finally:
                    connection.abort()


async def _call(connection: UpstreamConnection, name: str, request: bytes) -> Struct:
    """The result of a call. Raises ClusterLost, WireError, and ThriftServerError with the proxy's
    error."""
    result = read_result(await connection.call(name, request, _CALL), name)
    if (failure := result_failure(result)) is not None:
        raise ThriftServerError(failure)
    return result


async def _end_of(connection: UpstreamConnection, operation: RemoteOperation) -> None:
    """Waits for the end of a statement. Raises ThriftServerError if it failed."""
    name = "GetOperationStatus"
    while True:
        result = await _call(connection, name, operation_call(name, operation))
        status = read_operation_status(result)
        if status.state in ENDS:
            break
        await asyncio.sleep(0.1)
    if status.state is not OperationState.FINISHED:
        raise ThriftServerError(status.failure or Failure(f"It ended {status.state.name}."))


async def _read_rows(
    connection: UpstreamConnection, operation: RemoteOperation, run: SqlRun
) -> None:
    """Reads up to `MAX_ROWS` rows, and sets `more` if there are more."""
    name = "GetResultSetMetadata"
    schema = await _call(connection, name, operation_call(name, operation))
    run.columns = [(title, is_number(kind)) for title, kind in header(schema)]
    length = 0
    while len(run.rows) <= MAX_ROWS and length <= _MAX_TEXT:
        wanted = min(_CHUNK, MAX_ROWS + 1 - len(run.rows))
        request = FetchResults(Handle(b"", b""), Orientation.NEXT, wanted, FETCH_ROWS)
        reply = await _call(connection, "FetchResults", fetch_call(operation, request))
        rows = rows_of(reply)
        if not rows:
            return
        run.rows += rows
        length += _length(rows)
    run.more = True
    del run.rows[MAX_ROWS:]


def _length(rows: Sequence[tuple[str | None, ...]]) -> int:
    return sum(len(cell or "") for row in rows for cell in row)
