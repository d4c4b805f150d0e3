"""The revisions of the history."""

from database.migration import Migrations

MIGRATIONS = Migrations("database.history:migrations", "history_revision", "0004")
