"""Statements that wait until a Thrift Server has a thread for them.

A Thrift Server runs statements of asynchronous calls in a pool of 100 threads with a queue for 100
more (`hive.server2.async.exec.threads`, `.wait.queue.size`), and refuses what does not fit. All
statements of Causeway are such calls, also those of clients that would never be refused directly,
since they ask synchronously. So a refused statement waits here, and is sent again when another one
has ended there. Statements that come meanwhile wait behind it, without asking: each refusal costs
the server an exception with its stack in the log.
"""

import asyncio
from collections import defaultdict
from time import monotonic

from conf.topology import Endpoint
from proxy.errors import Rejected

_PAUSE = 1.0  # seconds after which the first one tries, since others than this worker end, too


class BusyServers:
    """The queues before all Thrift Servers, of one worker. Belongs to one event loop."""

    def __init__(self) -> None:
        self._queues = defaultdict[Endpoint, list[ThreadPlace]](list)
        self._timer: asyncio.TimerHandle | None = None

    @property
    def waiting(self) -> int:
        """Statements."""
        return sum(map(len, self._queues.values()))

    def refusal(self, endpoint: Endpoint, place: "ThreadPlace | None") -> Rejected | None:
        """The server's last refusal while statements wait for it; None for one that may be sent:
        no other waits, or its `place` was called."""
        queue = self._queues.get(endpoint)
        return queue[-1].refused if queue and not (place and place.is_called) else None

    def take(self, endpoint: Endpoint, refused: Rejected) -> "ThreadPlace":
        """The last place in the endpoint's queue, after this refusal."""
        place = ThreadPlace(self, endpoint, refused, len(self._queues[endpoint]))
        self._queues[endpoint].append(place)
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(_PAUSE, self._try_all)
        return place

    def leave(self, place: "ThreadPlace") -> bool:
        """Returns whether it was in its queue."""
        queue = self._queues.get(place.endpoint, [])
        was_there = place in queue
        if was_there:
            queue.remove(place)
        if not queue:
            self._queues.pop(place.endpoint, None)
        return was_there

    def ended(self, endpoint: Endpoint, is_trial: bool = False) -> None:
        """A statement has ended there, or it is tried whether one has: the first one that still
        waits is sent."""
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
    """A statement's place in the queue before `endpoint`, from its first refusal to its end there.
    `ahead` counts those that were there before it, `since` is in seconds of the monotonic clock."""

    def __init__(
        self, servers: BusyServers, endpoint: Endpoint, refused: Rejected, ahead: int
    ) -> None:
        self.endpoint = endpoint
        self.refused = refused
        self.ahead = ahead
        self.since = monotonic()
        self.is_called = False  # it may be sent
        self._is_trial = False
        self._servers = servers
        self._call: asyncio.Future[None] | None = None

    async def turn(self, seconds: float) -> None:
        """Returns when the statement is to be sent again. Raises TimeoutError when so many seconds
        have passed since the place was taken."""
        self.is_called = False
        self._call = asyncio.get_running_loop().create_future()
        try:
            async with asyncio.timeout(self.since + seconds - monotonic()):
                await self._call
        finally:
            self._call = None

    def call(self, is_trial: bool) -> bool:
        """Whether the statement was waiting for its turn, which comes now."""
        if self._call is None or self._call.done():
            return False
        self.is_called, self._is_trial = True, is_trial
        self._call.set_result(None)
        return True

    def accepted(self) -> None:
        """The server has a thread for the statement. After a trial the next one is tried."""
        if self._servers.leave(self) and self._is_trial:
            self._servers.ended(self.endpoint, is_trial=True)

    def leave(self) -> None:
        """The statement is not sent there: the next one has its turn. Nothing happens if it has
        left before."""
        if self._servers.leave(self) and self.is_called:
            self._servers.ended(self.endpoint, self._is_trial)
        elif self._call is not None and not self._call.done():
            self._call.set_result(None)
