"""The schema of the releases that had no migrations.

`about` stays, so that the release before this one can still open the store.
"""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None


def upgrade() -> None:
    about = op.create_table("about", sa.Column("version", sa.Text, primary_key=True))
    op.bulk_insert(about, [{"version": "1"}])
    op.create_table(
        "entity",
        sa.Column("kind", sa.Text, primary_key=True),
        sa.Column("name", sa.Text, primary_key=True),
        sa.Column("owner", sa.Text, nullable=False),
        sa.Column("document", sa.LargeBinary, nullable=False),
        sa.Column("status", sa.Text, nullable=False),
        sa.Column("submitted", sa.Text, nullable=False),
        sa.Column("scheduled", sa.Text),
        sa.Column("version", sa.Integer, nullable=False),
    )
    op.create_table(
        "instance",
        *_schedule(primary_key=True),
        sa.Column("nominal", sa.Text, primary_key=True),
        sa.Column("state", sa.Text, nullable=False),
        sa.Column("created", sa.Text, nullable=False),
        sa.Column("run", sa.Integer, nullable=False),
        sa.Column("attempt", sa.Integer, nullable=False),
        sa.Column("recoveries", sa.Integer, nullable=False),
        sa.Column("not_before", sa.Text),
        sa.Column("started", sa.Text),
        sa.Column("ended", sa.Text),
        sa.Column("fingerprint", sa.Text, nullable=False),
        sa.Column("checks", sa.Integer, nullable=False),
        sa.Column("alerts", sa.Integer, nullable=False),
        sa.Column("fence", sa.Integer, nullable=False),
        sa.Column("late", sa.Text, nullable=False),
        sa.Column("detail", sa.Text, nullable=False),
        sa.Column("server", sa.Text),
        sa.Column("lease", sa.Double),
    )
    op.create_index("instance_state", "instance", [*_SCHEDULE, "state"])
    op.create_index("instance_lease", "instance", ["state", "lease"])
    op.create_table(
        "horizon", *_schedule(primary_key=True), sa.Column("until", sa.Text, nullable=False)
    )
    op.create_table(
        "log",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer, "sqlite"), primary_key=True),
        sa.Column("at", sa.Text, nullable=False),
        *_schedule(primary_key=False),
        sa.Column("nominal", sa.Text),
        sa.Column("what", sa.Text, nullable=False),
        sa.Column("message", sa.Text, nullable=False),
        sqlite_autoincrement=True,
    )
    op.create_index("log_instance", "log", [*_SCHEDULE, "nominal"])


_SCHEDULE = ("kind", "name", "action", "cluster", "source")


def _schedule(primary_key: bool) -> list[sa.Column[str]]:
    """The columns that name a schedule."""
    return [sa.Column(name, sa.Text, primary_key=primary_key) for name in _SCHEDULE]
