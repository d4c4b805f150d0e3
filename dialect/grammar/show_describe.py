"""Reads the SHOW and DESCRIBE statements that the proxy may answer. Forms that Spark might read
differently are not read."""

import re
from contextlib import suppress

from sqlglot.tokenizer_core import TokenType

from conf.names import TableRef
from dialect.catalog_commands import (
    CatalogCommand,
    DescribeColumn,
    DescribeDatabase,
    DescribePartition,
    DescribeTable,
    PartitionSpec,
    ShowColumns,
    ShowCreateTable,
    ShowDatabases,
    ShowPartitions,
    ShowProperties,
    ShowTables,
    ShowViews,
)
from dialect.errors import NotUnderstood
from dialect.lexing.token_cursor import TokenCursor

# Names that need no quotes in Spark.
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)
_DIGITS = re.compile(r"0|[1-9][0-9]{0,8}", re.ASCII)
_CATALOG = "spark_catalog"
# Words that may be keywords after DESCRIBE.
_DESCRIBABLE = frozenset(
    [
        *("TABLE", "EXTENDED", "FORMATTED", "DATABASE", "SCHEMA", "NAMESPACE", "FUNCTION", "QUERY"),
        *("COLUMN", "SELECT", "WITH", "FROM", "VALUES", "MAP", "REDUCE"),
    ]
)


def catalog_command(at_start: TokenCursor, database: str) -> CatalogCommand | None:
    """The command from `at_start` to the end, in a session in `database`; None for another one.

    A name of one part may mean a temporary view: the caller has to check that.
    """
    cursor = TokenCursor(at_start.tokens, at_start.sql, at_start.at)
    with suppress(NotUnderstood):
        command = _show(cursor, database) if cursor.take("SHOW") else _describe(cursor, database)
        return command if cursor.done else None
    return None


def _show(cursor: TokenCursor, database: str) -> CatalogCommand | None:
    if cursor.take_any("DATABASES", "SCHEMAS", "NAMESPACES"):
        return ShowDatabases(_pattern(cursor))
    if cursor.take("TABLES"):
        return ShowTables(_database(cursor, database), _pattern(cursor))
    if cursor.take("VIEWS"):
        return ShowViews(_database(cursor, database), _pattern(cursor))
    if cursor.take("TABLE", "EXTENDED"):
        named = _database(cursor, database)
        cursor.expect("LIKE")
        return ShowTables(named, _text(cursor), extended=True)
    if cursor.take("COLUMNS"):
        return _columns(cursor, database)
    if cursor.take("PARTITIONS"):
        table = _table(cursor, database)
        return ShowPartitions(table, _spec(cursor) if cursor.take("PARTITION") else ())
    if cursor.take("CREATE", "TABLE"):
        return _create_table(cursor, database)
    if cursor.take("TBLPROPERTIES"):
        return ShowProperties(_table(cursor, database), _key(cursor))
    return None


def _create_table(cursor: TokenCursor, database: str) -> CatalogCommand | None:
    """SHOW CREATE TABLE; None for a name in capitals, which Spark may repeat as it is written."""
    start = cursor.at
    table = _table(cursor, database)
    written = [token.text for token in cursor.tokens[start : cursor.at]]
    return ShowCreateTable(table) if written == [each.lower() for each in written] else None


def _describe(cursor: TokenCursor, database: str) -> CatalogCommand | None:
    if not cursor.take_any("DESCRIBE", "DESC"):
        return None
    if cursor.take_any("DATABASE", "SCHEMA", "NAMESPACE"):
        return _describe_database(cursor)
    cursor.take("TABLE")
    extended = bool(cursor.take_any("EXTENDED", "FORMATTED"))
    if cursor.word() in _DESCRIBABLE:
        return None
    table = _table(cursor, database)
    if cursor.done:
        return DescribeTable(table, extended)
    if cursor.take("PARTITION"):
        return None if extended else DescribePartition(table, _spec(cursor))
    return DescribeColumn(table, _written(cursor), extended)


def _describe_database(cursor: TokenCursor) -> CatalogCommand:
    extended = bool(cursor.take("EXTENDED"))
    first = _written(cursor)
    if not cursor.take("."):
        return DescribeDatabase(first, extended)
    if first.lower() != _CATALOG:
        raise NotUnderstood("a database of another catalog")
    return DescribeDatabase(_written(cursor), extended)


def _spec(cursor: TokenCursor) -> PartitionSpec:
    """The values of `(a='x', b=1)`: texts without escapes and integers, each column once."""
    inner = cursor.group()
    pairs: dict[str, str] = {}
    while True:
        key = _name(inner)
        inner.expect("=")
        if key in pairs:
            raise NotUnderstood(f"the column {key} twice")
        pairs[key] = _text(inner) if inner.is_text() else _number(inner)
        if not inner.take(","):
            break
    inner.end()
    return tuple(pairs.items())


def _number(cursor: TokenCursor) -> str:
    sign = "-" if cursor.take("-") else ""
    digits = cursor.word()
    if not _DIGITS.fullmatch(digits):
        raise NotUnderstood(f"a whole number expected near {cursor.near()}")
    cursor.at += 1
    return sign + digits


def _pattern(cursor: TokenCursor) -> str | None:
    return _text(cursor) if cursor.take("LIKE") or cursor.is_text() else None


def _text(cursor: TokenCursor) -> str:
    """A quoted text. Raises NotUnderstood if the statement has escapes, which a setting changes."""
    if "\\" in cursor.sql:
        raise NotUnderstood("a text with escapes")
    return cursor.text()


def _database(cursor: TokenCursor, current: str) -> str:
    if not cursor.take_any("IN", "FROM"):
        return current
    parts = _names(cursor)
    if parts[:-1] not in ([], [_CATALOG]):
        raise NotUnderstood("a database of another catalog")
    return parts[-1]


def _columns(cursor: TokenCursor, database: str) -> CatalogCommand | None:
    if not cursor.take_any("IN", "FROM"):
        return None
    table = _table(cursor, "")
    if not cursor.done:
        if table.db or not cursor.take_any("IN", "FROM"):
            return None
        (named,) = _names(cursor)[-1:]
        return ShowColumns(TableRef(named, table.name)) if cursor.done else None
    return ShowColumns(TableRef(table.db or database, table.name))


def _key(cursor: TokenCursor) -> str | None:
    if cursor.done:
        return None
    inner = cursor.group()
    key = _text(inner)
    inner.end()
    return key


def _table(cursor: TokenCursor, database: str) -> TableRef:
    parts = _names(cursor)
    if len(parts) == 3 and parts[0] == _CATALOG:
        parts = parts[1:]
    if len(parts) > 2:
        raise NotUnderstood("a table of another catalog")
    return TableRef(parts[0] if len(parts) == 2 else database, parts[-1])


def _names(cursor: TokenCursor) -> list[str]:
    """The parts of a name, in lower case."""
    parts = [_name(cursor)]
    while cursor.take("."):
        parts.append(_name(cursor))
    return parts


def _name(cursor: TokenCursor) -> str:
    return _written(cursor).lower()


def _written(cursor: TokenCursor) -> str:
    """One part of a name, as it is written."""
    token = cursor.tokens[cursor.at] if cursor.is_name() else None
    is_quoted = token is not None and token.token_type == TokenType.IDENTIFIER
    if token is None or "`" in token.text or not (is_quoted or _NAME.fullmatch(token.text)):
        raise NotUnderstood(f"a name expected near {cursor.near()}")
    cursor.at += 1
    return token.text
