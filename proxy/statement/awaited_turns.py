"""The two waits of a statement before it runs: for earlier writes of its tables, and for a thread
of a busy Thrift Server."""

import asyncio
import logging
import math
from collections.abc import Callable, Collection

from conf.names import TableRef
from proxy.errors import TableBusy, ThriftServerError
from proxy.limits import Limits
from proxy.statement.write_queue.queue_client import WritePlace, WritePlaces
from proxy.upstream.busy_servers import ThreadPlace
from proxy.upstream.upstream_session import UpstreamSession

_log = logging.getLogger(__name__)


class AwaitedTurns:
    """The places of one statement in both queues.

    `timeout` is the client's for the statement, in seconds; 0: none. `log_line` adds a line to the
    log that the client reads.
    """

    def __init__(
        self, places: WritePlaces, limits: Limits, timeout: int, log_line: Callable[[str], None]
    ) -> None:
        self._places = places
        self._limits = limits
        self._timeout = timeout
        self._log_line = log_line
        self._write: WritePlace | None = None
        self._thread: ThreadPlace | None = None

    async def write(self, tables: Collection[TableRef], is_stopped: Callable[[], bool]) -> bool:
        """Waits for the turn to write the tables; the turn lasts until `leave`. Returns whether
        there were earlier writes. Raises TableBusy, WorkerFailed."""
        self._leave_write()
        names = sorted(map(str, tables))
        self._write = place = await self._places.take(names)
        if is_stopped():
            place.leave()
        elif place.ahead:
            written, wait = ", ".join(names), self._limits.write_wait
            _log.info("a statement waits for %d earlier writes of %s", place.ahead, written)
            self._places.waiting += 1
            try:
                async with asyncio.timeout(wait):
                    await place.turn()
            except TimeoutError:
                text = f"Earlier writes of {written} did not end within {wait:g} s."
                raise TableBusy(text) from None
            finally:
                self._places.waiting -= 1
        return place.ahead > 0

    def check_thread(self, server: UpstreamSession) -> None:
        """Raises the server's last refusal if other statements wait for a thread there, so that
        this one is not sent before them. Gives back a place in the queue of another server."""
        if self._thread is not None and self._thread.endpoint != server.endpoint:
            self._leave_thread()
        refused = server.busy.refusal(server.endpoint, self._thread)
        if refused is not None:
            raise refused

    async def thread(self, server: UpstreamSession, refused: ThriftServerError) -> None:
        """Waits until `server`, which refused the statement, may have a thread for it. Raises
        `refused` after the time-out."""
        if self._thread is None:
            self._thread = server.busy.take(server.endpoint, refused)
            cluster, ahead = server.cluster, self._thread.ahead
            _log.info("a statement waits for a thread of %s, after %d others", cluster, ahead)
            text = f"Cluster {cluster} has no free thread. Statements that wait: {ahead + 1}."
            self._log_line(text)
        seconds = min(self._limits.thread_wait, self._timeout or math.inf)
        try:
            await self._thread.turn(seconds)
        except TimeoutError:
            raise refused from None

    def accepted(self) -> None:
        """The server accepted the statement: leaves its queue."""
        if self._thread is not None:
            self._thread.accepted()
            self._thread = None

    def leave(self) -> None:
        """Leaves both queues: the statement has ended, or was stopped."""
        self._leave_write()
        self._leave_thread()

    def _leave_thread(self) -> None:
        if self._thread is not None:
            self._thread.leave()
            self._thread = None

    def _leave_write(self) -> None:
        if self._write is not None:
            self._write.leave()
