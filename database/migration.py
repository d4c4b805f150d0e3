"""Migrates the schema of a set of tables from one release to the next, with alembic.

Each set of tables has a package with an `env.py`, a folder `versions` with a file for each
revision, and a `Migrations` that describes it. To change a schema: change its tables, add a
revision, set `head`.
"""

import threading
from collections.abc import Callable
from dataclasses import dataclass

from sqlalchemy import Connection, inspect, text

from database.errors import StoreUnavailable

_alembic = threading.Lock()  # alembic has the running migration in a global variable


@dataclass(frozen=True, slots=True)
class Migrations:
    """`location` is the package with the revisions, such as `pipeline.scheduler.store:migrations`;
    `table` has the revision of a database, `head` is the newest one.

    `adopt` returns the revision that the tables of a database without `table` have; None for an
    empty database. Its second argument is the database's name, for messages.
    """

    location: str
    table: str
    head: str
    adopt: Callable[[Connection, str], str | None] = lambda connection, name: None

    def run(self, connection: Connection, name: str) -> None:
        """Creates the tables, or brings them to `head`, in the connection's transaction.

        Raises StoreUnavailable for tables of a later release. `name` is that of the database, for
        messages.
        """
        revision = self.revision(connection)
        if revision == self.head:
            return
        adopted = self.adopt(connection, name) if revision is None else None
        with _alembic:
            _upgrade(self, connection, name, adopted)

    def revision(self, connection: Connection) -> str | None:
        """The revision of the database; None if it has no tables with revisions."""
        if not inspect(connection).has_table(self.table):
            return None
        query = text(f"SELECT version_num FROM {self.table}")
        return connection.execute(query).scalar_one_or_none()


def _upgrade(
    migrations: Migrations, connection: Connection, name: str, adopted: str | None
) -> None:
    """Runs the revisions. A database at `head` is opened without this import of alembic."""
    from alembic import command
    from alembic.config import Config
    from alembic.util import CommandError

    config = Config()
    config.set_main_option("script_location", migrations.location)
    config.attributes.update(connection=connection, version_table=migrations.table)
    try:
        if adopted is not None:
            command.stamp(config, adopted)
        command.upgrade(config, "head")
    except CommandError as error:  # a revision of a later release
        raise StoreUnavailable(f"{name} was made by a later version of Causeway: {error}") from None


def run_revisions() -> None:
    """The content of an `env.py`: runs the revisions in the caller's transaction."""
    from alembic import context

    context.configure(**context.config.attributes, transactional_ddl=True)
    with context.begin_transaction():
        context.run_migrations()
