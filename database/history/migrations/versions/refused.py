"""The obstacles of refusals, counted by day, and their users."""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"

_KEY = ("table_name", "cluster", "kind")


def upgrade() -> None:
    op.create_table(
        "history_refused",
        *(sa.Column(name, sa.Text, primary_key=True) for name in _KEY),
        sa.Column("day", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("statements", sa.BigInteger, nullable=False),
        sa.Column("freed", sa.BigInteger, nullable=False),
        sa.Column("partitions", sa.BigInteger),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "history_refused_user",
        *(sa.Column(name, sa.Text, primary_key=True) for name in (*_KEY, "user_name")),
        sa.Column("last", sa.Double, nullable=False),
    )
    key = ", ".join(_KEY)
    op.execute(
        f"INSERT INTO history_refused SELECT {key}, day, count(*),"
        " sum(CASE WHEN alone THEN 1 ELSE 0 END), max(partitions)"
        f" FROM history_obstacle GROUP BY {key}, day"
    )
    op.execute(
        f"INSERT INTO history_refused_user SELECT {key}, user_name, max(began)"
        f" FROM history_obstacle GROUP BY {key}, user_name"
    )
