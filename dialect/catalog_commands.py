"""Statements that ask the catalog, as far as the proxy may answer them itself.

A pattern is the text between the quotes; None: there is none. Names of databases and tables are in
lower case.
"""

from dataclasses import dataclass

from conf.names import TableRef


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
    """`SHOW PARTITIONS table`"""

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


CatalogCommand = (
    ShowDatabases
    | ShowTables
    | ShowViews
    | ShowColumns
    | ShowPartitions
    | ShowProperties
    | DescribeTable
)
