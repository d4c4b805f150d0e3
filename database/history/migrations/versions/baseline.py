"""The first schema of the history."""

from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None


def upgrade() -> None:
    op.create_table(
        "history_statement",
        sa.Column("statement", sa.Text, primary_key=True),
        *_columns(sa.Text, "proxy", "session", "user_name", "acting_user", "address"),
        *_columns(sa.Text, "application"),
        sa.Column("began", sa.Double, nullable=False),
        *_columns(sa.Text, "text"),
        sa.Column("length", sa.BigInteger, nullable=False),
        *_columns(sa.Text, "sha256", "fingerprint", "database", "cluster", "rule", "because"),
        *_columns(sa.JSON, "considered", "reads", "writes"),
        *_columns(sa.Text, "code"),
        sa.Column("refused", sa.Boolean, nullable=False),
        *_columns(sa.Text, "state"),
        sa.Column("seconds", sa.Double),
        *(sa.Column(each, sa.Double) for each in _PHASES),
        sa.Column("rows", sa.BigInteger),
        sa.Column("bytes", sa.BigInteger, nullable=False),
        sa.Column("closed", sa.Boolean, nullable=False),
        *_columns(sa.Text, "error", "blame"),
        sa.Column("weight", sa.Integer, nullable=False),
    )
    op.create_index(
        "history_statement_search",
        "history_statement",
        [
            "began",
            "statement",
            "user_name",
            "cluster",
            "refused",
            "seconds",
            "fingerprint",
            "weight",
        ],
    )
    op.create_table(
        "history_table",
        sa.Column("statement", sa.Text, primary_key=True),
        sa.Column("table_name", sa.Text, primary_key=True),
        sa.Column("began", sa.Double, nullable=False),
    )
    op.create_index("history_table_search", "history_table", ["table_name", "began", "statement"])


_PHASES = ("analyse", "decide", "queue", "connect", "execute", "first_row", "fetch")


def _columns(kind: type[sa.types.TypeEngine[Any]], *names: str) -> list[sa.Column[Any]]:
    """Columns of a kind that are never null."""
    return [sa.Column(name, kind, nullable=False) for name in names]
