"""Makes the copies that a query lacks, each one once at a time for all that wait for it."""

import asyncio
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from conf.errors import CausewayError
from conf.formats import size_text
from conf.progress import Progress
from proxy.statement.copies.allowance import Allowance
from proxy.statement.copies.copier import Copier, CopyOrder
from router.cures import CopyNeeded

_log = logging.getLogger(__name__)
_OTHER_RUN = "[CW611]"  # another process copies the same objects
_PAUSE = 2.0  # seconds before it is tried again
_PATIENCE = 600.0  # seconds until it is given up
_TELL_EVERY = 5.0  # seconds between two lines on the progress of a copy

Tell = Callable[[str], None]


@dataclass(slots=True)
class _Running:
    """A copy that is being made. `told` are the logs of the queries that wait for it."""

    task: "asyncio.Task[int] | None" = None
    told: list[Tell] = field(default_factory=list)
    last: float = -_TELL_EVERY

    def advance(self, done: int, total: int) -> None:
        """Tells the queries how far it is; the first time at once, then every some seconds."""
        now = asyncio.get_running_loop().time()
        if now - self.last >= _TELL_EVERY:
            self.last = now
            for tell in self.told:
                tell(f"{size_text(done)} of {size_text(total)} are sent.")


class Fetcher:
    """Copies are kept for `keep` seconds, and each is sent at `bandwidth` bytes a second at most
    (0: any number). `allowance` bounds what one user has copied, and what is copied over one link.
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

    async def fetch(self, user: str, copies: Sequence[CopyNeeded], most: int, tell: Tell) -> None:
        """Makes the copies for a query of the user, one after the other, of at most `most` bytes in
        all. `tell` gets a line for each.

        A copy that is being made for another query is waited for, and not counted. A cancelled call
        ends its copy if no other query waits for that. Raises CopyQuotaExceeded and the copier's
        errors.
        """
        for copy in copies:
            what = f"{_named(copy)} from {copy.source} to {copy.target}"
            tell(f"Copying {what}, which no cluster has together with the other inputs.")
            sent = await self._joined(copy, tell)
            if sent is None:
                most -= (sent := await self._started(user, copy, most, tell))
            tell(f"Copied {what}: {size_text(sent)} were sent.")

    async def _joined(self, copy: CopyNeeded, tell: Tell) -> int | None:
        """The bytes sent by a copy that was being made already; None where there was none or it
        failed, which may be for a bound of the user who began it."""
        running = self._running.get(_key(copy))
        if running is None:
            return None
        try:
            return await self._outcome(_key(copy), running, tell)
        except CausewayError:
            return None

    async def _started(self, user: str, copy: CopyNeeded, most: int, tell: Tell) -> int:
        most = min(most, self._allowance.left(user, copy))
        key = _key(copy)
        running = self._running.get(key)
        if running is None:  # another query may have begun it again
            running = self._running[key] = _Running()
            running.task = asyncio.ensure_future(self._make(user, copy, most, running.advance))
            running.task.add_done_callback(lambda _: self._forget(key, running))
        return await self._outcome(key, running, tell)

    async def _outcome(self, key: object, running: _Running, tell: Tell) -> int:
        """The result of the copy, which ends when nobody waits for it any more."""
        assert running.task is not None
        running.told.append(tell)
        try:
            return await asyncio.shield(running.task)
        finally:
            running.told.remove(tell)
            if not running.told and not running.task.done():
                running.task.cancel()
                self._forget(key, running)

    def _forget(self, key: object, running: _Running) -> None:
        if self._running.get(key) is running:
            del self._running[key]

    async def _make(self, user: str, copy: CopyNeeded, most: int, progress: Progress) -> int:
        """Makes the copy, after others of the same objects that run elsewhere. Returns the bytes
        that were sent."""
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
