"""What alembic runs for the lifecycle's store."""

from database.migration import run_revisions

run_revisions()
