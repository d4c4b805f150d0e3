"""SQL for other databases, in forms that all of them accept. Pure.

Names of tables are written without quotes, as the rules accept them (exchange_rules.py), so the
database folds their case. Names of columns are quoted as the database has them.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo
from hashlib import blake2b

from pipeline.errors import ActionFailed


@dataclass(frozen=True, slots=True)
class Window:
    """The times of an instance's rows: from `start`, inclusive, to `end`, exclusive. The database's
    times without a zone are in `zone`.
    """

    start: datetime
    end: datetime
    zone: tzinfo

    def rows_of(self, table: str, column: str, kind: str) -> str:
        """A sub-query of the rows whose `column` is in the window. `kind` is the column's type in
        Spark: date, timestamp (with a time zone) or timestamp_ntz. Raises ActionFailed.
        """
        first, last = (self._literal(each, column, kind) for each in (self.start, self.end))
        return f"(SELECT * FROM {table} WHERE {column} >= {first} AND {column} < {last}) causeway"

    def _literal(self, time: datetime, column: str, kind: str) -> str:
        """A time as a literal of the column's type. Raises ActionFailed for other types."""
        local = time.astimezone(self.zone)
        match kind:
            case "date":
                if local - local.replace(hour=0, minute=0, second=0) != timedelta(0):
                    reason = f"{column} has days: an instance has to begin and end at midnight"
                    raise ActionFailed(reason, final=True)
                return f"{{d '{local:%Y-%m-%d}'}}"
            case "timestamp_ntz":
                return f"{{ts '{local:%Y-%m-%d %H:%M:%S}'}}"
            case "timestamp":
                return f"TIMESTAMP WITH TIME ZONE '{time.astimezone(UTC):%Y-%m-%d %H:%M:%S}+00:00'"
        reason = f"deltacolumn {column} is {kind}: only dates and times tell the instance of a row"
        raise ActionFailed(reason, final=True)


@dataclass(frozen=True, slots=True)
class Merge:
    """The SQL that merges the rows of the table `staging` into `table` by `keys`."""

    table: str
    staging: str
    columns: Sequence[str]
    keys: Sequence[str]

    @classmethod
    def of(cls, table: str, columns: Sequence[str], keys: Sequence[str], instance: str) -> "Merge":
        """The merge of an instance, whose staging table is in the schema of the target."""
        schema = table.rpartition(".")[0]
        digest = blake2b(f"{instance} {table.lower()}".encode(), digest_size=8).hexdigest()
        staging = f"causeway_{digest}"
        return cls(table, f"{schema}.{staging}" if schema else staging, columns, keys)

    def create(self) -> tuple[str, str]:
        """Two statements that create the staging table; a database accepts at least one of them."""
        query = f"CREATE TABLE {self.staging} AS SELECT {', '.join(self.columns)} FROM {self.table}"
        return f"{query} WITH NO DATA", f"{query} WHERE 1 = 0"

    def index(self) -> str:
        """The unique index of the keys: for fast lookups, and to refuse two rows with one key."""
        name = self.staging.rpartition(".")[2]
        return f"CREATE UNIQUE INDEX {name}_k ON {self.staging} ({', '.join(self.keys)})"

    def statements(self, inserts: bool) -> tuple[str, ...]:
        """The statements that update existing rows and, with `inserts`, add the others."""
        values = [column for column in self.columns if column not in self.keys]
        same = " AND ".join(f"s.{key} = {self.table}.{key}" for key in self.keys)
        found = f"FROM {self.staging} s WHERE {same}"
        sets = ", ".join(f"{column} = (SELECT s.{column} {found})" for column in values)
        update = f"UPDATE {self.table} SET {sets} WHERE EXISTS (SELECT 1 {found})"
        names = ", ".join(self.columns)
        insert = (
            f"INSERT INTO {self.table} ({names}) SELECT {names} FROM {self.staging} s"
            f" WHERE NOT EXISTS (SELECT 1 FROM {self.table} WHERE {same})"
        )
        return (*([update] if values else []), *([insert] if inserts else []))

    def drop(self) -> str:
        return f"DROP TABLE {self.staging}"
