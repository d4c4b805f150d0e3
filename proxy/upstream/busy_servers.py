"""Queues of statements that wait until a Thrift Server has a thread for them.

A Thrift Server runs the statements of asynchronous calls in a pool of 100 threads with a queue for
100 more (`hive.server2.async.exec.threads`, `.wait.queue.size`), and refuses any more. It would not
refuse a synchronous call, but Causeway sends those of its clients asynchronously, too. So a refused
statement waits here, and is sent again when another one has ended there. Statements that come
meanwhile wait behind it and are not sent, since each refusal writes an exception with its stack
into the server's log.
"""

import asyncio
from collections import defaultdict
from time import monotonic

from conf.topology import Endpoint
from proxy.errors import ThriftServerError

_PAUSE = 1.0  # seconds between trials: other workers' statements may have ended there


class BusyServers:
    """One worker's queues for all Thrift Servers. Belongs to one event loop."""

    def __init__(self) -> None:
        self._queues = defaultdict[Endpoint, list[ThreadPlace]](list)
        self._timer: asyncio.TimerHandle | None = None

    @property
    def waiting(self) -> int:
        """The number of waiting statements."""
        return sum(map(len, self._queues.values()))

    def refusal(self, endpoint: Endpoint, place: "ThreadPlace | None") -> ThriftServerError | None:
        """The server's last refusal while statements wait for it. None if the statement with this
        `place` may be sent: no other waits, or the place was called."""
        queue = self._queues.get(endpoint)
        return queue[-1].refused if queue and not (place and place.is_called) else None

    def take(self, endpoint: Endpoint, refused: ThriftServerError) -> "ThreadPlace":
        """Puts a statement at the end of the endpoint's queue, after this refusal."""
        place = ThreadPlace(self, endpoint, refused, len(self._queues[endpoint]))
        self._queues[endpoint].append(place)
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(_PAUSE, self._try_all)
        return place

    def leave(self, place: "ThreadPlace") -> bool:
        """Removes the place. Returns whether it was in its queue."""
        queue = self._queues.get(place.endpoint, [])
        was_there = place in queue
        if was_there:
            queue.remove(place)
        if not queue:
            self._queues.pop(place.endpoint, None)
        return was_there

    def ended(self, endpoint: Endpoint, is_trial: bool = False) -> None:
        """Calls the first waiting statement: another one has ended there. With `is_trial` it is not
        known whether one has."""
        for place in self._queues.get(endpoint, ()):
            if place.call(is_trial):
                return

    def _try_all(self) -> None:
        self._timer = None
        for endpoint in list(self._queues):
            self.ended(endpoint, is_trial=True)
        if self._queues:
            self._timer = asyncio.get_running_loop().call_later(_PAUSE, self._try_all)


class ThreadPlace:
    """A statement's place in the queue of `endpoint`, from its first refusal until it is accepted.

    `refused` is the server's error, `ahead` the number of places before it at first, `since` a time
    of `time.monotonic`. `is_called`: the statement may be sent.
    """

    def __init__(
        self, servers: BusyServers, endpoint: Endpoint, refused: ThriftServerError, ahead: int
    ) -> None:
        self.endpoint = endpoint
        self.refused = refused
        self.ahead = ahead
        self.since = monotonic()
        self.is_called = False
        self._is_trial = False
        self._servers = servers
        self._call: asyncio.Future[None] | None = None

    async def turn(self, seconds: float) -> None:
        """Returns when the statement is to be sent again, or after `leave`. Raises TimeoutError so
        many seconds after the place was taken."""
        self.is_called = False
        self._call = asyncio.get_running_loop().create_future()
        try:
            async with asyncio.timeout(self.since + seconds - monotonic()):
                await self._call
        finally:
            self._call = None

    def call(self, is_trial: bool) -> bool:
        """Ends the wait in `turn`. Returns whether the statement was waiting there."""
        if self._call is None or self._call.done():
            return False
        self.is_called, self._is_trial = True, is_trial
        self._call.set_result(None)
        return True

    def accepted(self) -> None:
        """Leaves the queue: the server accepted the statement. After a trial the next statement is
        tried, too."""
        if self._servers.leave(self) and self._is_trial:
            self._servers.ended(self.endpoint, is_trial=True)

    def leave(self) -> None:
        """Leaves the queue: the statement is not sent there. If it was called, the next one is
        called in its place. A second call does nothing."""
        if self._servers.leave(self) and self.is_called:
            self._servers.ended(self.endpoint, self._is_trial)
        elif self._call is not None and not self._call.done():
            self._call.set_result(None)
