"""What alembic runs for the history."""

from database.migration import run_revisions

run_revisions()
