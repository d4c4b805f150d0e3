"""The thread that writes the history, so that its callers do not wait for the database."""

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
_DELAY = 0.5  # seconds for which entries are collected into a batch
_RETRY = 1.0  # seconds between attempts while the database does not answer
_TIDY = 300.0  # seconds between deletions of old rows
_CHUNKS = 20  # chunks of old rows that are deleted before new rows are written again


class Batch(Protocol):
    """Rows that are written in one transaction."""

    def __len__(self) -> int: ...

    def write(self, store: HistoryStore) -> None:
        """Writes the rows. A repetition changes nothing. Raises StoreUnavailable."""
        ...

    def parts(self) -> Iterator["Batch"]:
        """A batch for each row."""
        ...


@dataclass(frozen=True, slots=True)
class WorkBatch:
    """A batch of copies and instances."""

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
    """Rows older than `age` seconds are deleted, and the oldest rows while all together have more
    than `size` bytes; 0: no limit."""

    age: float = 0.0
    size: int = 0


E = TypeVar("E", bound=Entry)


class HistoryThread(BatchThread[E]):
    """Writes the batches that `batch_of` makes of entries to the database at `url`. With
    `retention` it also deletes old rows; only one process of a server has one.

    The thread opens the database, and repeats that until it answers, so that a server starts
    without it. To read the history, `start` is not needed.
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

    def history_store(self) -> HistoryStore:
        """The database, opened at the first call. Raises StoreUnavailable."""
        if self._store is None:
            self._store = HistoryStore(self._url)
        return self._store

    # Called by the thread

    def write_batch(self, entries: list[E]) -> int:
        """Writes a batch; returns the number of entries that were lost. While the database does not
        answer, it waits, and new entries are queued up to the queue's limit."""
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
            batch.write(self.history_store())
        except CausewayError as error:
            self._failed(error)
            return False
        return True

    def _answers(self) -> bool:
        """Whether the database can be used, so that a single row may have caused the error."""
        try:
            return self.history_store().answers()
        except CausewayError:
            return False

    def _failed(self, error: CausewayError) -> None:
        if not self._failing:
            self._failing = True
            _log.warning("the history cannot be written: %s", error)

    def _tidy(self) -> None:
        """Deletes rows by the retention, at most once in _TIDY seconds while none are left over."""
        retention, now = self._retention, time.monotonic()
        if retention is None or now - self._tidied < _TIDY:
            return
        self._tidied = now
        try:
            store = self.history_store()
            before = time.time() - retention.age if retention.age else 0.0
            excess = store.size() - retention.size if retention.size else 0
            for _ in range(_CHUNKS):
                deleted, freed = store.forget(before, excess)
                excess -= freed
                if not deleted:
                    return
        except CausewayError as error:
            self._failed(error)
            return
        self._tidied = -_TIDY  # more rows are to be deleted after the next batch
