"""The revisions of the history."""

from database.migration import Migrations

MIGRATIONS = Migrations("proxy.operations.history:migrations", "history_revision", "0001")
