"""A bounded queue, and the thread that writes its entries in batches.

No client waits for a disk or a database. Entries that arrive faster than they can be written are
dropped and counted, so that a slow or dead disk or database neither stops work nor fills memory.
"""

import logging
import threading
from abc import ABC, abstractmethod
from contextlib import suppress
from queue import Empty, SimpleQueue
from typing import Generic, Protocol, TypeVar

from conf.errors import Blame
from conf.logs.log_fields import extra, new_incident

_log = logging.getLogger(__name__)
MAX_WAITING = 10_000
MAX_CHARACTERS = 64 << 20  # in all waiting entries
_BATCH = 500  # entries
_CLOSE = 5.0  # seconds in which `close` writes the waiting entries


class Entry(Protocol):
    """An entry to be written. It must not change after `put`, unless its writer allows it."""

    @property
    def kept(self) -> int:
        """Characters in memory."""
        ...


E = TypeVar("E", bound=Entry)


class BatchThread(ABC, Generic[E]):
    """The queue and its thread. A subclass writes the batches.

    A batch is written `delay` seconds after an entry was put into an empty queue, so that batches
    are large and the event loop seldom wakes the thread. After `idle` seconds without an entry the
    thread writes an empty batch.
    """

    def __init__(self, name: str, delay: float = 0.0, idle: float | None = None) -> None:
        self._name = name
        self._delay = delay
        self._idle = idle
        self._queue: SimpleQueue[E | None] = SimpleQueue()
        self._put = self._characters_put = 0
        self._taken = self._characters_taken = 0  # changed only by the thread
        self._refused = self._lost = 0
        self._closing = threading.Event()
        self._putting = threading.Lock()
        self._thread = threading.Thread(target=self._write_all, name=name, daemon=True)

    def start(self) -> None:
        """Starts the thread. Entries that were put before are written too."""
        self._thread.start()

    @property
    def dropped(self) -> int:
        """The number of entries that were not written."""
        return self._refused + self._lost

    @property
    def is_running(self) -> bool:
        """Whether the thread has started and not ended."""
        return self._thread.is_alive()

    @property
    def waiting(self) -> int:
        """The number of entries that are not written yet."""
        return self._put - self._taken

    def put(self, entry: E) -> None:
        """Queues an entry, or drops it if too many are waiting. Any thread may call it."""
        with self._putting:
            characters = self._characters_put - self._characters_taken
            if self.waiting >= MAX_WAITING or characters >= MAX_CHARACTERS:
                self._refused += 1
                return
            self._put += 1
            self._characters_put += entry.kept
        self._queue.put(entry)

    def close(self) -> None:
        """Writes the queued entries, for a few seconds at most, and ends the thread."""
        self._closing.set()
        self._queue.put(None)
        self._thread.join(_CLOSE)

    # The thread's side

    @abstractmethod
    def write_batch(self, entries: list[E]) -> int:
        """Writes the entries; returns how many of them it could not write."""

    def pause(self, seconds: float) -> bool:
        """Waits that long. Returns True, possibly earlier, if the thread has to end."""
        return self._closing.wait(seconds)

    def _write_all(self) -> None:
        going = True
        while going:
            batch, going = self._batch()
            characters = sum(entry.kept for entry in batch)
            try:
                if batch or going:
                    self._lost += self.write_batch(batch)
            except Exception:
                fields = extra(incident=new_incident(), blame=Blame.CAUSEWAY.value)
                _log.exception("internal error while writing the %s", self._name, extra=fields)
                self._lost += len(batch)
            self._taken += len(batch)
            self._characters_taken += characters

    def _batch(self) -> tuple[list[E], bool]:
        """The next entries, and whether more may come."""
        batch: list[E] = []
        with suppress(Empty):
            entry = self._queue.get(timeout=self._idle)
            if entry is not None and self._delay:
                self.pause(self._delay)
            while entry is not None:
                batch.append(entry)
                if len(batch) == _BATCH:
                    return batch, True
                entry = self._queue.get_nowait()
            return batch, False
        return batch, True
