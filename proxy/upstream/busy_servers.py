"""Statements that wait until a Thrift Server has a thread for them.

A Thrift Server runs statements of asynchronous calls in a pool of 100 threads with a queue for 100
more (`hive.server2.async.exec.threads`, `.wait.queue.size`), and refuses what does not fit. All
statements of Causeway are such calls, also those of clients that would never be refused directly,
since they ask synchronously. So a refused statement waits here, and is sent again when another one
has ended there: those that were refused first are sent first.
"""

import asyncio
from collections import defaultdict
from time import monotonic

from conf.topology import Endpoint

_PAUSE = 1.0  # seconds after which the next one tries, since others than this worker end, too


class BusyServers:
    """The lines before all Thrift Servers, of one worker. Belongs to one event loop."""

    def __init__(self) -> None:
        self._lines = defaultdict[Endpoint, list[LinePlace]](list)
        self._timer: asyncio.TimerHandle | None = None

    @property
    def waiting(self) -> int:
        """Statements."""
        return sum(map(len, self._lines.values()))

    def take(self, endpoint: Endpoint) -> "LinePlace":
        """The last place in the endpoint's line."""
        place = LinePlace(self, endpoint, len(self._lines[endpoint]))
        self._lines[endpoint].append(place)
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(_PAUSE, self._try_all)
        return place

    def leave(self, place: "LinePlace") -> None:
        """Nothing happens if it has left before."""
        line = self._lines.get(place.endpoint, [])
        if place in line:
            line.remove(place)
        if not line:
            self._lines.pop(place.endpoint, None)

    def ended(self, endpoint: Endpoint) -> None:
        """A statement has ended there: the first one that still waits is sent."""
        for place in self._lines.get(endpoint, ()):
            if place.call():
                return

    def _try_all(self) -> None:
        self._timer = None
        for endpoint in list(self._lines):
            self.ended(endpoint)
        if self._lines:
            self._timer = asyncio.get_running_loop().call_later(_PAUSE, self._try_all)


class LinePlace:
    """A statement's place in the line before `endpoint`, from the first refusal on until it leaves.
    `ahead` counts those that were there before it, `since` is in seconds of the monotonic clock."""

    def __init__(self, servers: BusyServers, endpoint: Endpoint, ahead: int) -> None:
        self.endpoint = endpoint
        self.ahead = ahead
        self.since = monotonic()
        self._servers = servers
        self._called: asyncio.Future[None] | None = None

    async def turn(self, seconds: float) -> None:
        """Returns when the statement is to be sent again. Raises TimeoutError when so many seconds
        have passed since the place was taken."""
        self._called = asyncio.get_running_loop().create_future()
        try:
            async with asyncio.timeout(self.since + seconds - monotonic()):
                await self._called
        finally:
            self._called = None

    def call(self) -> bool:
        """Whether the statement was waiting for its turn, which comes now."""
        if self._called is None or self._called.done():
            return False
        self._called.set_result(None)
        return True

    def leave(self) -> None:
        self._servers.leave(self)
        self.call()
