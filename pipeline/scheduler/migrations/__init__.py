"""The store's schema from one release to the next, by alembic.

A revision is a file in `versions`; HEAD names the newest. Stores of releases before 0.2, which
kept a number in the table `about`, have the baseline's schema: they are stamped with it and
migrated from there. To change the schema: change `schema`, add a revision, set HEAD.
"""

import threading

from sqlalchemy import Connection, inspect, text

from pipeline.scheduler.errors import StoreUnavailable

VERSION_TABLE = "lifecycle_revision"
BASELINE = "0001"
HEAD = "0001"
_UNMIGRATED = "1"  # what `about` says in stores of the baseline's schema

_alembic = threading.Lock()  # it keeps its running migration in a global variable


def migrate(connection: Connection, name: str) -> None:
    """Create the tables, or lead them to HEAD, in the connection's transaction.

    Raises StoreUnavailable for a store that this release does not know; `name` is for messages.
    """
    tables = inspect(connection)
    revision = _revision(connection) if tables.has_table(VERSION_TABLE) else None
    if revision == HEAD:
        return
    unstamped = revision is None and tables.has_table("about")
    if unstamped and (known := _about(connection)) != _UNMIGRATED:
        raise StoreUnavailable(f"{name} was made by another version ({known}) of Causeway")
    with _alembic:
        _run(connection, name, stamp=unstamped)


def _revision(connection: Connection) -> str | None:
    query = text(f"SELECT version_num FROM {VERSION_TABLE}")
    return connection.execute(query).scalar_one_or_none()


def _about(connection: Connection) -> str | None:
    return connection.execute(text("SELECT version FROM about")).scalar_one_or_none()


def _run(connection: Connection, name: str, stamp: bool) -> None:
    """alembic is imported here, as a store that needs no migration opens without it."""
    from alembic import command
    from alembic.config import Config
    from alembic.util import CommandError

    config = Config()
    config.set_main_option("script_location", "pipeline.scheduler:migrations")
    config.attributes["connection"] = connection
    try:
        if stamp:
            command.stamp(config, BASELINE)
        command.upgrade(config, "head")
    except CommandError as error:  # a revision of a later release
        raise StoreUnavailable(f"{name} was made by a later version of Causeway: {error}") from None
