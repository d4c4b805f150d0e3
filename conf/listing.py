"""Tables as clients list them: what GetTables and GetColumns tell of each."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ColumnType:
    """A column's type in Spark's words.

    `base` is the type's name alone, `sql` the whole. `size` is in the column's own unit (bytes,
    or characters of a char), None where it has none; `digits` are those after the point.
    """

    base: str
    sql: str
    size: int | None = None
    digits: int | None = None


@dataclass(frozen=True, slots=True)
class ListedColumn:
    name: str
    type: ColumnType
    comment: str = ""
    nullable: bool = True


@dataclass(frozen=True, slots=True)
class ListedTable:
    """One table or view, its columns in Spark's order, those of partitions last.

    `columns` is None when it is not certain what Spark would make of the table. `age` orders the
    tables as the metastore hands them out.
    """

    name: str
    is_view: bool
    comment: str
    columns: tuple[ListedColumn, ...] | None
    age: tuple[int, int, str, int] = (0, 0, "", 0)

    @property
    def weight(self) -> int:
        """What it takes to remember it, in columns."""
        return 1 + len(self.columns or ())
