"""Makes the copies that queries need. Queries that need the same copy wait for one run of it."""

import asyncio
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from conf.errors import CausewayError
from conf.formats import size_text
from conf.progress import Progress
from proxy.statement.copies.allowance import Allowance
from proxy.statement.copies.copier import Copier, CopyOrder
from router.needed_copies import CopyNeeded

_log = logging.getLogger(__name__)
_OTHER_RUN = "[CW611]"  # another process copies the same objects
_PAUSE = 2.0  # seconds between two attempts while another process copies
_PATIENCE = 600.0  # seconds until the attempts are given up
_LOG_EVERY = 5.0  # seconds between two lines about the progress of a copy

LogLine = Callable[[str], None]
"""Adds a line to the log of a query, which its client reads."""


@dataclass(slots=True)
class _Running:
    """A copy that is being made. `logs` are those of the queries that wait for it; `logged` is the
    event loop's time of the last line about its progress."""

    task: "asyncio.Task[int] | None" = None
    logs: list[LogLine] = field(default_factory=list)
    logged: float = -_LOG_EVERY

    def advance(self, done: int, total: int) -> None:
        """Logs how many of the bytes are sent: at once, and then every `_LOG_EVERY` seconds."""
        now = asyncio.get_running_loop().time()
        if now - self.logged >= _LOG_EVERY:
            self.logged = now
            for log_line in self.logs:
                log_line(f"{size_text(done)} of {size_text(total)} are sent.")


class Fetcher:
    """Makes copies with `copier`, which are kept for `keep` seconds. Each copy sends at most
    `bandwidth` bytes a second; 0: any number. `allowance` limits the bytes of a day, by user and by
    link.
    """

    def __init__(
        self,
        copier: Copier,
        keep: float,
        allowance: Allowance,
        bandwidth: int = 0,
        pause: float = _PAUSE,
    ) -> None:
        self._copier = copier
        self._keep = keep
        self._allowance = allowance
        self._bandwidth = bandwidth
        self._pause = pause
        self._running: dict[object, _Running] = {}

    async def fetch(
        self, user: str, copies: Sequence[CopyNeeded], most: int, log_line: LogLine
    ) -> None:
        """Makes the copies for a query of the user, one after the other, of at most `most` bytes in
        all. Each copy adds lines to the query's log.

        A copy that is being made for another query is waited for, and not counted. A cancelled call
        ends its copy if no other query waits for that. Raises CopyQuotaExceeded and the copier's
        errors.
        """
        for copy in copies:
            what = f"{_named(copy)} from {copy.source} to {copy.target}"
            log_line(f"Copying {what}, which no cluster has together with the other inputs.")
            sent = await self._join(copy, log_line)
            if sent is None:
                most -= (sent := await self._start(user, copy, most, log_line))
            log_line(f"Copied {what}: {size_text(sent)} were sent.")

    async def _join(self, copy: CopyNeeded, log_line: LogLine) -> int | None:
        """Waits for the copy if it is being made already, and returns the bytes sent. None if it is
        not, or if it failed: that may be due to a limit of the user whose query began it."""
        running = self._running.get(_key(copy))
        if running is None:
            return None
        try:
            return await self._outcome(_key(copy), running, log_line)
        except CausewayError:
            return None

    async def _start(self, user: str, copy: CopyNeeded, most: int, log_line: LogLine) -> int:
        """Makes the copy, and returns the bytes sent."""
        most = min(most, self._allowance.left(user, copy))
        key = _key(copy)
        running = self._running.get(key)
        if running is None:  # not None: another query has begun it again since `_join`
            running = self._running[key] = _Running()
            running.task = asyncio.ensure_future(self._make(user, copy, most, running.advance))
            running.task.add_done_callback(lambda _: self._forget(key, running))
        return await self._outcome(key, running, log_line)

    async def _outcome(self, key: object, running: _Running, log_line: LogLine) -> int:
        """The bytes sent by the copy. Cancels the copy if no other query waits for it."""
        assert running.task is not None
        running.logs.append(log_line)
        try:
            return await asyncio.shield(running.task)
        finally:
            running.logs.remove(log_line)
            if not running.logs and not running.task.done():
                running.task.cancel()
                self._forget(key, running)

    def _forget(self, key: object, running: _Running) -> None:
        if self._running.get(key) is running:
            del self._running[key]

    async def _make(self, user: str, copy: CopyNeeded, most: int, progress: Progress) -> int:
        """Makes the copy, after those of the same objects by other processes. Returns the bytes
        sent."""
        order = CopyOrder(
            copy.table,
            copy.partitions,
            copy.source,
            copy.target,
            most,
            self._keep,
            self._bandwidth,
        )
        clock = asyncio.get_running_loop().time
        deadline = clock() + _PATIENCE
        while True:
            try:
                done = await self._copier(order, progress)
                break
            except CausewayError as error:
                if _OTHER_RUN not in str(error) or clock() >= deadline:
                    raise
                await asyncio.sleep(self._pause)
        _log.info("copied for a query: %s: %s", copy.table, done.text)
        self._allowance.spend(user, copy, done.sent)
        return done.sent


def _key(copy: CopyNeeded) -> object:
    return copy.table, frozenset(copy.partitions), copy.target


def _named(copy: CopyNeeded) -> str:
    parts = len(copy.partitions)
    what = f"{parts} partition{'s' if parts > 1 else ''} of {copy.table}" if parts else copy.table
    return f"{what} (about {size_text(copy.size)})" if copy.size is not None else str(what)
