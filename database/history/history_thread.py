"""The thread that writes a history, so that nothing waits for its database."""

import logging
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

from conf.errors import CausewayError
from conf.logs.batch_thread import BatchThread, Entry
from database.history.history_store import HistoryStore
from database.history.work import CopyRecord, WorkRecord

_log = logging.getLogger(__name__)
_DELAY = 0.5  # seconds in which entries gather
_RETRY = 1.0  # seconds between tries to use a database that does not answer
_TIDY = 300.0  # seconds between looks for rows that are too old
_CHUNKS = 20  # of old rows that are deleted before new ones are written again


class Batch(Protocol):
    """Rows that are written in one transaction."""

    def __len__(self) -> int: ...

    def write(self, store: HistoryStore) -> None:
        """Raises StoreUnavailable. Repeating it changes nothing."""
        ...

    def parts(self) -> Iterator["Batch"]:
        """A batch for each row."""
        ...


@dataclass(frozen=True, slots=True)
class WorkBatch:
    """Copies and instances."""

    records: Sequence[WorkRecord]

    def __len__(self) -> int:
        return len(self.records)

    def write(self, store: HistoryStore) -> None:
        copied = [each.row() for each in self.records if isinstance(each, CopyRecord)]
        ended = [each.row() for each in self.records if not isinstance(each, CopyRecord)]
        store.put_work(copied, ended)

    def parts(self) -> Iterator["WorkBatch"]:
        return (WorkBatch([each]) for each in self.records)


@dataclass(frozen=True, slots=True)
class Retention:
    """Rows older than `age` seconds are deleted, and the oldest of what is more than `size` bytes;
    0: none."""

    age: float = 0.0
    size: int = 0


E = TypeVar("E", bound=Entry)


class HistoryThread(BatchThread[E]):
    """Writes the batches that `batch_of` makes of entries to the database at `url`. With
    `retention` it deletes old rows, too, which one process of a server does.

    The database is opened by the thread, and opened again until it answers: a server starts without
    it. A history that is only read needs no `start`.
    """

    def __init__(
        self,
        url: str,
        batch_of: Callable[[list[E]], Batch],
        retention: Retention | None = None,
    ) -> None:
        super().__init__("history", _DELAY, None if retention is None else _TIDY)
        self._url = url
        self._batch_of = batch_of
        self._retention = retention
        self._store: HistoryStore | None = None
        self._failing = False
        self._tidied = -_TIDY

    def opened(self) -> HistoryStore:
        """The database. Raises StoreUnavailable."""
        if self._store is None:
            self._store = HistoryStore(self._url)
        return self._store

    # The thread's side

    def write_batch(self, entries: list[E]) -> int:
        """Waits for a database that does not answer: new entries gather meanwhile, up to the bound
        of the queue."""
        batch = self._batch_of(entries)
        lost = 0
        while len(batch):
            if self._is_written(batch):
                break
            if self._answers():
                lost = sum(not self._is_written(each) for each in batch.parts())
                break
            if self.pause(_RETRY):
                return len(batch)
        if entries and self._failing and not lost:
            self._failing = False
            _log.warning("the history is written again; it lacks %d entries", self.dropped)
        self._tidy()
        return lost

    def _is_written(self, batch: Batch) -> bool:
        try:
            batch.write(self.opened())
        except CausewayError as error:
            self._failed(error)
            return False
        return True

    def _answers(self) -> bool:
        """Whether the database can be used, so that a row alone may be at fault."""
        try:
            return self.opened().answers()
        except CausewayError:
            return False

    def _failed(self, error: CausewayError) -> None:
        if not self._failing:
            self._failing = True
            _log.warning("the history cannot be written: %s", error)

    def _tidy(self) -> None:
        """Deletes what is too old or too much, now and then. After an error it is tried again."""
        keep, now = self._retention, time.monotonic()
        if keep is None or now - self._tidied < _TIDY:
            return
        self._tidied = now
        try:
            store = self.opened()
            before = time.time() - keep.age if keep.age else 0.0
            excess = store.size() - keep.size if keep.size else 0
            for _ in range(_CHUNKS):
                deleted, freed = store.forget(before, excess)
                excess -= freed
                if not deleted:
                    return
        except CausewayError as error:
            self._failed(error)
            return
        self._tidied = -_TIDY  # more is left
