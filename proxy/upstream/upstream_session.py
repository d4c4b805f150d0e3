"""A user's session in one cluster: its handle, its connection and its calls.

The session is opened on a connection of its own. The server closes the session when that connection
breaks, also if the proxy is killed.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Self

from conf.errors import CausewayError
from conf.logs.log_fields import extra, log_fields
from conf.names import ClusterName
from conf.topology import Cluster, Endpoint
from proxy.errors import (
    ClusterDown,
    ClusterLost,
    Failure,
    LimitReached,
    SessionGone,
    ThriftServerError,
    WireError,
)
from proxy.protocol.cluster_calls import (
    RemoteOperation,
    RemoteSession,
    close_session_call,
    execute_call,
    open_session_call,
    operation_call,
)
from proxy.protocol.replies import (
    Status,
    opened_session,
    read_operation_status,
    read_result,
    read_started,
    result_failure,
)
from proxy.protocol.status import NO_SESSION, is_cluster_stopped
from proxy.protocol.types import ENDS, OperationState
from proxy.upstream import server_facts
from proxy.upstream.busy_servers import BusyServers
from proxy.upstream.upstream_connection import PipelinedCall, UpstreamConnection
from proxy.upstream.upstream_pool import UpstreamPool
from router import claim
from thriftcodec.values import Struct

_log = logging.getLogger(__name__)
_STATEMENT = "causeway.statement"  # a key of the overlay, which clients cannot set
_LARGE = 256 << 10  # characters; the call for a longer statement is encoded in a thread
_CLOSE_AFTER = 0.05  # seconds until CloseOperation is sent alone
_STOPPED = "its SparkContext has stopped"
_MESSAGE_PAUSES = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5)  # seconds between polls for an error's message


class UpstreamSession:
    """Created by `UpstreamSession.open`. `alive` becomes False when its own connection breaks.

    `checked`: the server's guard checks claims, so each statement carries one. `main` is its own
    connection; `user` is the user as whom it was opened.
    """

    def __init__(
        self,
        pool: UpstreamPool,
        cluster: ClusterName,
        endpoint: Endpoint,
        user: str,
        main: UpstreamConnection,
        session: RemoteSession,
        protocol: int,
        checked: bool = False,
    ) -> None:
        self.checked = checked
        self.zone: str | None = None  # the default of new sessions there; None: not learned
        self.cluster = cluster
        self.session = session
        self._pool = pool
        self.endpoint = endpoint
        self.user = user
        self._protocol = protocol
        self._main = main
        self._own = asyncio.Lock()
        self._long_call = False
        self._closings: list[PipelinedCall] = []  # of operations, not yet sent

    @classmethod
    async def open(
        cls,
        pool: UpstreamPool,
        cluster: Cluster,
        user: str,
        protocol: int,
        configuration: Mapping[str, str],
        claims: bool = False,
        zone: bool = False,
    ) -> Self:
        """Opens the user's session in the cluster. Tries the next endpoint when one fails.

        With `claims` it learns whether the guard checks claims, with `zone` the session's time
        zone. Raises ClusterDown, LimitReached, ClusterLost, and ThriftServerError with the
        cluster's message if the cluster refuses the session.
        """
        tried: list[Endpoint] = []
        while True:
            async with pool.opening(cluster, user, tried) as (endpoint, main):
                tried.append(endpoint)
                request = open_session_call(
                    protocol, user, {**configuration, **pool.named(cluster, user)}
                )
                try:
                    session = await _opened(main, request, cluster.name, pool.limits.call)
                except ClusterLost:
                    if len(tried) == len(cluster.hs2):
                        raise
                except ThriftServerError as error:
                    if not is_cluster_stopped(error.failure):
                        raise
                    pool.health.mark_down(endpoint, _STOPPED)
                    if len(tried) == len(cluster.hs2):
                        reason = f"Cluster {cluster.name} is down ({endpoint}: {_STOPPED})."
                        raise ClusterDown(reason) from error
                else:
                    upstream = cls(pool, cluster.name, endpoint, user, main, session, protocol)
                    if claims:
                        await upstream._learn_checked()
                    if zone:
                        await upstream._learn_zone()
                    return upstream

    async def _learn_checked(self) -> None:
        """Sets `checked`, which is learned once for each endpoint while it is up. Raises
        ClusterDown if the server is Hive's own."""
        health = self._pool.health
        known = health.condition(self.endpoint).checked
        if known is None:
            await server_facts.refuse_hive(self)
            known = await server_facts.is_checked(self)
            health.learn_checked(self.endpoint, known)
            if not known:
                fields = extra(cluster=self.cluster, endpoint=str(self.endpoint))
                _log.warning("claims are not checked", extra=fields)
        self.checked = known

    async def _learn_zone(self) -> None:
        """Sets `zone`, which is learned once for each endpoint while it is up."""
        condition = self._pool.health.condition(self.endpoint)
        if condition.zone is None:
            condition.zone = await self.read_zone()
        self.zone = condition.zone

    async def read_zone(self) -> str | None:
        """The session's time zone; None if the server returns none. Raises ClusterLost."""
        return await server_facts.zone(self, self._protocol)

    @property
    def call_seconds(self) -> float:
        """The time-out of a call that is not a poll, in seconds."""
        return self._pool.limits.call

    @property
    def alive(self) -> bool:
        return not self._main.broken

    @asynccontextmanager
    async def connection(self, long: bool = False) -> AsyncIterator[UpstreamConnection]:
        """A connection for one call of this session: its own, one call at a time.

        While a `long` call, which may take seconds, uses its own, other calls borrow a connection.
        """
        if self._long_call or self._main.broken or (long and self._own.locked()):
            async with self._pool.borrow(self.cluster, self.endpoint, self.user) as connection:
                yield connection
            return
        async with self._own:
            self._long_call = long
            try:
                yield self._main
            except BaseException:
                self._main.abort()
                raise
            finally:
                self._long_call = False

    async def spare(self) -> UpstreamConnection | None:
        """A second connection, which the caller gives back or aborts; None if the endpoint has too
        many already."""
        if self._pool.has_room(self.endpoint):
            with suppress(ClusterLost, LimitReached):
                return await self._pool.take(self.cluster, self.endpoint, self.user)
        return None

    def give_back(self, connection: UpstreamConnection) -> None:
        self._pool.give_back(self.endpoint, self.user, connection)

    async def call(
        self, name: str, request: bytes, long: bool = False, pipelined: Sequence[PipelinedCall] = ()
    ) -> Struct:
        """The result of a call. Raises ClusterLost, LimitReached, and ThriftServerError with its
        error."""
        result = read_result(await self.reply(name, request, long, pipelined), name)
        failure = result_failure(result)
        if failure is not None:
            raise self._refusal(failure)
        return result

    def _refusal(self, failure: Failure) -> Exception:
        if failure.message.startswith(NO_SESSION):
            self.drop()
            return SessionGone(f"Cluster {self.cluster} closed the session.")
        self._leave_if_stopped(failure)
        return ThriftServerError(failure)

    def _leave_if_stopped(self, failure: Failure | None) -> None:
        """Drops the session and marks the endpoint down if the failure says that the server's
        SparkContext has stopped: it answers calls, but runs nothing any more."""
        if failure is not None and is_cluster_stopped(failure):
            self._pool.health.mark_down(self.endpoint, _STOPPED)
            self.drop()

    async def reply(
        self,
        name: str,
        request: bytes,
        long: bool = False,
        pipelined: Sequence[PipelinedCall] = (),
        is_bounded: bool = True,
    ) -> bytes:
        """The whole reply to a call, as bytes. Raises ClusterLost, LimitReached."""
        seconds = self.call_seconds if is_bounded else None
        async with self.connection(long) as connection:
            return await connection.call(name, request, seconds, pipelined)

    async def pipelined_reply(self, reply: asyncio.Future[bytes | None]) -> bytes | None:
        """The reply to a pipelined call; None if it does not come in time."""
        if reply.done():
            return reply.result()
        with suppress(TimeoutError):
            async with asyncio.timeout(self.call_seconds):
                return await asyncio.shield(reply)
        return None

    async def execute(
        self, statement: str, overlay: Mapping[str, str], limit: int
    ) -> RemoteOperation:
        """Starts a statement, which the cluster ends after `limit` seconds (0: never). Raises as
        `call`."""
        arguments = self.session, statement, {**overlay, **self._trace()}, limit
        if len(statement) > _LARGE:
            return await self._start(await asyncio.to_thread(execute_call, *arguments))
        return await self._start(execute_call(*arguments))

    async def execute_to_end(
        self, statement: str, overlay: Mapping[str, str], is_bounded: bool = True
    ) -> RemoteOperation:
        """Runs a short statement synchronously. With `is_bounded` it times out after
        `call_seconds`. Raises as `call`."""
        traced = {**overlay, **self._trace()}
        request = execute_call(self.session, statement, traced, 0, run_async=False)
        return await self._start(request, long=True, is_bounded=is_bounded)

    def _trace(self) -> dict[str, str]:
        """The statement's id, which a guard writes into the description of Spark's jobs."""
        statement = log_fields().get("statement")
        return {_STATEMENT: statement} if statement and self.checked else {}

    async def _start(
        self, request: bytes, long: bool = False, is_bounded: bool = True
    ) -> RemoteOperation:
        closings = self._take_closings()
        started = read_started(
            await self.reply("ExecuteStatement", request, long, closings, is_bounded)
        )
        if isinstance(started, Failure):
            raise self._refusal(started)
        return started

    @property
    def busy(self) -> BusyServers:
        """The queues of statements that wait for a thread of a Thrift Server."""
        return self._pool.busy

    async def poll(self, operation: RemoteOperation) -> Status:
        """The operation's status. The server replies when the operation ends, or after five
        seconds. Raises as `call`."""
        name = "GetOperationStatus"
        request = operation_call(name, operation)
        return read_operation_status(await self.call(name, request, long=True))

    async def end_of(self, operation: RemoteOperation) -> Status:
        """Waits for the end of the operation and returns its status. Raises as `call`.

        A Thrift Server reports ERROR some 40 ms before it has the message, so it is polled again.
        """
        while (status := await self.poll(operation)).state not in ENDS:
            pass  # a poll takes up to five seconds by itself
        self._pool.busy.ended(self.endpoint)
        for pause in _MESSAGE_PAUSES:
            failure = status.failure
            if status.state is not OperationState.ERROR or (failure and failure.message):
                break
            await asyncio.sleep(pause)
            status = await self.poll(operation)
        self._leave_if_stopped(status.failure)
        return status

    def send_pipelined(self, *pipelined: PipelinedCall) -> None:
        """Sends calls without waiting for their replies, and CloseOperation for closed operations.
        While a long call is running, or after the session was lost, nothing is sent, and each
        `on_reply` is called with None."""
        if self.alive and not self._long_call:
            self._main.send_pipelined((*pipelined, *self._take_closings()))
            return
        for each in pipelined:
            each.on_reply(None)

    async def cancel(self, operation: RemoteOperation) -> None:
        await self.call("CancelOperation", operation_call("CancelOperation", operation))

    def close_operation(self, operation: RemoteOperation) -> None:
        """Sends CloseOperation with the next statement or after 50 ms, without waiting for it."""
        if not self._closings:
            asyncio.get_running_loop().call_later(_CLOSE_AFTER, self._close_operations)
        self._closings.append(PipelinedCall(operation_call("CloseOperation", operation)))

    def _close_operations(self) -> None:
        closings = self._take_closings()
        if closings and self.alive:
            self._main.send_pipelined(closings)

    def _take_closings(self) -> list[PipelinedCall]:
        closings, self._closings = self._closings, []
        return closings

    async def run(self, sql: str) -> Failure | None:
        """Runs a statement of the proxy's own to its end. Returns its failure. Raises as `call`."""
        overlay = {claim.KEY: claim.SESSION} if self.checked else {}
        operation = await self.execute(sql, overlay, 0)
        status = await self.end_of(operation)
        self.close_operation(operation)
        if status.state is OperationState.FINISHED:
            return None
        return status.failure or Failure(f"it ended {status.state.name}")

    def drop(self) -> None:
        """Closes the connection, and with it a session whose state is no longer known."""
        self._main.abort()

    async def close(self) -> None:
        """Closes the cluster's session, which ends its running statements, and the connection."""
        try:
            async with asyncio.timeout(self._pool.limits.close):
                if self.alive:
                    await self.call("CloseSession", close_session_call(self.session))
        except (CausewayError, ThriftServerError, TimeoutError):
            pass  # closing the connection closes the session as well
        finally:
            self._main.abort()


async def _opened(
    main: UpstreamConnection, request: bytes, cluster: ClusterName, patience: float
) -> RemoteSession:
    """Sends OpenSession, and waits `patience` seconds for the session. Raises ClusterLost and
    ThriftServerError, with the connection closed."""
    try:
        data = await main.call("OpenSession", request, patience)
        result = read_result(data, "OpenSession")
        failure = result_failure(result)
        if failure is not None:
            raise ThriftServerError(failure)
        return opened_session(result)
    except BaseException as error:
        main.abort()
        if isinstance(error, WireError):
            raise ClusterLost(f"Cluster {cluster} opened no session: {error}.") from error
        raise
