"""Answers calls about an operation: its status, schema and rows, and cancelling and closing it.

The rows of clusters are relayed (`proxy.server.calls.row_relay`); Causeway's own are encoded here.
"""

import asyncio
import time
from contextlib import suppress

from proxy.errors import ClusterLost, Failure, ThriftServerError
from proxy.protocol import replies, results
from proxy.protocol.requests import (
    CancelOperation,
    CloseOperation,
    FetchResults,
    GetOperationStatus,
    GetResultSetMetadata,
    OperationCall,
)
from proxy.protocol.row_count import rows_in
from proxy.protocol.types import FETCH_LOG, OperationState
from proxy.server.calls.row_relay import relay_rows
from proxy.server.client_connection import ClientConnection
from proxy.server.server_state import OwnedOperation, ServerState
from proxy.session.handles import no_such_operation
from proxy.session.local_result import LocalResult
from proxy.session.operation import Operation
from proxy.statement.rerun import run_again
from proxy.statement.statement_limits import check_result
from proxy.upstream.remote_result import RemoteResult
from thriftcodec.values import Message, Struct


class OperationCalls:
    """Answers the calls about operations of one client's connection."""

    def __init__(self, server: ServerState, client: ClientConnection) -> None:
        self._server = server
        self._client = client

    async def answer(self, call: Message, request: OperationCall) -> Struct | bytes | None:
        """The call's result, or the whole reply as bytes; None if the reply has been sent.

        Raises ThriftServerError, CausewayError.
        """
        owned = self._server.operations.find(request.operation, self._client.owner)
        if owned is None:
            raise no_such_operation(request.operation, request.kind)
        owned.operation.touch()
        with owned.session.answering:
            try:
                return await self._answer(call, request, owned)
            finally:
                owned.operation.touch()

    async def _answer(
        self, call: Message, request: OperationCall, owned: OwnedOperation
    ) -> Struct | bytes | None:
        operation = owned.operation
        match request:
            case FetchResults():
                return await self._fetch(call, request, owned)
            case GetOperationStatus():
                await self._delay_poll(operation)
                return replies.operation_status(operation.shown, True)
            case CancelOperation():
                await operation.cancel()
                return replies.succeeded()
            case CloseOperation():
                await self._server.close_operation(owned)
                return replies.succeeded()
            case GetResultSetMetadata():
                return await self._result_metadata(call, owned)

    async def _delay_poll(self, operation: Operation) -> None:
        """Delays the answer to a poll, since most clients poll without a pause. The delay grows
        with the operation's age, and ends when the operation ends."""
        limits = self._server.limits
        if operation.ended:
            return
        elapsed = asyncio.get_running_loop().time() - operation.began
        delay = min(limits.last_poll, max(limits.first_poll, elapsed / 20))
        with suppress(TimeoutError):
            async with asyncio.timeout(delay):
                await operation.until_ended()

    async def _result_metadata(self, call: Message, owned: OwnedOperation) -> Struct | bytes:
        operation = owned.operation
        match operation.result:
            case LocalResult(schema=bytes(schema)):
                return replies.with_head(schema, call.name, call.seqid)
            case LocalResult(table):
                return results.metadata_reply(table)
            case RemoteResult() as remote if operation.state is OperationState.FINISHED:
                try:
                    schema = await operation.learn_schema(remote)
                except ClusterLost as error:
                    if not await self._run_again(owned, remote, error):
                        raise
                    return await self._result_metadata(call, owned)
                return replies.with_head(schema, call.name, call.seqid)
            case _:
                return results.metadata_reply(results.NO_ROWS)

    async def _fetch(
        self, call: Message, request: FetchResults, owned: OwnedOperation
    ) -> Struct | bytes | None:
        operation = owned.operation
        protocol = owned.session.state.protocol
        if request.fetch_type == FETCH_LOG and not isinstance(operation.result, RemoteResult):
            if operation.log is not None:
                return operation.log.fetch(request, protocol)
            return results.fetch_reply(results.LOG, 0, 0, protocol)
        if request.fetch_type != FETCH_LOG and operation.state is not OperationState.FINISHED:
            text = f"Expected state FINISHED, but found {operation.shown.state.name}"
            raise ThriftServerError(Failure(text))
        if request.fetch_type != FETCH_LOG:
            check_result(operation, self._server.limits_of(owned.session))
        match operation.result:
            case LocalResult():
                return self._own_rows(call, request, operation, operation.result, protocol)
            case RemoteResult():
                return await self._relay(call, request, owned, operation.result)
        raise ThriftServerError(Failure("The operation has no result."))

    async def _run_again(
        self, owned: OwnedOperation, lost: RemoteResult, error: ClusterLost
    ) -> bool:
        """Runs the query again in another cluster if possible; returns whether it has a result."""
        server = self._server
        return await run_again(
            owned.session, owned.operation, lost, error, server.services, server.limits
        )

    def _own_rows(
        self,
        call: Message,
        request: FetchResults,
        operation: Operation,
        local: LocalResult,
        protocol: int,
    ) -> bytes:
        """The reply with rows that Causeway made. Raises ThriftServerError."""
        began = time.perf_counter()
        reply = replies.reply(call.name, call.seqid, local.fetch(request, protocol))
        seconds = time.perf_counter() - began
        self._server.observer.fetched(operation, seconds, len(reply), rows_in(reply))
        return reply

    async def _relay(
        self, call: Message, request: FetchResults, owned: OwnedOperation, remote: RemoteResult
    ) -> Struct | bytes | None:
        protocol, began = owned.session.state.protocol, time.perf_counter()
        try:
            sent, rows = await relay_rows(self._client, call, request, remote, protocol)
        except ClusterLost as error:
            if self._client.lost or request.fetch_type == FETCH_LOG:
                raise
            if not await self._run_again(owned, remote, error):
                raise
            return await self._fetch(call, request, owned)
        if request.fetch_type != FETCH_LOG:
            seconds = time.perf_counter() - began
            self._server.observer.fetched(owned.operation, seconds, sent, rows)
        return None
