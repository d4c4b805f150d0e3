"""A client's operation: a statement or metadata call, until its client closes it.

The status that the client sees and the work in the cluster are separate. A cancelled statement is
CANCELED for its client at once, while its task waits for the end in the cluster and then removes
the mark of a write.
"""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace

from proxy.errors import Failure
from proxy.protocol.replies import Status
from proxy.protocol.requests import ExecuteStatement, Handle
from proxy.protocol.results import LOG
from proxy.protocol.types import ENDS, OperationState
from proxy.record.record import Record
from proxy.session.local_result import LocalResult
from proxy.session.states import advance, shown
from proxy.upstream.remote_result import RemoteResult
from proxy.upstream.upstream_connection import release


@dataclass(frozen=True, slots=True)
class Repeatable:
    """A query that may run again if its cluster is lost with the result, as long as its client has
    no row. `changes` is the session's `Journal.changes` when it ended."""

    request: ExecuteStatement
    changes: int


class Operation:
    """An operation.

    - `kind`: a number of TOperationType;
    - `waiters`: futures that are set when the operation ends;
    - `began`, `used`: the event loop's time of its beginning, and of its end or its client's last
      call or reply about it;
    - `log`: lines about the proxy's own work for it, which its client reads;
    - `waits`: it waits in the queue of its user's quota;
    - `cancelled`: the client sees its final state, and no later one;
    - `closed`: its client has closed it; `working`: the task of its statement still runs;
    - `stop`: ends the statement in its cluster.
    """

    def __init__(self, handle: Handle, kind: int) -> None:
        self.handle = handle
        self.kind = kind
        self.status = Status(OperationState.PENDING)
        self.waiters: set[asyncio.Future[None]] = set()
        self.began = self.used = asyncio.get_running_loop().time()
        self.record = Record()
        self.result: LocalResult | RemoteResult | None = None
        self.log: LocalResult | None = None
        self.repeatable: Repeatable | None = None
        self.waits = False
        self.cancelled = False
        self.closed = False
        self.working = False
        self.learning = asyncio.Lock()  # held while its schema is learned, or the query run again
        self.task: asyncio.Task[None] | None = None
        self.stop: Callable[[], Awaitable[None]] = nothing_runs

    def log_line(self, line: str) -> None:
        """Adds a line to the log that its client reads while no cluster runs the statement."""
        if self.log is None:
            self.log = LocalResult(LOG)
        self.log.table = replace(self.log.table, rows=(*self.log.table.rows, (line,)))

    @property
    def ended(self) -> bool:
        return self.status.state in ENDS

    @property
    def state(self) -> OperationState:
        return self.status.state

    @property
    def shown(self) -> Status:
        """The status as its client sees it."""
        return Status(shown(self.state), self.status.failure)

    def is_idle(self, since: float, running_too: bool) -> bool:
        """Whether its client has not used it since then. Without `running_too` an operation that
        has not ended is never idle."""
        return self.used <= since and (running_too or (self.ended and not self.working))

    def touch(self) -> None:
        """Sets the time of its last use."""
        self.used = asyncio.get_running_loop().time()

    def becomes(self, state: OperationState, failure: Failure | None = None) -> None:
        """Changes the state. Does nothing if the operation was cancelled."""
        if self.cancelled and self.state in ENDS:
            return
        self.status = Status(advance(self.state, state), failure)
        self.record.state = state
        if state in ENDS:
            self.touch()
            self.record.end(state, failure)
            for waiter in self.waiters:
                release(waiter, None)

    async def until_ended(self) -> None:
        """Returns when the operation has ended."""
        if self.ended:
            return
        waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.waiters.add(waiter)
        try:
            await waiter
        finally:
            self.waiters.discard(waiter)

    def fail(self, failure: Failure) -> None:
        """Ends the operation in ERROR, unless it has ended."""
        if not self.ended:
            self.becomes(OperationState.ERROR, failure)

    async def learn_schema(self, remote: RemoteResult) -> bytes:
        """The schema of a finished operation, requested from the cluster once. Raises ClusterLost,
        LimitReached."""
        if remote.schema is not None:
            return remote.schema
        async with self.learning:
            return await remote.learn_schema()

    async def cancel(self) -> None:
        """Cancels the operation for its client at once, and then in its cluster."""
        if not self.ended:
            self.becomes(OperationState.CANCELED)
            self.cancelled = True
            await self.stop()

    async def end(self, failure: Failure) -> None:
        """Fails the operation for its client at once, and ends it in its cluster, unless it has
        ended."""
        if not self.ended:
            self.becomes(OperationState.ERROR, failure)
            self.cancelled = True  # later states of the cluster's operation do not count
            await self.stop()


def close_remote(operation: Operation) -> None:
    """Closes the operation's result in its cluster, if it has one there."""
    if isinstance(operation.result, RemoteResult):
        operation.result.close()


async def nothing_runs() -> None:
    """The `stop` of an operation that has no running statement, such as a metadata call."""
