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

    `columns` are new names of the query's columns; empty if the view has none. `produced` are the
    names of the query's columns when the view was created, if known. Spark looks the columns up by
    these names, because a `*` may produce more columns now; without them it uses their positions.
    `temps` are the names that meant temporary objects when a temporary view was created. Only these
    mean temporary objects in its text, whatever the session has now. `double_quoted_names`: in its
    text "a" is a name, because Spark reads the text with the settings of its creation.
    """

    sql: str
    db: str
    columns: tuple[str, ...] = ()
    produced: tuple[str, ...] = ()
    temps: tuple[str, ...] = ()
    double_quoted_names: bool = False


@dataclass(frozen=True, slots=True)
class TableInfo:
    """Facts about one table or view. `columns` are those without the partition keys; `serde` is the
    class that writes the rows of a Hive table. A Hudi table may have the provider hive."""

    ref: TableRef
    kind: TableKind
    columns: tuple[Column, ...] = ()
    partition_keys: tuple[PartitionKey, ...] = ()
    view: ViewText | None = None
    provider: str = "hive"
    serde: str = ""
    is_hudi: bool = False


class NotLoaded(LookupError):
    """The table is not in memory. The caller has to load it and to try again."""

    def __init__(self, table: TableRef) -> None:
        super().__init__(str(table))
        self.table = table


class Catalog(Protocol):
    """Looks tables up in memory, without waiting."""

    def table(self, ref: TableRef) -> TableInfo | None:
        """The table; None if it certainly does not exist. Raises NotLoaded if it is not known."""
        ...
