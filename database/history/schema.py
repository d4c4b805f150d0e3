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
PHASES = ("analyse", "decide", "copy", "queue", "connect", "execute", "first_row", "fetch")

# `began` is Unix time; the phases are seconds. `weight` is about the size of the row in bytes.
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
    # Searches by these columns read only the index.
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

# Why a refused statement could not run in each cluster. `alone`: it was the only obstacle there, so
# the statement would run without it. `table_name` is empty if no table is lacking. `day` counts
# days in UTC since 1970.
obstacles = Table(
    "history_obstacle",
    TABLES,
    Column("statement", Text, primary_key=True),
    Column("cluster", Text, primary_key=True),
    Column("table_name", Text, primary_key=True),
    Column("kind", Text, primary_key=True),
    Column("partitions", BigInteger),
    Column("alone", Boolean, nullable=False),
    Column("user_name", Text, nullable=False),
    Column("began", Double, nullable=False),
    Column("day", Integer, nullable=False),
    Index(
        "history_obstacle_search",
        *("table_name", "cluster", "kind", "day", "began", "statement", "user_name", "alone"),
        "partitions",
    ),
)

# Counts of an obstacle by day: `statements` had it, for `freed` of them it was the only one in the
# cluster. `partitions` is the largest number of partitions that one of them lacked.
refused = Table(
    "history_refused",
    TABLES,
    Column("table_name", Text, primary_key=True),
    Column("cluster", Text, primary_key=True),
    Column("kind", Text, primary_key=True),
    Column("day", Integer, primary_key=True),
    Column("statements", BigInteger, nullable=False),
    Column("freed", BigInteger, nullable=False),
    Column("partitions", BigInteger),
    sqlite_with_rowid=False,  # stores the days of an obstacle side by side
)

# The last time at which a user had an obstacle.
refused_users = Table(
    "history_refused_user",
    TABLES,
    Column("table_name", Text, primary_key=True),
    Column("cluster", Text, primary_key=True),
    Column("kind", Text, primary_key=True),
    Column("user_name", Text, primary_key=True),
    Column("last", Double, nullable=False),
)

# The number of finished statements of a day that read `source` and wrote `target`; with an empty
# target, of all that read `source`; with an empty source, of all that wrote `target`.
lineage = Table(
    "history_lineage",
    TABLES,
    Column("day", Integer, primary_key=True),
    Column("source", Text, primary_key=True),
    Column("target", Text, primary_key=True),
    Column("statements", BigInteger, nullable=False),
    Column("last", Double, nullable=False),
    Column("statement", Text, nullable=False),
)

# A run of the copy engine. `source` and `target` are clusters; `objects` has the first copied
# partitions and their write versions; `sent` counts bytes sent over the network.
copies = Table(
    "history_copy",
    TABLES,
    Column("copy", Text, primary_key=True),
    Column("trace", Text, nullable=False),
    Column("run", Text, nullable=False),
    Column("statement", Text, nullable=False),
    Column("instance", Text, nullable=False),
    Column("entity", Text, nullable=False),
    Column("table_name", Text, nullable=False),
    Column("target_table", Text, nullable=False),
    Column("source", Text, nullable=False),
    Column("target", Text, nullable=False),
    Column("location", Text, nullable=False),
    Column("started", Double, nullable=False),
    Column("ended", Double, nullable=False),
    Column("partitions", BigInteger),
    Column("objects", JSON, nullable=False),
    Column("failed", BigInteger, nullable=False),
    Column("files", BigInteger),
    Column("bytes", BigInteger),
    Column("sent", BigInteger, nullable=False),
    Column("state", Text, nullable=False),
    Column("error", Text, nullable=False),
    Column("weight", Integer, nullable=False),
    Index(
        "history_copy_search",
        *("ended", "copy", "table_name", "source", "target", "state", "entity", "statement"),
        *("sent", "weight"),
    ),
    Index("history_copy_table", "table_name", "ended", "copy"),
)

# An ended attempt of an instance of the lifecycle. All times are Unix times.
instances = Table(
    "history_instance",
    TABLES,
    Column("instance", Text, primary_key=True),
    Column("kind", Text, nullable=False),
    Column("name", Text, nullable=False),
    Column("action", Text, nullable=False),
    Column("cluster", Text, nullable=False),
    Column("source", Text, nullable=False),
    Column("nominal", Double, nullable=False),
    Column("run", Integer, nullable=False),
    Column("attempt", Integer, nullable=False),
    Column("state", Text, nullable=False),
    Column("started", Double),
    Column("ended", Double, nullable=False),
    Column("bytes", BigInteger),
    Column("detail", Text, nullable=False),
    Column("error", Text, nullable=False),
    Column("server", Text, nullable=False),
    Column("weight", Integer, nullable=False),
    Index(
        "history_instance_search",
        *("ended", "instance", "kind", "name", "action", "cluster", "state", "weight"),
    ),
)
