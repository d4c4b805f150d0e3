"""Runs a query again in another cluster when its cluster was lost with the result.

The client must have no row yet. A client that has the schema of the lost result gets the rows of
the new one only if both have the same schema.
"""

from conf.errors import CausewayError
from proxy.errors import ClusterLost
from proxy.limits import Limits
from proxy.protocol.messages import decode_message
from proxy.protocol.types import OperationState
from proxy.session.operation import Operation, Repeatable, close_remote
from proxy.session.user_session import UserSession
from proxy.statement.services import StatementServices
from proxy.statement.statement_runner import StatementRunner
from proxy.upstream.remote_result import RemoteResult


async def run_again(
    session: UserSession,
    operation: Operation,
    lost: RemoteResult,
    error: ClusterLost,
    services: StatementServices,
    limits: Limits,
) -> bool:
    """Runs the query again. Returns whether the operation has a result in another cluster now.

    The session must be as it was when the query ended: otherwise the same text may have another
    meaning. `error` is that of the lost cluster.
    """
    async with operation.learning:
        if operation.result is not lost:
            return isinstance(operation.result, RemoteResult)  # another call ran it again
        kept, operation.repeatable = operation.repeatable, None
        if kept is None or lost.delivered or not _is_as_it_was(session, kept):
            return False
        again = Operation(operation.handle, operation.kind)  # no client sees it
        cluster = lost.upstream.cluster
        runner = StatementRunner(session, again, kept.request, services, limits, (cluster, error))
        try:
            await runner.run(_nothing)
            if operation.closed or not await _has_schema_of(lost, again):
                return False
            lost.close()
            operation.result, again.result = again.result, None
            operation.record.moved(again.record)
            return True
        finally:
            close_remote(again)


def _is_as_it_was(session: UserSession, kept: Repeatable) -> bool:
    state = session.state
    return state.pinned is None and state.journal.changes == kept.changes


async def _has_schema_of(lost: RemoteResult, again: Operation) -> bool:
    result = again.result
    if again.state is not OperationState.FINISHED or not isinstance(result, RemoteResult):
        return False
    if lost.schema is None:
        return True
    try:
        schema = await again.learn_schema(result)
    except CausewayError:
        return False
    return decode_message(schema).body == decode_message(lost.schema).body


def _nothing() -> None:
    """Reports nothing: the client's operation was reported when it ended."""
