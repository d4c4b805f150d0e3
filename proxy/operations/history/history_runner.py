"""The history of one process of the proxy: a thread that writes it, and threads that read it."""

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from database.errors import StoreUnavailable
from database.history.history_store import HistoryStore
from database.history.history_thread import HistoryThread, Retention
from database.history.work import Row
from proxy.auth.thread_pool import DaemonThreads
from proxy.operations.history.row import amounts_of, row_of
from proxy.operations.history.table_use import TableUse
from proxy.record.record import Record

_READERS = 4
_TIMEOUT = 8.0  # seconds for a page; less than the time-out of operators' requests


@dataclass(frozen=True, slots=True)
class StatementEnded:
    """A statement ended; `uses` are its reads and writes of tables."""

    record: Record
    uses: tuple[TableUse, ...]

    @property
    def kept(self) -> int:
        return self.record.kept


@dataclass(frozen=True, slots=True)
class StatementCompleted:
    """The operation of a statement that ended was closed, so the amounts fetched are known."""

    record: Record
    kept: int = 100


@dataclass(frozen=True, slots=True)
class StatementBatch:
    """Rows of statements that ended, and changes to earlier rows by the statement's id."""

    rows: Sequence[Row]
    changes: Mapping[str, Row]

    def __len__(self) -> int:
        return len(self.rows) + len(self.changes)

    def write(self, store: HistoryStore) -> None:
        store.put(self.rows, self.changes)

    def parts(self) -> Iterator["StatementBatch"]:
        yield from (StatementBatch([row], {}) for row in self.rows)
        yield from (StatementBatch([], dict([each])) for each in self.changes.items())


class HistoryRunner(HistoryThread[StatementEnded | StatementCompleted]):
    """Writes the statements of this process to the database at `url`, and searches it.

    `proxy` is the name of this host in the rows. With `retention` it also deletes old rows.
    `dropped` counts the rows, and the final amounts of rows, that could not be stored.
    """

    def __init__(self, url: str, proxy: str, retention: Retention | None = None) -> None:
        super().__init__(url, self._statement_batch, retention)
        self._proxy = proxy
        self._readers = DaemonThreads(_READERS, "history reader")

    def ended(self, record: Record, uses: tuple[TableUse, ...]) -> None:
        """Queues the row of a statement that ended."""
        self.put(StatementEnded(record, uses))

    def completed(self, record: Record) -> None:
        """Queues the final amounts that the client of a statement fetched."""
        self.put(StatementCompleted(record))

    async def page(self, parameters: Mapping[str, str]) -> dict[str, Any]:
        """A page of statements. Raises BadSearch, StoreUnavailable."""
        return await self.answer("statements", parameters)

    async def answer(self, question: str, parameters: Mapping[str, str]) -> dict[str, Any]:
        """The result of `HistoryStore.answer`. Raises BadSearch, StoreUnavailable."""

        def answer() -> dict[str, Any]:
            return self.history_store().answer(question, parameters)

        try:
            async with asyncio.timeout(_TIMEOUT):
                return await self._readers.run(answer)
        except TimeoutError:
            text = f"The history did not answer within {_TIMEOUT:g} s."
            raise StoreUnavailable(text) from None

    def _statement_batch(
        self, entries: list[StatementEnded | StatementCompleted]
    ) -> StatementBatch:
        """The rows and changes for these entries. Runs in the writing thread."""
        rows = {
            each.record.statement: row_of(each.record, each.uses, self._proxy)
            for each in entries
            if isinstance(each, StatementEnded)
        }
        changes = {
            each.record.statement: amounts_of(each.record)
            for each in entries
            if isinstance(each, StatementCompleted) and each.record.statement not in rows
        }
        return StatementBatch(list(rows.values()), changes)
