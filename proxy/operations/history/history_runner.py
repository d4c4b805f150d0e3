"""The history of one process: the thread that writes it, and the threads that read it."""

import asyncio
import logging
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from conf.errors import CausewayError
from database.errors import StoreUnavailable
from proxy.auth.thread_pool import DaemonThreads
from proxy.operations.batch_thread import BatchThread
from proxy.operations.history.history_store import HistoryStore
from proxy.operations.history.row import Row, amounts_of, row_of
from proxy.operations.history.search import Search
from proxy.operations.history.table_use import TableUse
from proxy.operations.record import Record

_log = logging.getLogger(__name__)
_DELAY = 0.25  # seconds in which entries gather
_RETRY = 1.0  # seconds between tries to use a database that does not answer
_READERS = 4
_PATIENCE = 8.0  # seconds for a page; below the administration's own time-out
_TIDY = 300.0  # seconds between looks for statements that are too old
_CHUNKS = 20  # of old statements that are deleted before new ones are written again


@dataclass(frozen=True, slots=True)
class Ended:
    """A statement ended; `uses` are its tables."""

    record: Record
    uses: tuple[TableUse, ...]

    @property
    def kept(self) -> int:
        return self.record.kept


@dataclass(frozen=True, slots=True)
class Completed:
    """The client of a statement that ended can fetch no more."""

    record: Record
    kept: int = 100


@dataclass(frozen=True, slots=True)
class Retention:
    """Statements older than `age` seconds are deleted, and the oldest of what is more than `size`
    bytes; 0: none."""

    age: float = 0.0
    size: int = 0


class History:
    """Keeps the statements of this process in the database at `url`. `proxy` names the process's
    host. With `retention` it deletes old statements, too, which one process of a server does.

    The database is opened by the threads, and opened again until it answers: the server starts
    without it.
    """

    def __init__(self, url: str, proxy: str, retention: Retention | None = None) -> None:
        self._url = url
        self._proxy = proxy
        self._retention = retention
        self._store: HistoryStore | None = None
        self._failing = False
        self._tidied = -_TIDY
        self._readers = DaemonThreads(_READERS, "history reader")
        idle = None if retention is None else _TIDY
        self._thread: BatchThread[Ended | Completed] = BatchThread(
            "history", self._write, _DELAY, idle
        )

    def start(self) -> None:
        """Starts to write; a history that is only read needs no start."""
        self._thread.start()

    @property
    def dropped(self) -> int:
        """The number of statements that the history lacks, or whose amounts it lacks."""
        return self._thread.dropped

    def ended(self, record: Record, uses: tuple[TableUse, ...]) -> None:
        """Keeps a statement that ended."""
        self._thread.put(Ended(record, uses))

    def completed(self, record: Record) -> None:
        """Keeps the amounts that the client of a statement got in the end."""
        self._thread.put(Completed(record))

    def close(self) -> None:
        """Writes what is queued, for a few seconds at most."""
        self._thread.close()

    async def page(self, parameters: Mapping[str, str]) -> dict[str, Any]:
        """A page of the history (`HistoryStore.page`). Raises BadSearch, StoreUnavailable."""
        search = Search.read(parameters)
        try:
            async with asyncio.timeout(_PATIENCE):
                return await self._readers.run(lambda: self._opened().page(search))
        except TimeoutError:
            text = f"The history did not answer within {_PATIENCE:g} s."
            raise StoreUnavailable(text) from None

    # The thread's side

    def _opened(self) -> HistoryStore:
        """Raises StoreUnavailable."""
        if self._store is None:
            self._store = HistoryStore(self._url)
        return self._store

    def _write(self, entries: list[Ended | Completed]) -> int:
        """The number of entries that were not written. Waits for a database that does not answer:
        new entries gather meanwhile, up to the bound of the queue."""
        rows = {
            each.record.statement: row_of(each.record, each.uses, self._proxy)
            for each in entries
            if isinstance(each, Ended)
        }
        changes = {
            each.record.statement: amounts_of(each.record)
            for each in entries
            if isinstance(each, Completed) and each.record.statement not in rows
        }
        lost = 0
        while rows or changes:
            try:
                self._opened().put(list(rows.values()), changes)
                break
            except CausewayError as error:
                self._failed(error)
            if self._answers():
                lost = self._write_each(rows, changes)
                break
            if self._thread.pause(_RETRY):
                return len(rows) + len(changes)
        if entries and self._failing and not lost:
            self._failing = False
            _log.warning("the history is written again; it lacks %d statements", self.dropped)
        self._tidy()
        return lost

    def _answers(self) -> bool:
        try:
            return self._opened().answers()
        except CausewayError:
            return False

    def _write_each(self, rows: Mapping[str, Row], changes: Mapping[str, Row]) -> int:
        """Writes each row alone, so that one that the database refuses takes no other along."""
        store, lost = self._opened(), 0
        for row in rows.values():
            lost += not self._written(store, [row], {})
        for each in changes.items():
            lost += not self._written(store, [], dict([each]))
        return lost

    def _written(self, store: HistoryStore, ended: list[Row], completed: dict[str, Row]) -> bool:
        try:
            store.put(ended, completed)
        except CausewayError as error:
            self._failed(error)
            return False
        return True

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
            store = self._opened()
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
