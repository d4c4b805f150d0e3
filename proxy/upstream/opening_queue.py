"""Opens few sessions at a Thrift Server at the same time; the others wait in order.

A Thrift Server answers logins and OpenSession slowly while it opens many sessions. Without this
queue it would then leave a login or a health check unanswered for so long that it counts as down.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from conf.names import ClusterName
from proxy.errors import LimitReached


class OpeningQueue:
    """The queue of one endpoint in one worker. Its length is bounded by the connections that the
    endpoint may have: each session in the queue counts as one (`UpstreamPool`)."""

    def __init__(self, at_once: int) -> None:
        self._turns = asyncio.Semaphore(at_once)
        self.waiting = 0  # sessions

    @asynccontextmanager
    async def turn(self, cluster: ClusterName, patience: float) -> AsyncIterator[bool]:
        """Waits for a turn, which lasts until the block ends. Yields whether it had to wait.

        Raises LimitReached if the turn does not come within `patience` seconds. A session that
        stops waiting leaves the queue.
        """
        has_to_wait = self._turns.locked()
        self.waiting += 1
        try:
            async with asyncio.timeout(patience):
                await self._turns.acquire()
        except TimeoutError:
            raise LimitReached(
                f"Cluster {cluster} opens too many sessions at the same time:"
                f" this one waited {patience:g} s for its turn."
            ) from None
        finally:
            self.waiting -= 1
        try:
            yield has_to_wait
        finally:
            self._turns.release()
