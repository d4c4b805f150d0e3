"""The time in which copies were made for a statement."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    op.add_column("history_statement", sa.Column("copy", sa.Double))
