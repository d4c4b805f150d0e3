"""The tables of the history. This is the newest schema; `migrations` brings older ones to it."""

from sqlalchemy import (
    JSON,
    BigInteger,
    Boolean,
    Column,
    Double,
    Index,
    Integer,
    MetaData,
    Table,
    Text,
)

TABLES = MetaData()
PHASES = ("analyse", "decide", "queue", "connect", "execute", "first_row", "fetch")

# `began` is Unix time; the phases are seconds. `weight` is about the bytes of the row.
statements = Table(
    "history_statement",
    TABLES,
    Column("statement", Text, primary_key=True),
    Column("proxy", Text, nullable=False),
    Column("session", Text, nullable=False),
    Column("user_name", Text, nullable=False),
    Column("acting_user", Text, nullable=False),
    Column("address", Text, nullable=False),
    Column("application", Text, nullable=False),
    Column("began", Double, nullable=False),
    Column("text", Text, nullable=False),
    Column("length", BigInteger, nullable=False),
    Column("sha256", Text, nullable=False),
    Column("fingerprint", Text, nullable=False),
    Column("database", Text, nullable=False),
    Column("cluster", Text, nullable=False),
    Column("rule", Text, nullable=False),
    Column("because", Text, nullable=False),
    Column("considered", JSON, nullable=False),
    Column("reads", JSON, nullable=False),
    Column("writes", JSON, nullable=False),
    Column("code", Text, nullable=False),
    Column("refused", Boolean, nullable=False),
    Column("state", Text, nullable=False),
    Column("seconds", Double),
    *(Column(each, Double) for each in PHASES),
    Column("rows", BigInteger),
    Column("bytes", BigInteger, nullable=False),
    Column("closed", Boolean, nullable=False),
    Column("error", Text, nullable=False),
    Column("blame", Text, nullable=False),
    Column("weight", Integer, nullable=False),
    # Every search by these columns reads the index alone.
    Index(
        "history_statement_search",
        *(
            "began",
            "statement",
            "user_name",
            "cluster",
            "refused",
            "seconds",
            "fingerprint",
            "weight",
        ),
    ),
)

tables = Table(
    "history_table",
    TABLES,
    Column("statement", Text, primary_key=True),
    Column("table_name", Text, primary_key=True),
    Column("began", Double, nullable=False),
    Index("history_table_search", "table_name", "began", "statement"),
)
