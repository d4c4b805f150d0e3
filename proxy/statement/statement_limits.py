"""What one statement may take: time, and rows and bytes of its result.

A Thrift Server collects a result in its heap before it gives the first row, and keeps it until the
operation is closed. So a statement that runs for too long is cancelled, a result of which too much
was read is closed, and so is a result that its client no longer reads.
"""

from conf.errors import CausewayError
from proxy.errors import ResultTooLarge, StatementTimeout
from proxy.limits import Limits
from proxy.protocol.results import NO_ROWS
from proxy.protocol.status import failure_of
from proxy.session.local_result import LocalResult
from proxy.session.operation import Operation, close_remote
from proxy.upstream.remote_result import RemoteResult


def check_result(operation: Operation, limits: Limits) -> None:
    """Raises ResultTooLarge, with the result closed in its cluster, once too much was read."""
    record = operation.record
    over = _over(record.rows or 0, limits.result_rows, "rows") or _over(
        record.bytes, limits.result_bytes, "bytes"
    )
    if over is None:
        return
    if isinstance(operation.result, RemoteResult):
        close_remote(operation)
        operation.result = LocalResult(NO_ROWS)
    raise over


def _over(count: int, limit: int, what: str) -> CausewayError | None:
    if not limit or count < limit:
        return None
    return ResultTooLarge(f"The statement's result has more than {limit:,} {what}.")


async def stop_too_long(operation: Operation, limits: Limits) -> None:
    """Ends a statement that has run for too long, here and in its cluster."""
    seconds = limits.statement_time
    error = StatementTimeout(f"The statement ran for more than {seconds:,.0f} seconds.")
    await operation.end(failure_of(error))


def is_too_long(operation: Operation, now: float, limits: Limits) -> bool:
    """Whether the statement runs for longer than it may, by the event loop's time."""
    limit = limits.statement_time
    runs = not (operation.ended or operation.waits)
    return bool(limit) and runs and now - operation.began > limit


def is_unread(operation: Operation, now: float, limits: Limits) -> bool:
    """Whether its result in a cluster was not asked for during the idle time-out."""
    limit = limits.idle_result
    kept = isinstance(operation.result, RemoteResult)
    return bool(limit) and kept and operation.is_idle(now - limit, running_too=False)
