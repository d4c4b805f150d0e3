"""Handles the calls of one client: decodes a request, and answers it or sends it to a cluster.

Replies are small and encoded here, but the rows of results are relayed from the cluster's
connection to the client's without being decoded.
"""

import asyncio
import logging
import time
from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar

from conf.errors import Blame, CausewayError
from conf.names import ClusterName
from proxy.auth.impersonation.impersonation_client import impersonated_user
from proxy.catalog import server_info
from proxy.catalog.metadata import METADATA_KINDS
from proxy.errors import ClusterDown, Failure, Rejected, SessionGone, TooLarge, WireError
from proxy.protocol import replies
from proxy.protocol.cluster_calls import metadata_call
from proxy.protocol.framing import Frame, Oversized
from proxy.protocol.messages import MAX_VALUES, decode_head, decode_message
from proxy.protocol.requests import (
    CloseSession,
    DelegationToken,
    ExecuteStatement,
    GetInfo,
    MetadataCall,
    OpenSession,
    OperationCall,
    Request,
    SetClientInfo,
    UnknownCall,
    handle_of,
    read_operation_call,
    read_request,
    texts_of,
)
from proxy.protocol.status import as_synchronous, failure_of
from proxy.protocol.types import NEWEST_PROTOCOL, OperationState, OperationType
from proxy.record.incidents import internal_error
from proxy.record.record import Record
from proxy.record.statement_text import StatementText
from proxy.server.client_connection import ClientConnection
from proxy.server.operation_calls import OperationCalls
from proxy.server.server_state import OwnedOperation, ServerState
from proxy.session.handles import new_handle, no_such_session, worker_of
from proxy.session.operation import Operation
from proxy.session.own_settings import apply_opening, cannot_open
from proxy.session.session import USE_DATABASE, SessionState
from proxy.session.user_session import UserSession
from proxy.statement.machine.access_checks import check_list
from proxy.statement.statement_runner import StatementRunner
from proxy.upstream.remote_result import RemoteResult
from thriftcodec.values import Message, Struct

_Result = TypeVar("_Result")
_log = logging.getLogger(__name__)
_APPLICATION, _MAX_APPLICATION = "ApplicationName", 128  # property of JDBC; characters kept of it
_EXECUTE = "ExecuteStatement"
_LARGE = 16 << 10  # bytes of a message; larger ones are decoded and hashed in a thread
_ANSWERED_WHOLE = (OpenSession, GetInfo, SetClientInfo, ExecuteStatement, MetadataCall)


