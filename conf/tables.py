"""A table as the catalog describes it: shape only, no placement."""

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
    """A stored view: its query, and the namespace that its unqualified names belong to.

    `columns` renames the query's columns; empty when the view names none. `produced` are the
    names that the query gave its columns when the view was made, where that is known: Spark
    finds them by these, for a `*` may give more by now. Without them it is by position.
    `temps` are the names that meant temporary objects when a temporary view was made: only these
    may mean one in its text, whatever the session has by now. `double_quoted_names`: "a" is a name
    in its text, since Spark reads it under the settings that it was made with.
    """

    sql: str
    db: str
    columns: tuple[str, ...] = ()
    produced: tuple[str, ...] = ()
    temps: tuple[str, ...] = ()
    double_quoted_names: bool = False


@dataclass(frozen=True, slots=True)
class TableInfo:
    """Facts about one table or view. `columns` excludes partition keys."""

    ref: TableRef
    kind: TableKind
    columns: tuple[Column, ...] = ()
    partition_keys: tuple[PartitionKey, ...] = ()
    view: ViewText | None = None
    provider: str = "hive"


class NotLoaded(LookupError):
    """The catalog has no answer in memory; load `table` and ask again."""

    def __init__(self, table: TableRef) -> None:
        super().__init__(str(table))
        self.table = table


class Catalog(Protocol):
    """Answers from memory alone."""

    def table(self, ref: TableRef) -> TableInfo | None:
        """The table, or None when there is certainly none. Raises NotLoaded when not known."""
        ...
