"""Limits of one statement: its time, and the rows and bytes of its result.

A Thrift Server collects a result in its heap before it returns the first row, and keeps it until
the operation is closed. So a statement that runs for too long is cancelled. A result is closed when
too much of it was read, and when its client no longer reads it.
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
    """Closes the result in its cluster and raises ResultTooLarge, if too much of it was read."""
    record = operation.record
    error = _excess(record.rows or 0, limits.result_rows, "rows") or _excess(
        record.bytes, limits.result_bytes, "bytes"
    )
    if error is None:
        return
    if isinstance(operation.result, RemoteResult):
        close_remote(operation)
        operation.result = LocalResult(NO_ROWS)
    raise error


def _excess(count: int, limit: int, what: str) -> CausewayError | None:
    if not limit or count < limit:
        return None
    return ResultTooLarge(f"The statement's result has more than {limit:,} {what}.")


async def stop_too_long(operation: Operation, limits: Limits) -> None:
    """Fails a statement that has run for too long, and cancels it in its cluster."""
    seconds = limits.statement_time
    error = StatementTimeout(f"The statement ran for more than {seconds:,.0f} seconds.")
    await operation.end(failure_of(error))


def is_too_long(operation: Operation, now: float, limits: Limits) -> bool:
    """Whether the statement has run for longer than it may. `now` is the event loop's time."""
    limit = limits.statement_time
    runs = not (operation.ended or operation.waits)
    return bool(limit) and runs and now - operation.began > limit


def is_unread(operation: Operation, now: float, limits: Limits) -> bool:
    """Whether the client has not used the result in a cluster for the idle time-out. `now` is the
    event loop's time."""
    limit = limits.idle_result
    kept = isinstance(operation.result, RemoteResult)
    return bool(limit) and kept and operation.is_idle(now - limit, running_too=False)
