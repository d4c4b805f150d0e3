"""Opens SQLite and PostgreSQL through SQLAlchemy.

Statements are SQLAlchemy Core. This module has the differences between the two databases: how they
are opened, how writers wait for each other, and how their time is read. Connections are kept for
the next transaction; a connection to a server that has restarted is replaced before its use.
"""

import os
import sqlite3
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Double, Engine, create_engine, event, text
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.exc import DBAPIError, SQLAlchemyError
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.pool import QueuePool
from sqlalchemy.sql.functions import FunctionElement

from database.errors import StoreUnavailable
from database.migration import Migrations

_BUSY_SECONDS = 30.0  # how long a SQLite writer waits for another one
_CONNECT_SECONDS = 10
_NO_LIMIT = -1  # on the number of connections: each worker needs one, and the server two
_MIGRATION_LOCK = 7237461  # any number that only this program uses


class database_seconds(FunctionElement[float]):
    """The database's time in Unix seconds, so that servers that share it need no common clock."""

    type = Double()
    inherit_cache = True


@compiles(database_seconds, "sqlite")
def _sqlite_seconds(*_: Any, **__: Any) -> str:
    return "((julianday('now') - 2440587.5) * 86400.0)"


@compiles(database_seconds, "postgresql")
def _postgresql_seconds(*_: Any, **__: Any) -> str:
    return "EXTRACT(EPOCH FROM clock_timestamp())::float8"


class Database:
    """One database. `insert` builds INSERT statements with this database's ON CONFLICT. `name` is
    for messages: it has no password.
    """

    def __init__(self, engine: Engine, name: str) -> None:
        self._engine = engine
        self.name = name
        weakref.finalize(self, engine.dispose)  # closes the kept connections
        on_postgresql = engine.dialect.name == "postgresql"
        self.insert: Callable[..., Any] = postgresql.insert if on_postgresql else sqlite.insert

    @contextmanager
    def transaction(self, reading: bool = False) -> Iterator[Connection]:
        """A transaction, which commits at the end; an exception rolls back. With `reading` it
        writes nothing and does not wait for writers. Raises StoreUnavailable."""
        engine = self._engine.execution_options(reading=True) if reading else self._engine
        try:
            with engine.begin() as connection:
                yield connection
        except DBAPIError as error:
            raise StoreUnavailable(f"{self.name}: {error.orig}") from error
        except (SQLAlchemyError, OSError) as error:
            raise StoreUnavailable(f"{self.name}: {error}") from error

    def migrate(self, migrations: Migrations) -> None:
        """Creates the tables, or brings them to the newest revision, one process at a time.

        SQLite needs no lock for that, because each of its transactions excludes other writers.
        Raises StoreUnavailable.
        """
        with self.transaction() as connection:
            if self._engine.dialect.name == "postgresql":
                connection.execute(text(f"SELECT pg_advisory_xact_lock({_MIGRATION_LOCK})"))
            migrations.run(connection, self.name)

    def revision(self, migrations: Migrations) -> str | None:
        """The revision of the tables; None if there are no tables. Changes nothing. Raises
        StoreUnavailable."""
        with self.transaction(reading=True) as connection:
            return migrations.revision(connection)


def open_database(url: str) -> Database:
    """The database at a path, `sqlite:///path` or `postgresql://..`. Raises StoreUnavailable."""
    if url.startswith(("postgresql://", "postgres://")):
        return _postgresql(url)
    scheme, separator, path = url.partition("://")
    if separator and scheme != "sqlite":
        raise StoreUnavailable(f"{scheme}:// is not supported, only sqlite:// and postgresql://")
    return _sqlite(Path(path[1:] if separator else url))


def _sqlite(path: Path) -> Database:
    """A file in WAL mode. `BEGIN IMMEDIATE` makes writers wait for each other. Only its owner can
    read a file that is created here; SQLite gives its other files the same mode.

    A file that exists is opened by SQLite only. If this process closed another descriptor of it,
    POSIX would release the locks of all its connections; the next process that closes the file
    would then find no other user, and delete the log with changes that are not in the file yet.
    """

    def connect() -> sqlite3.Connection:
        path.parent.mkdir(parents=True, exist_ok=True)
        with suppress(FileExistsError):
            os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
        connection = sqlite3.connect(
            path, timeout=_BUSY_SECONDS, isolation_level=None, check_same_thread=False
        )
        try:
            with suppress(sqlite3.OperationalError):  # another process is creating the file
                connection.execute("PRAGMA journal_mode = WAL")
        except sqlite3.Error:
            connection.close()
            raise
        return connection

    engine = create_engine(
        "sqlite://", creator=connect, poolclass=QueuePool, max_overflow=_NO_LIMIT
    )

    @event.listens_for(engine, "begin")
    def _begin(connection: Connection) -> None:
        reading = connection.get_execution_options().get("reading")
        connection.exec_driver_sql("BEGIN" if reading else "BEGIN IMMEDIATE")

    return Database(engine, str(path))


def _postgresql(url: str) -> Database:
    """A PostgreSQL server. psycopg parses the URL, so every form that libpq accepts is possible."""
    try:
        import psycopg
    except ImportError as error:
        message = "PostgreSQL needs psycopg: pip install 'causeway[postgresql]'"
        raise StoreUnavailable(message) from error

    def connect() -> Any:
        return psycopg.connect(url, connect_timeout=_CONNECT_SECONDS)

    engine = create_engine(
        "postgresql+psycopg://", creator=connect, max_overflow=_NO_LIMIT, pool_pre_ping=True
    )
    return Database(engine, "PostgreSQL")
