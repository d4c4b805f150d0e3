"""Handles the calls of one client: decodes each request, and sends the reply.

Replies are small and are encoded here, except for the rows of results, which are relayed from the
cluster's connection to the client's without being decoded.
"""

import asyncio
import logging
from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar

from conf.errors import Blame, CausewayError
from proxy.errors import Failure, ThriftServerError, TooLarge, WireError
from proxy.protocol import replies
from proxy.protocol.framing import Frame, Oversized
from proxy.protocol.messages import MAX_VALUES, decode_head, decode_message
from proxy.protocol.requests import (
    CloseSession,
    DelegationTokenCall,
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
)
from proxy.protocol.status import as_synchronous, failure_of
from proxy.protocol.types import OperationState, OperationType
from proxy.record.incidents import internal_error
from proxy.record.record import Record
from proxy.record.statement_text import StatementText
from proxy.server.calls.metadata_calls import MetadataCalls
from proxy.server.calls.operation_calls import OperationCalls
from proxy.server.calls.session_calls import SessionCalls
from proxy.server.client_connection import ClientConnection
from proxy.server.server_state import OwnedOperation, ServerState
from proxy.session.handles import new_handle, worker_of
from proxy.session.operation import Operation
from proxy.session.user_session import UserSession
from proxy.statement.statement_runner import StatementRunner
from thriftcodec.values import PROTOCOL_ERROR_CODE, UNKNOWN_METHOD_CODE, Message, Struct

_Result = TypeVar("_Result")
_log = logging.getLogger(__name__)
_EXECUTE = "ExecuteStatement"
_LARGE = 16 << 10  # bytes of a message; larger ones are decoded and hashed in a thread
# Requests whose reply is sent only after it is complete.
_ANSWERED_WHOLE = (OpenSession, GetInfo, SetClientInfo, ExecuteStatement, MetadataCall)


class HiveServer2Handler:
    """Answers the calls of one client's connection, one after another."""

    def __init__(self, server: ServerState, client: ClientConnection) -> None:
        self._server = server
        self._client = client
        self._sessions = SessionCalls(server, client)
        self._operations = OperationCalls(server, client)
        self._metadata = MetadataCalls(server, client)

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
            await self._sessions.close_all()

    async def _answer(self, message: Frame | Oversized) -> None:
        if isinstance(message, Oversized):
            await self._too_large(message)
            return
        parsed: tuple[Message, Request] | None = read_operation_call(message.data)
        if parsed is None:
            call = await _in_thread_if_large(
                len(message.data), decode_message, message.data, MAX_VALUES
            )
            try:
                request = await _in_thread_if_large(len(message.data), read_request, call)
            except WireError as error:
                self._rejected(call.name, StatementText(), Failure(str(error)))
                await self._refuse(call.name, call.seqid, str(error), PROTOCOL_ERROR_CODE)
                return
        else:
            call, request = parsed
        try:
            handle = handle_of(request)
            if handle and await self._server.peers.forward(handle, message.data, self._client):
                return
            if handle and worker_of(handle) != self._server.peers.number:
                self._server.check_not_stopping()  # its worker has ended before this one
            result = await self._result_or_incident(call, request)
        except ThriftServerError as error:
            result = replies.failed(error.failure)
        except CausewayError as error:
            result = replies.failed(failure_of(error))
        if isinstance(result, bytes):
            await self._client.send(result)
        elif result is not None:
            await self._client.send(replies.reply(call.name, call.seqid, result))

    async def _result_or_incident(self, call: Message, request: object) -> Struct | bytes | None:
        """The result of `_result`. An internal error becomes an error of the call if no part of the
        reply can have been sent; otherwise it ends the connection."""
        try:
            return await self._result(call, request)
        except (CausewayError, ThriftServerError):
            raise
        except Exception:
            if not isinstance(request, _ANSWERED_WHOLE):
                raise
            raise internal_error(_log, f"answering {call.name}") from None

    async def _too_large(self, message: Oversized) -> None:
        name, _, seqid, _ = decode_head(message.head)
        error = TooLarge(f"A request of {message.length} bytes is larger than Causeway accepts.")
        if name == _EXECUTE:
            failure = failure_of(error)
            self._rejected(name, StatementText(), failure)
            await self._client.send(replies.reply(name, seqid, replies.failed(failure)))
        else:
            await self._refuse(name, seqid, str(error), PROTOCOL_ERROR_CODE)

    async def _refuse(self, name: str, seqid: int, text: str, kind: int) -> None:
        await self._client.send(replies.application_exception(name, seqid, text, kind))

    async def _result(self, call: Message, request: object) -> Struct | bytes | None:
        """The call's result, or the whole reply as bytes; None if the reply has been sent."""
        if isinstance(request, OperationCall):
            return await self._operations.answer(call, request)
        match request:
            case OpenSession():
                return await self._sessions.open(request)
            case CloseSession():
                return await self._sessions.close(request)
            case GetInfo():
                return await self._sessions.info(request)
            case SetClientInfo():
                return self._sessions.set_client_info(request)
            case ExecuteStatement():
                return await self._execute(call, request)
            case MetadataCall():
                session = self._sessions.find(request.session)
                return await self._metadata.answer(call.name, request, session)
            case DelegationTokenCall():
                text = "Delegation token is not supported"
                return replies.failed(Failure(text))
            case UnknownCall():
                text = f"Invalid method name: '{call.name}'"
                return replies.application_exception(
                    call.name, call.seqid, text, UNKNOWN_METHOD_CODE
                )
        raise AssertionError(f"unanswered request {request!r}")

    async def _execute(self, call: Message, request: ExecuteStatement) -> bytes:
        sql = request.statement
        text = await _in_thread_if_large(len(sql), StatementText.of, sql)
        try:
            session = self._sessions.find(request.session)
        except ThriftServerError as error:
            self._rejected(call.name, text, error.failure, request.session.guid.hex())
            raise
        server, kind = self._server, OperationType.EXECUTE_STATEMENT
        operation = server.new_operation(session, self._client.owner, kind)
        _fill_record(operation.record, session, operation, text)
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
        """Reports a statement without an operation: it cannot be read, or it has no session."""
        if call != _EXECUTE:
            return
        record = Record(self._client.user or "", self._client.user or "", self._client.peer)
        record.session, record.text = session, text
        record.statement = new_handle(self._server.peers.number).guid.hex()
        record.end(OperationState.ERROR, why)
        record.blame = Blame.CLIENT
        self._server.observer.rejected(record)

    async def _when_ended(self, reply: bytes, owned: OwnedOperation) -> bytes:
        """Returns `reply` when the statement has ended. Raises ThriftServerError if the statement
        failed."""
        operation = owned.operation
        await operation.until_ended()
        if self._client.lost:
            await self._server.close_operation(owned)  # the client never received the handle
        if operation.state is OperationState.ERROR:
            failure = operation.status.failure or Failure("")
            await self._server.close_operation(owned)
            raise ThriftServerError(as_synchronous(failure))
        return reply


async def _in_thread_if_large(
    size: int, work: Callable[..., _Result], *args: bytes | bytearray | str | Message | int
) -> _Result:
    """The result of `work` on `size` bytes or characters, computed in a thread if they are many.

    To decode, search or hash a text of 60 MB takes a tenth of a second each.
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
