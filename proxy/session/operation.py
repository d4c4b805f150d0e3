"""A client's operation: a statement or metadata call, from its call to its closing.

The client's status and the work in the cluster are two things: a cancelled statement is cancelled
for the client at once, while its task waits for the end of the cluster's operation and marks a
write as ended.
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
    """A query that may run again if its cluster is lost with its result, while its client has no
    row of it. `changes` is the count of the session's changes when it ended."""

    request: ExecuteStatement
    changes: int


class Operation:
    """`kind` is TOperationType's number; `waiters` are released when the state is an end.
    `used` is the loop's time when it ended, or when its client last asked for it or had a reply
    about it."""

    def __init__(self, handle: Handle, kind: int) -> None:
        self.handle = handle
        self.kind = kind
        self.status = Status(OperationState.PENDING)
        self.waiters: set[asyncio.Future[None]] = set()
        self.began = self.used = asyncio.get_running_loop().time()
        self.record = Record()
        self.result: LocalResult | RemoteResult | None = None
        self.log: LocalResult | None = None  # of the proxy's own work for it
        self.repeatable: Repeatable | None = None
        self.waits = False  # until statements of its user have ended
        self.cancelled = False
        self.closed = False  # by its client; `working`: a statement's task still deals with it
        self.working = False
        self.learning = asyncio.Lock()
        self.task: asyncio.Task[None] | None = None
        self.stop: Callable[[], Awaitable[None]] = nothing_runs  # ends it in its cluster

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
        """Whether its client asked nothing of it since then; of one that ended, or of any."""
        return self.used <= since and (running_too or (self.ended and not self.working))

    def touch(self) -> None:
        """Its client may ask for it from now on."""
        self.used = asyncio.get_running_loop().time()

    def becomes(self, state: OperationState, failure: Failure | None = None) -> None:
        """Moves on; a client that cancelled keeps seeing that."""
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
        if self.ended:
            return
        waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.waiters.add(waiter)
        try:
            await waiter
        finally:
            self.waiters.discard(waiter)

    def fail(self, failure: Failure) -> None:
        """Ends in ERROR, unless it has ended."""
        if not self.ended:
            self.becomes(OperationState.ERROR, failure)

    async def learn_schema(self, remote: RemoteResult) -> bytes:
        """The schema of a finished operation. Raises ClusterLost, LimitReached."""
        if remote.schema is not None:
            return remote.schema
        async with self.learning:
            return await remote.learn_schema()

    async def cancel(self) -> None:
        """Cancelled for its client at once, and then ended in its cluster."""
        if not self.ended:
            self.becomes(OperationState.CANCELED)
            self.cancelled = True
            await self.stop()

    async def end(self, failure: Failure) -> None:
        """It fails for its client at once, and is ended in its cluster; unless it has ended."""
        if not self.ended:
            self.becomes(OperationState.ERROR, failure)
            self.cancelled = True  # the client does not see what its cluster says from now on
            await self.stop()


def close_remote(operation: Operation) -> None:
    """Has its result closed where it ran."""
    if isinstance(operation.result, RemoteResult):
        operation.result.close()


async def nothing_runs() -> None:
    """Metadata calls have ended when they become operations."""
