"""Tables as GetTables and GetColumns list them."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ColumnType:
    """A column's type as Spark names it.

    `base` is the type's name alone, `sql` the whole type. `size` is in bytes, or characters of a
    char; None for a type without a size. `digits` is the number of digits after the point.
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
    """One table or view. Its columns are in Spark's order, partition columns last.

    `columns` is None if it is not certain how Spark reads the table. Sorted by `age`, tables are in
    the order in which the metastore lists them.
    """

    name: str
    is_view: bool
    comment: str
    columns: tuple[ListedColumn, ...] | None
    age: tuple[int, int, str, int] = (0, 0, "", 0)

    @property
    def weight(self) -> int:
        """The memory that the table takes, as a number of columns."""
        return 1 + len(self.columns or ())
