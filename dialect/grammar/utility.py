"""ANALYZE, SHOW, DESCRIBE, COMMENT, GRANT and similar statements."""

from collections.abc import Callable
from dataclasses import replace

from sqlglot.tokenizer_core import TokenType

from dialect.catalog_commands import CatalogCommand, DescribeDatabase
from dialect.errors import NotUnderstood
from dialect.grammar.delta import describe_log
from dialect.grammar.insert import insert_spec
from dialect.grammar.show_describe import catalog_command
from dialect.grammar.statement_context import StatementContext
from dialect.lexing.token_cursor import TokenCursor, database_name, partition_spec, table_ref
from dialect.lexing.tokens import is_name, word_of
from dialect.parsing.keyword_names import follows_query
from dialect.statement import NONE, Known, Read, WriteAction


def _analyze(context: StatementContext) -> Known:
    cursor = context.cursor
    cursor.expect("ANALYZE")
    if cursor.take("TABLES"):
        return _analyze_tables(context)
    cursor.expect("TABLE")
    parts = cursor.names()
    ref = context.table_of(parts)
    spec = partition_spec(cursor) if cursor.take("PARTITION") else None
    write = context.write(ref, WriteAction.ALTER, spec)
    if context.is_view(ref):
        context.read_table(parts)  # Spark analyses a cached view by counting its rows
        return context.known("analyze", writes=[write])
    return context.known("analyze", writes=[write], reads=[Read(ref, write.partitions)])


def _analyze_tables(context: StatementContext) -> Known:
    """ANALYZE TABLES of all tables in a database, which the proxy looks up."""
    cursor = context.cursor
    named = cursor.take_any("IN", "FROM")
    database = database_name(cursor) if named else context.database.lower()
    cursor.expect("COMPUTE", "STATISTICS")
    cursor.take("NOSCAN")
    cursor.end()
    return context.known("analyze", database_written=database, cascade=True)


def _show(context: StatementContext) -> Known:
    """SHOW, which every cluster answers alike from the common metastore."""
    cursor = context.cursor
    command = catalog_command(cursor, context.database)
    cursor.expect("SHOW")
    if cursor.take("CREATE", "TABLE") or cursor.take("TBLPROPERTIES") or cursor.take("PARTITIONS"):
        return _about_table(context, command)
    if cursor.take("COLUMNS"):
        return _columns(context, command)
    lists = cursor.word() in ("TABLES", "VIEWS") or cursor.next_is("TABLE", "EXTENDED")
    return replace(context.known("metadata_read", lists_temps=lists), catalog=command)


def _columns(context: StatementContext, command: CatalogCommand | None) -> Known:
    """`SHOW COLUMNS IN t [IN db]`."""
    cursor = context.cursor
    cursor.take_any("FROM", "IN")
    parts = cursor.names()
    if cursor.take_any("FROM", "IN"):
        database = cursor.names()
        parts = parts if len(parts) > 1 else [*database, *parts]  # Spark refuses two that differ
    if context.temporary(parts) is not None:
        return context.known("metadata_read")
    ref = table_ref(parts, context.database)
    return replace(context.known("metadata_read", reads=[Read(ref, NONE)]), catalog=command)


def _about_table(context: StatementContext, command: CatalogCommand | None) -> Known:
    parts = context.cursor.names()
    if context.temporary(parts) is not None:
        return context.known("metadata_read")
    ref = table_ref(parts[:3], context.database)
    return replace(context.known("metadata_read", reads=[Read(ref, NONE)]), catalog=command)


_QUERIES = ("SELECT", "WITH", "(", "FROM", "VALUES", "MAP", "REDUCE", "QUERY")


