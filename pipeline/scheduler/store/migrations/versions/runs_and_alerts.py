"""Runs of several instances, places that only one running instance may write, and alerts."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"

_SCHEDULE = ("kind", "name", "action", "cluster", "source")


def upgrade() -> None:
    op.add_column("instance", sa.Column("leader", sa.Text))
    op.create_table(
        "place",
        sa.Column("place", sa.Text, primary_key=True),
        *(sa.Column(name, sa.Text) for name in _SCHEDULE),
        sa.Column("nominal", sa.Text, nullable=False),
        sa.Column("server", sa.Text, nullable=False),
    )
    op.create_index("place_instance", "place", [*_SCHEDULE, "nominal"])
    op.create_table(
        "alert",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer, "sqlite"), primary_key=True),
        sa.Column("channel", sa.Text, nullable=False),
        sa.Column("at", sa.Text, nullable=False),
        *(sa.Column(name, sa.Text) for name in _SCHEDULE),
        sa.Column("nominal", sa.Text, nullable=False),
        sa.Column("what", sa.Text, nullable=False),
        sa.Column("message", sa.Text, nullable=False),
        sa.Column("claimed", sa.Double),
        sqlite_autoincrement=True,
    )
