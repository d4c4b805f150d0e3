"""The revisions of the lifecycle's store.

Stores of releases before 0.2, which kept a number in the table `about`, have the baseline's schema:
they are stamped with it and migrated from there.
"""

from sqlalchemy import Connection, inspect, text

from database.errors import StoreUnavailable
from database.migration import Migrations

_BASELINE = "0001"
_UNMIGRATED = "1"  # the version in the table `about` of stores with the baseline's schema


def _adopt(connection: Connection, name: str) -> str | None:
    """The baseline for a store without a revision. Raises StoreUnavailable for an unknown one."""
    if not inspect(connection).has_table("about"):
        return None
    known = connection.execute(text("SELECT version FROM about")).scalar_one_or_none()
    if known != _UNMIGRATED:
        raise StoreUnavailable(f"{name} was made by another version ({known}) of Causeway")
    return _BASELINE


MIGRATIONS = Migrations("pipeline.scheduler.store:migrations", "lifecycle_revision", "0002", _adopt)
