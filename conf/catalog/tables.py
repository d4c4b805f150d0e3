"""A table as the catalog describes it: its columns, without its placement."""

from dataclasses import dataclass
from enum import Enum
from typing import Protocol

from conf.names import TableRef
from conf.partitions import PartitionKey


class TableKind(Enum):
    TABLE = "table"
    EXTERNAL = "external"
    VIEW = "view"
    MATERIALIZED_VIEW = "materialized_view"


@dataclass(frozen=True, slots=True)
class Column:
    """A data column. `type` is Hive's type text in lower case."""

    name: str
    type: str


@dataclass(frozen=True, slots=True)
class ViewText:
    """A stored view: its query, and the database of its unqualified names.

    `columns` renames the query's columns; empty if the view names none. `produced` are the names
    of the query's columns when the view was created, if known: Spark looks the columns up by these
    names, because a `*` may produce more today; without them it goes by position. `temps` are the
    names that meant temporary objects when a temporary view was created: only these names mean
    temporary objects in its text, whatever the session has now. `double_quoted_names`: "a" is a
    name in its text, because Spark reads it with the settings that it was created with.
    """

    sql: str
    db: str
    columns: tuple[str, ...] = ()
    produced: tuple[str, ...] = ()
    temps: tuple[str, ...] = ()
    double_quoted_names: bool = False


@dataclass(frozen=True, slots=True)
class TableInfo:
    """Facts about one table or view. `columns` excludes partition keys; `serde` is the class that
    writes a row of a Hive table. A Hudi table may have the provider hive."""

    ref: TableRef
    kind: TableKind
    columns: tuple[Column, ...] = ()
    partition_keys: tuple[PartitionKey, ...] = ()
    view: ViewText | None = None
    provider: str = "hive"
    serde: str = ""
    is_hudi: bool = False


class NotLoaded(LookupError):
    """The catalog does not have the table in memory: load it, then try again."""

    def __init__(self, table: TableRef) -> None:
        super().__init__(str(table))
        self.table = table


class Catalog(Protocol):
    """Looks tables up in memory; never waits."""

    def table(self, ref: TableRef) -> TableInfo | None:
        """The table; None if it certainly does not exist. Raises NotLoaded if that is not known."""
        ...