class HiveServer2Handler:
    """The calls of one client's connection, one after another."""

    def __init__(self, server: ServerState, client: ClientConnection) -> None:
        self._server = server
        self._client = client
        self._operations = OperationCalls(server, client)
        self._opened: dict[bytes, UserSession] = {}

    @property
    def _user(self) -> str:
        """The owner of the handles that this client may use."""
        return self._client.owner

    async def serve(self) -> None:
        """Answers calls until the client disconnects; then closes its sessions."""
        try:
            while (message := await self._client.next_message()) is not None:
                self._client.task = asyncio.current_task()
                await self._answer(message)
                self._client.task = None
        except WireError:
            await self._client.on_protocol_error()
        except asyncio.CancelledError:
            if not self._client.lost:
                raise
        finally:
            self._client.task = None
            self._client.abort()
            await self._close_all()

    async def _close_all(self) -> None:
        sessions = list(self._opened.values())
        self._opened.clear()
        await asyncio.gather(*(self._server.close(session) for session in sessions))

    async def _answer(self, message: Frame | Oversized) -> None:
        if isinstance(message, Oversized):
            await self._too_large(message)
            return
        known: tuple[Message, Request] | None = read_operation_call(message.data)
        if known is None:
            call = await _of_size(len(message.data), decode_message, message.data, MAX_VALUES)
            try:
                request = await _of_size(len(message.data), read_request, call)
            except WireError as error:
                self._rejected(call.name, StatementText(), Failure(str(error)))
                await self._refuse(call.name, call.seqid, str(error), replies.PROTOCOL_ERROR)
                return
        else:
            call, request = known
        try:
            handle = handle_of(request)
            if handle and await self._server.peers.forward(handle, message.data, self._client):
                return
            if handle and worker_of(handle) != self._server.peers.number:
                self._server.check_not_stopping()  # its worker has ended before this one
            result = await self._result_or_incident(call, request)
        except Rejected as error:
            result = replies.failed(error.failure)
        except CausewayError as error:
            result = replies.failed(failure_of(error))
        if isinstance(result, bytes):
            await self._client.send(result)
        elif result is not None:
            await self._client.send(replies.reply(call.name, call.seqid, result))

    async def _result_or_incident(self, call: Message, request: object) -> Struct | bytes | None:
        """As `_result`. An internal error becomes an error of the call where no part of a reply can
        have been sent; otherwise it ends the connection."""
        try:
            return await self._result(call, request)
        except (CausewayError, Rejected):
            raise
        except Exception:
            if not isinstance(request, _ANSWERED_WHOLE):
                raise
            raise internal_error(_log, f"answering {call.name}") from None

    async def _too_large(self, message: Oversized) -> None:
        name, _, seqid, _ = decode_head(message.head)
        error = TooLarge(f"A request of {message.length} bytes is more than Causeway takes.")
        if name == _EXECUTE:
            failure = failure_of(error)
            self._rejected(name, StatementText(), failure)
            await self._client.send(replies.reply(name, seqid, replies.failed(failure)))
        else:
            await self._refuse(name, seqid, str(error), replies.PROTOCOL_ERROR)

    async def _refuse(self, name: str, seqid: int, text: str, kind: int) -> None:
        await self._client.send(replies.application_exception(name, seqid, text, kind))

    async def _result(self, call: Message, request: object) -> Struct | bytes | None:
        """The call's result; or a whole message (bytes); or None: the reply is sent already."""
        if isinstance(request, OperationCall):
            return await self._operations.answer(call, request)
        match request:
            case OpenSession():
                return await self._open_session(request)
            case CloseSession(handle):
                session = self._server.sessions.find(handle, self._user)
                if session is None:
                    raise Rejected(Failure("Session does not exist!"))
                self._opened.pop(handle.guid, None)
                await asyncio.shield(self._server.group.create_task(self._server.close(session)))
                return replies.succeeded()
            case GetInfo():
                return await self._get_info(request)
            case SetClientInfo():
                session = self._session(request)
                session.application = request.properties.get(_APPLICATION, "")[:_MAX_APPLICATION]
                self._server.observer.client_info(session)
                return replies.succeeded()
            case ExecuteStatement():
                return await self._execute(call, request)
            case MetadataCall():
                return await self._metadata_call(call.name, request)
            case DelegationToken():
                text = "Delegation token is not supported"
                return replies.failed(Failure(text))
            case UnknownCall():
                text = f"Invalid method name: '{call.name}'"
                return replies.application_exception(
                    call.name, call.seqid, text, replies.UNKNOWN_METHOD
                )
        raise AssertionError(f"unanswered request {request!r}")

    async def _get_info(self, request: GetInfo) -> Struct:
        """Connection pools test their connections by this call (`Connection.isValid`), so a session
        in which no statement can run gets an error. Raises Stopping, ClusterDown, ClusterLost."""
        session, kind = self._session(request), request.info_type
        self._server.check_not_stopping()
        try:
            session.check_usable()
        except ClusterDown:
            if not await self._server.answers(kind, session):
                raise
        if kind in server_info.ASKED_OF_CLUSTER:
            learned = await self._server.learn_info(kind, session)
            if learned is not None:
                return learned
        return replies.info(server_info.answer(kind, self._client.user or ""))

    # Sessions

    async def _open_session(self, request: OpenSession) -> Struct:
        protocol = min(request.protocol, NEWEST_PROTOCOL)
        if protocol < 0:
            raise WireError("Required field 'client_protocol' is unset.")
        client, configuration = self._client, request.configuration
        user = client.user or request.username or "anonymous"
        try:
            session_user = await impersonated_user(
                self._server.identity, user, configuration, client.do_as, client.peer
            )
            state = SessionState.opened(
                session_user,
                protocol,
                configuration,
                self._server.topology,
                self._server.router.settings.restrictions,
                self._server.router.access.of(session_user),
            )
            apply_opening(state)
            session = UserSession(
                new_handle(self._server.peers.number),
                state,
                self._server.pool,
                self._server.through,
                self._client.peer,
                user,
                self._server.functions,
                self._server.caches,
            )
            self._server.admit(session, self._user)
            try:
                await self._check_opening(session)
            except BaseException:
                await self._server.close(session)
                raise
        except (Rejected, CausewayError) as error:
            failure = error.failure if isinstance(error, Rejected) else failure_of(error)
            self._server.observer.refused(user, client.peer, failure)
            return replies.session_refused(protocol, failure)
        self._server.observer.opened(session)
        if not self._client.sessions_outlive:
            self._opened[session.handle.guid] = session
        return replies.session_opened(protocol, session.handle)

    async def _check_opening(self, session: UserSession) -> None:
        """Raises Rejected when the session's database does not exist."""
        if session.through is not None:
            await session.upstream(session.through.name)  # that server checks the database
            return
        database = session.state.configuration.get(USE_DATABASE)
        if database and not await self._server.router.database_exists(database.lower()):
            raise Rejected(cannot_open(database))

    def _session(
        self, request: GetInfo | SetClientInfo | ExecuteStatement | MetadataCall
    ) -> UserSession:
        session = self._server.sessions.find(request.session, self._user)
        if session is None:
            raise no_such_session(request.session)
        session.touch()
        return session

    # Statements and metadata calls

    def _new_operation(self, session: UserSession, kind: int) -> Operation:
        operation = Operation(new_handle(self._server.peers.number), kind)
        self._server.operations.add(
            operation.handle, self._user, OwnedOperation(session, operation)
        )
        session.operations[operation.handle.guid] = operation
        return operation

    async def _execute(self, call: Message, request: ExecuteStatement) -> bytes:
        text = await _of_size(len(request.statement), StatementText.of, request.statement)
        try:
            session = self._session(request)
        except Rejected as error:
            self._rejected(call.name, text, error.failure, request.session.guid.hex())
            raise
        operation = self._new_operation(session, OperationType.EXECUTE_STATEMENT)
        _fill_record(operation.record, session, operation, text)
        server = self._server
        try:
            if request.overlay:
                request = replace(request, overlay=session.state.overlay(request.overlay))
            statement = StatementRunner(session, operation, request, server.services, server.limits)
            server.begin(session, statement, operation)
        except CausewayError as error:
            operation.fail(failure_of(error))
            server.observer.ended(operation)
            await server.close_operation(OwnedOperation(session, operation))
            raise
        started = replies.operation_started(operation.handle, operation.kind, True)
        reply = replies.reply(call.name, call.seqid, started)
        if request.run_async:
            return reply
        return await self._when_ended(reply, OwnedOperation(session, operation))

    def _rejected(self, call: str, text: StatementText, why: Failure, session: str = "") -> None:
        """Records a statement without an operation: it cannot be read, or has no session."""
        if call != _EXECUTE:
            return
        record = Record(self._client.user or "", self._client.user or "", self._client.peer)
        record.session, record.text = session, text
        record.statement = new_handle(self._server.peers.number).guid.hex()
        record.end(OperationState.ERROR, why)
        record.blame = Blame.CLIENT
        self._server.observer.rejected(record)

    async def _when_ended(self, reply: bytes, owned: OwnedOperation) -> bytes:
        """The reply, once the statement ended. Raises Rejected when the statement failed."""
        operation = owned.operation
        await operation.until_ended()
        if self._client.lost:
            await self._server.close_operation(owned)  # the client never received the handle
        if operation.state is OperationState.ERROR:
            failure = operation.status.failure or Failure("")
            await self._server.close_operation(owned)
            raise Rejected(as_synchronous(failure))
        return reply

    async def _metadata_call(self, name: str, request: MetadataCall) -> Struct:
        session, began = self._session(request), time.perf_counter()
        self._server.check_not_stopping()
        try:
            with session.asked:
                cluster = self._metadata_cluster(session)
                try:
                    return await self._metadata_result(session, cluster, name, request)
                except (SessionGone, ClusterDown) as error:
                    again = self._metadata_cluster(session)
                    if isinstance(error, ClusterDown) and again == cluster:
                        raise
                    return await self._metadata_result(session, again, name, request)
        finally:
            spent, observer = time.perf_counter() - began, self._server.observer
            observer.metadata(session, name, texts_of(request), spent)

    def _metadata_cluster(self, session: UserSession) -> ClusterName:
        """The cluster of a metadata call (DC-A1): the pinned one; otherwise the only one that has
        temporary objects of the session, which are listed too; otherwise the default cluster, or
        another one while that is down (D11)."""
        if session.through is not None:
            return session.through.name
        state = session.state
        homes = set(state.objects.listed_homes().values())
        only = homes.pop() if len(homes) == 1 else None
        return state.pinned or only or self._server.pool.health.first_up(state.topology)

    async def _metadata_result(
        self, session: UserSession, cluster: ClusterName, name: str, request: MetadataCall
    ) -> Struct:
        local = None
        if session.through is None:
            local = await self._server.metadata.answer(name, request.arguments, session, cluster)
        if local is not None:
            operation = self._new_operation(session, METADATA_KINDS[name])
            operation.result = local
            operation.becomes(OperationState.FINISHED)
            return replies.operation_started(operation.handle, operation.kind, True)
        if name in METADATA_KINDS:
            check_list(session.state)
        upstream = await session.upstream(cluster)
        result = await upstream.call(name, metadata_call(name, upstream.session, request.arguments))
        remote = replies.started_operation(result)
        operation = self._new_operation(session, replies.operation_kind(result))
        operation.result = RemoteResult.of(upstream, remote, may_run_ahead=False)
        operation.becomes(OperationState.FINISHED)
        return replies.with_handle(result, operation.handle)


async def _of_size(
    size: int, work: Callable[..., _Result], *args: bytes | bytearray | str | Message | int
) -> _Result:
    """The result of `work` on `size` bytes or characters, computed in a thread if there are many.

    A text of 60 MB takes a tenth of a second for each time that it is decoded, searched or hashed.
    """
    if size <= _LARGE:
        return work(*args)
    return await asyncio.to_thread(work, *args)


def _fill_record(
    record: Record, session: UserSession, operation: Operation, text: StatementText
) -> None:
    record.user, record.by = session.state.user, session.by
    record.address, record.application = session.address, session.application
    record.database = session.state.database
    record.session, record.statement = session.handle.guid.hex(), operation.handle.guid.hex()
    record.text = text