def _describe(context: StatementContext) -> Known:
    """`DESCRIBE [TABLE] [EXTENDED | FORMATTED] t [column]`, in this order only: `DESCRIBE EXTENDED
    TABLE x` describes the column x of a table with the name table."""
    cursor = context.cursor
    command = catalog_command(cursor, context.database)
    cursor.take_any("DESCRIBE", "DESC")
    if (of_log := describe_log(context)) is not None:
        return of_log
    if _is_keyword(cursor, "DATABASE", "SCHEMA", "NAMESPACE", "FUNCTION"):
        is_database = isinstance(command, DescribeDatabase)
        return replace(context.known("metadata_read"), catalog=command if is_database else None)
    if cursor.word() in _QUERIES and not _names_column(cursor):
        cursor.take("QUERY")
        context.read_rest_as_query()
        return context.known("metadata_read")
    if _is_table_query(cursor):
        context.read_rest_as_query()
        return context.known("metadata_read")
    for words in (("TABLE",), ("EXTENDED", "FORMATTED")):
        if _is_keyword(cursor, *words):
            cursor.at += 1
    if cursor.word() in _QUERIES and not _names_column(cursor):
        raise NotUnderstood("DESCRIBE EXTENDED of a query")
    return _about_table(context, command)


def _is_table_query(cursor: TokenCursor) -> bool:
    """Whether a query of the form `TABLE t UNION ..`, or with another clause, follows."""
    rest = TokenCursor(cursor.tokens, cursor.sql, cursor.at + 1)
    if not cursor.next_is("TABLE") or not rest.is_name() or _names_column(rest):
        return False
    if _is_keyword(rest, "EXTENDED", "FORMATTED"):
        return False
    rest.names()
    return not rest.done and follows_query(rest.tokens[rest.at])


def _is_keyword(cursor: TokenCursor, *words: str) -> bool:
    """Whether one of the words comes next, and is not the table's name."""
    last = cursor.at + 1 == len(cursor.tokens)
    named = last or cursor.word(1) == "." or (cursor.word(1), cursor.word(2)) == ("PARTITION", "(")
    return cursor.word() in words and not named


def _names_column(cursor: TokenCursor) -> bool:
    """Whether a table with a column or a partition follows: `DESCRIBE SELECT x` describes the
    column x of the table select."""
    rest = TokenCursor(cursor.tokens, cursor.sql, cursor.at)
    if not rest.is_name():
        return False
    rest.names()
    if rest.next_is("PARTITION", "("):
        spec = TokenCursor(rest.tokens, rest.sql, rest.at + 1)
        rest.at += 1
        rest.skip_group()
        if rest.done and not _is_specification(spec):
            raise NotUnderstood("DESCRIBE of a partition or a call of partition()")
        return rest.done
    if rest.is_name() and rest.tokens[rest.at].token_type != TokenType.NUMBER:
        rest.names()
    if rest.done and "/*+" in cursor.sql[cursor.tokens[cursor.at].start :]:
        raise NotUnderstood("DESCRIBE of a name with a hint")
    return rest.done


def _is_specification(cursor: TokenCursor) -> bool:
    """Whether every column in the brackets has a literal; if not, it may be a call of
    partition()."""
    tokens = cursor.tokens[cursor.at :]
    for at in range(1, len(tokens) - 1):
        if tokens[at - 1].token_type == TokenType.EQ and is_name(tokens[at]):
            typed = tokens[at + 1].token_type == TokenType.STRING
            if not typed and word_of(tokens[at]) not in ("NULL", "TRUE", "FALSE"):
                return False
    return all(value for _, value in insert_spec(cursor))


def _comment(context: StatementContext) -> Known:
    cursor = context.cursor
    cursor.expect("COMMENT", "ON")
    if cursor.take("TABLE"):
        ref = context.table_name()
        return context.known("alter", writes=[context.write(ref, WriteAction.ALTER)])
    if cursor.take_any("DATABASE", "SCHEMA", "NAMESPACE"):
        return context.known("ddl_other", database_written=cursor.names()[-1])
    raise NotUnderstood(f"COMMENT ON {cursor.word()}")


def _other(context: StatementContext) -> Known:
    return context.known("ddl_other")


VERBS: dict[str, Callable[[StatementContext], Known]] = {
    "ANALYZE": _analyze,
    "SHOW": _show,
    "DESCRIBE": _describe,
    "DESC": _describe,
    "COMMENT": _comment,
    "GRANT": _other,
    "REVOKE": _other,
    "LOCK": _other,
    "UNLOCK": _other,
}
