"""The two databases that keep the lifecycle, SQLite and PostgreSQL, behind one face.

A connection lives for one transaction. Statements are written once, with `?` for values.
"""

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from typing import Any, Protocol

from pipeline.scheduler.errors import StoreUnavailable

Row = Sequence[Any]
_BUSY_SECONDS = 30.0


class Transaction(Protocol):
    def run(self, sql: str, *values: object) -> int:
        """The number of rows changed."""
        ...

    def rows(self, sql: str, *values: object) -> list[Row]: ...

    def many(self, sql: str, values: Sequence[Sequence[object]]) -> None: ...


class Database(Protocol):
    """`clock` is SQL for the database's own time in seconds, `blob` and `serial` are types."""

    clock: str
    blob: str
    serial: str
    lock: str  # ends a SELECT that is to hold its row
    turn: str  # a statement that lets one transaction after the other make the tables

    def transaction(self) -> AbstractContextManager[Transaction]:
        """A context manager that gives a Transaction; an exception rolls it back."""
        ...


def connect(url: str) -> Database:
    """A path or `sqlite:///path`, or `postgresql://..`. Raises StoreUnavailable."""
    if url.startswith(("postgresql://", "postgres://")):
        return PostgreSQL(url)
    scheme, separator, path = url.partition("://")
    if separator and scheme != "sqlite":
        raise StoreUnavailable(f"{scheme}:// is not a database known here: sqlite, postgresql")
    return SQLite(Path(path[1:] if separator else url))


class SQLite:
    """One file; `BEGIN IMMEDIATE` makes writers wait for each other."""

    clock = "((julianday('now') - 2440587.5) * 86400.0)"
    blob = "BLOB"
    serial = "INTEGER PRIMARY KEY AUTOINCREMENT"
    lock = ""
    turn = "SELECT 1"

    def __init__(self, path: Path) -> None:
        self._path = path

    @contextmanager
    def transaction(self) -> Iterator[Transaction]:
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            connection = sqlite3.connect(self._path, timeout=_BUSY_SECONDS, isolation_level=None)
        except (sqlite3.Error, OSError) as error:
            raise StoreUnavailable(f"{self._path}: {error}") from error
        try:
            with suppress(sqlite3.OperationalError):  # another is making the file just now
                connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("BEGIN IMMEDIATE")
            yield _SQLiteTransaction(connection)
            connection.execute("COMMIT")
        except sqlite3.Error as error:
            raise StoreUnavailable(f"{self._path}: {error}") from error
        finally:
            connection.close()  # rolls back what was not committed


class _SQLiteTransaction:
    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def run(self, sql: str, *values: object) -> int:
        return self._connection.execute(sql, values).rowcount

    def rows(self, sql: str, *values: object) -> list[Row]:
        return self._connection.execute(sql, values).fetchall()

    def many(self, sql: str, values: Sequence[Sequence[object]]) -> None:
        self._connection.executemany(sql, values)


class PostgreSQL:
    """A server; rows are locked by SELECT .. FOR UPDATE."""

    clock = "EXTRACT(EPOCH FROM clock_timestamp())::float8"
    blob = "BYTEA"
    serial = "BIGSERIAL PRIMARY KEY"
    lock = " FOR UPDATE"
    turn = "SELECT pg_advisory_xact_lock(7237461)"

    def __init__(self, url: str) -> None:
        try:
            import psycopg
        except ImportError as error:
            text = "PostgreSQL needs psycopg: pip install 'causeway[postgresql]'"
            raise StoreUnavailable(text) from error
        self._psycopg = psycopg
        self._url = url

    @contextmanager
    def transaction(self) -> Iterator[Transaction]:
        try:
            with self._psycopg.connect(self._url, connect_timeout=10) as connection:
                yield _PostgreSQLTransaction(connection)
        except self._psycopg.Error as error:
            raise StoreUnavailable(f"PostgreSQL: {error}") from error


class _PostgreSQLTransaction:
    def __init__(self, connection: Any) -> None:
        self._connection = connection

    def run(self, sql: str, *values: object) -> int:
        return int(self._connection.execute(sql.replace("?", "%s"), values).rowcount)

    def rows(self, sql: str, *values: object) -> list[Row]:
        found: list[Row] = self._connection.execute(sql.replace("?", "%s"), values).fetchall()
        return found

    def many(self, sql: str, values: Sequence[Sequence[object]]) -> None:
        if values:
            with self._connection.cursor() as cursor:
                cursor.executemany(sql.replace("?", "%s"), values)
