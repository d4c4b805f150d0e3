"""The history of one proxy's process: the thread that writes it, and the threads that read it."""

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
_PATIENCE = 8.0  # seconds for a page; below the administration's own time-out


@dataclass(frozen=True, slots=True)
class StatementEnded:
    """A statement ended; `uses` are its tables."""

    record: Record
    uses: tuple[TableUse, ...]

    @property
    def kept(self) -> int:
        return self.record.kept


@dataclass(frozen=True, slots=True)
class StatementCompleted:
    """The client of a statement that ended can fetch no more."""

    record: Record
    kept: int = 100


@dataclass(frozen=True, slots=True)
class StatementBatch:
    """Rows of statements that ended, and changes of rows that were written before, by their ids."""

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
    """Keeps the statements of this process in the database at `url`. `proxy` names the process's
    host. With `retention` it deletes old rows, too. `dropped` counts the statements that the
    history lacks, or whose amounts it lacks."""

    def __init__(self, url: str, proxy: str, retention: Retention | None = None) -> None:
        super().__init__(url, self._statement_batch, retention)
        self._proxy = proxy
        self._readers = DaemonThreads(_READERS, "history reader")

    def ended(self, record: Record, uses: tuple[TableUse, ...]) -> None:
        """Keeps a statement that ended."""
        self.put(StatementEnded(record, uses))

    def completed(self, record: Record) -> None:
        """Keeps the amounts that the client of a statement got in the end."""
        self.put(StatementCompleted(record))

    async def page(self, parameters: Mapping[str, str]) -> dict[str, Any]:
        """A page of statements. Raises BadSearch, StoreUnavailable."""
        return await self.answer("statements", parameters)

    async def answer(self, question: str, parameters: Mapping[str, str]) -> dict[str, Any]:
        """The answer of `HistoryStore.answer`. Raises BadSearch, StoreUnavailable."""

        def answer() -> dict[str, Any]:
            return self.opened().answer(question, parameters)

        try:
            async with asyncio.timeout(_PATIENCE):
                return await self._readers.run(answer)
        except TimeoutError:
            text = f"The history did not answer within {_PATIENCE:g} s."
            raise StoreUnavailable(text) from None

    def _statement_batch(
        self, entries: list[StatementEnded | StatementCompleted]
    ) -> StatementBatch:
        """Runs in the thread that writes."""
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
