"""The SHOW and DESCRIBE statements that the proxy may answer itself.

A pattern is the text between the quotes, or None. Names of databases and tables are in lower case,
unless a class says otherwise.
"""

from dataclasses import dataclass

from conf.names import TableRef

PartitionSpec = tuple[tuple[str, str], ...]
"""Columns in lower case with the texts of their values, in the order written."""


@dataclass(frozen=True, slots=True)
class ShowDatabases:
    """`SHOW DATABASES [LIKE 'pattern']`, also SCHEMAS and NAMESPACES."""

    pattern: str | None


@dataclass(frozen=True, slots=True)
class ShowTables:
    """`SHOW TABLES [IN database] [LIKE 'pattern']`; `extended`: `SHOW TABLE EXTENDED`."""

    database: str
    pattern: str | None
    extended: bool = False


@dataclass(frozen=True, slots=True)
class ShowViews:
    """`SHOW VIEWS [IN database] [LIKE 'pattern']`"""

    database: str
    pattern: str | None


@dataclass(frozen=True, slots=True)
class ShowColumns:
    """`SHOW COLUMNS IN table [IN database]`"""

    table: TableRef


@dataclass(frozen=True, slots=True)
class ShowPartitions:
    """`SHOW PARTITIONS table [PARTITION (spec)]`; `spec` is empty without PARTITION."""

    table: TableRef
    spec: PartitionSpec = ()


@dataclass(frozen=True, slots=True)
class ShowCreateTable:
    """`SHOW CREATE TABLE table`"""

    table: TableRef


@dataclass(frozen=True, slots=True)
class ShowProperties:
    """`SHOW TBLPROPERTIES table [('key')]`"""

    table: TableRef
    key: str | None


@dataclass(frozen=True, slots=True)
class DescribeTable:
    """`DESCRIBE [TABLE] [EXTENDED | FORMATTED] table`"""

    table: TableRef
    extended: bool


@dataclass(frozen=True, slots=True)
class DescribeColumn:
    """`DESCRIBE [TABLE] [EXTENDED | FORMATTED] table column`; `column` has the case of the text."""

    table: TableRef
    column: str
    extended: bool


@dataclass(frozen=True, slots=True)
class DescribePartition:
    """`DESCRIBE [TABLE] table PARTITION (spec)`"""

    table: TableRef
    spec: PartitionSpec


@dataclass(frozen=True, slots=True)
class DescribeDatabase:
    """`DESCRIBE DATABASE [EXTENDED] name`, also SCHEMA, NAMESPACE; `name` has the case of the
    text."""

    name: str
    extended: bool


CatalogCommand = (
    ShowDatabases
    | ShowTables
    | ShowViews
    | ShowColumns
    | ShowPartitions
    | ShowCreateTable
    | ShowProperties
    | DescribeTable
    | DescribeColumn
    | DescribePartition
    | DescribeDatabase
)
