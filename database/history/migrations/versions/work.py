"""Copies, instances, obstacles of refusals and the lineage of tables."""

from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    op.create_table(
        "history_obstacle",
        *_keys(sa.Text, "statement", "cluster", "table_name", "kind"),
        sa.Column("partitions", sa.BigInteger),
        *_columns(sa.Boolean, "alone"),
        *_columns(sa.Text, "user_name"),
        *_columns(sa.Double, "began"),
        *_columns(sa.Integer, "day"),
    )
    searched = ["table_name", "cluster", "kind", "day", "began", "statement", "user_name", "alone"]
    op.create_index("history_obstacle_search", "history_obstacle", [*searched, "partitions"])
    op.create_table(
        "history_lineage",
        *_keys(sa.Integer, "day"),
        *_keys(sa.Text, "source", "target"),
        *_columns(sa.BigInteger, "statements"),
        *_columns(sa.Double, "last"),
        *_columns(sa.Text, "statement"),
    )
    op.create_table(
        "history_copy",
        *_keys(sa.Text, "copy"),
        *_columns(sa.Text, "trace", "run", "statement", "instance", "entity"),
        *_columns(sa.Text, "table_name", "target_table", "source", "target", "location"),
        *_columns(sa.Double, "started", "ended"),
        sa.Column("partitions", sa.BigInteger),
        *_columns(sa.JSON, "objects"),
        *_columns(sa.BigInteger, "failed"),
        sa.Column("files", sa.BigInteger),
        sa.Column("bytes", sa.BigInteger),
        *_columns(sa.BigInteger, "sent"),
        *_columns(sa.Text, "state", "error"),
        *_columns(sa.Integer, "weight"),
    )
    searched = ["ended", "copy", "table_name", "source", "target", "state", "entity", "statement"]
    op.create_index("history_copy_search", "history_copy", [*searched, "sent", "weight"])
    op.create_index("history_copy_table", "history_copy", ["table_name", "ended", "copy"])
    op.create_table(
        "history_instance",
        *_keys(sa.Text, "instance"),
        *_columns(sa.Text, "kind", "name", "action", "cluster", "source"),
        *_columns(sa.Double, "nominal"),
        *_columns(sa.Integer, "run", "attempt"),
        *_columns(sa.Text, "state"),
        sa.Column("started", sa.Double),
        *_columns(sa.Double, "ended"),
        sa.Column("bytes", sa.BigInteger),
        *_columns(sa.Text, "detail", "error", "server"),
        *_columns(sa.Integer, "weight"),
    )
    op.create_index(
        "history_instance_search",
        "history_instance",
        ["ended", "instance", "kind", "name", "action", "cluster", "state", "weight"],
    )


def _keys(kind: type[sa.types.TypeEngine[Any]], *names: str) -> list[sa.Column[Any]]:
    return [sa.Column(name, kind, primary_key=True) for name in names]


def _columns(kind: type[sa.types.TypeEngine[Any]], *names: str) -> list[sa.Column[Any]]:
    """Columns of a kind that are never null."""
    return [sa.Column(name, kind, nullable=False) for name in names]
