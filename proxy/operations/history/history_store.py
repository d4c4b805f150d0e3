"""The history's database: rows in, pages out, old rows away."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from sqlalchemy import bindparam, delete, func, select, text, update

from database.database import open_database
from proxy.operations.history.migrations import MIGRATIONS
from proxy.operations.history.row import Row, document_of
from proxy.operations.history.schema import PHASES, statements, tables
from proxy.operations.history.search import Search, cursor_of

CHUNK = 1_000  # rows that one transaction deletes
_CHANGING = (*PHASES, "rows", "bytes", "closed")
_COMPLETE = (
    update(statements)
    .where(statements.c.statement == bindparam("of_statement"))
    .values({name: bindparam(f"new_{name}") for name in _CHANGING})
)
_OLDEST = (
    select(statements.c.statement, statements.c.began, statements.c.weight)
    .order_by(statements.c.began, statements.c.statement)
    .limit(CHUNK)
    .with_for_update(skip_locked=True)  # of another proxy, which deletes them already
)
_SIZE = select(func.coalesce(func.sum(statements.c.weight), 0))


class HistoryStore:
    """Opens the history at `url`, creating or migrating its tables. Raises StoreUnavailable, as
    every method does."""

    def __init__(self, url: str) -> None:
        self._database = open_database(url)
        self._add = self._database.insert(statements).on_conflict_do_nothing()
        self._add_tables = self._database.insert(tables).on_conflict_do_nothing()
        self._database.migrate(MIGRATIONS)

    def put(self, ended: Sequence[Row], completed: Mapping[str, Row]) -> None:
        """Adds the rows of statements that ended, and completes the rows of others by their id.
        Repeating it changes nothing."""
        used = [each for row in ended for each in _tables(row)]
        with self._database.transaction() as connection:
            if ended:
                connection.execute(self._add, ended)
            if used:
                connection.execute(self._add_tables, used)
            if completed:
                connection.execute(_COMPLETE, [_change(*each) for each in completed.items()])

    def answers(self) -> bool:
        """True. Raises StoreUnavailable if the database cannot be used at all."""
        with self._database.transaction(reading=True) as connection:
            return bool(connection.execute(text("SELECT 1")).scalar_one())

    def page(self, search: Search) -> dict[str, Any]:
        """`statements`, the newest first, and `next`: the `before` of the next page, None after the
        last one."""
        with self._database.transaction(reading=True) as connection:
            rows = [dict(row) for row in connection.execute(search.statement()).mappings()]
        more = len(rows) == search.limit
        return {
            "statements": [document_of(row) for row in rows],
            "next": cursor_of(rows[-1]) if more else None,
        }

    def size(self) -> int:
        """Bytes of all rows, about."""
        with self._database.transaction(reading=True) as connection:
            return int(connection.execute(_SIZE).scalar_one())

    def forget(self, before: float, excess: int) -> tuple[int, int]:
        """Deletes a chunk of the oldest statements: those that began `before` this time, or go
        before the row with which `excess` bytes are freed. The number of statements and bytes that
        were deleted."""
        with self._database.transaction() as connection:
            old, freed = [], 0
            for statement, began, weight in connection.execute(_OLDEST):
                if began >= before and freed >= excess:
                    break
                old.append(statement)
                freed += weight
            if old:
                for table in (statements, tables):
                    connection.execute(delete(table).where(table.c.statement.in_(old)))
        return len(old), freed


def _change(statement: str, row: Row) -> Row:
    return {"of_statement": statement, **{f"new_{name}": row[name] for name in _CHANGING}}


def _tables(row: Row) -> Iterable[Row]:
    names = {str(each["table"]) for kind in ("reads", "writes") for each in row[kind]}
    return (
        {"statement": row["statement"], "table_name": name, "began": row["began"]}
        for name in sorted(names)
    )
