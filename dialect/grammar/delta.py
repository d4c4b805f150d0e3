"""Statements that only Delta's extension of Spark understands."""

from collections.abc import Callable

from conf.names import TableRef
from dialect.errors import NotUnderstood
from dialect.grammar.statement_context import StatementContext
from dialect.lexing.token_cursor import TokenCursor, table_ref
from dialect.statement import ALL, Known, Read, WriteAction


def describe_log(context: StatementContext) -> Known | None:
    """Reads `DESCRIBE HISTORY t` or `DESCRIBE DETAIL t`, which read the table's log. None for
    another statement, and if there is a table history or detail: Spark without Delta describes a
    column of it."""
    cursor = context.cursor
    rest = TokenCursor(cursor.tokens, cursor.sql, cursor.at)
    if rest.word() not in ("HISTORY", "DETAIL") or rest.word(1) == ".":
        return None
    if context.look_up(table_ref([rest.word().lower()], context.database)) is not None:
        return None
    rest.at += 1
    if rest.is_text():
        raise NotUnderstood("DESCRIBE of a folder's log")
    if rest.done or not rest.is_name():
        return None
    cursor.at = rest.at
    ref = _table(context)
    if not cursor.done:
        cursor.expect("LIMIT")
    return context.known("metadata_read", reads=[Read(ref, ALL)])


def refuse_clone(cursor: TokenCursor) -> None:
    """Raises NotUnderstood for `CREATE TABLE t SHALLOW CLONE source`."""
    if (
        cursor.next_is("CLONE")
        or cursor.next_is("SHALLOW", "CLONE")
        or cursor.next_is("DEEP", "CLONE")
    ):
        raise NotUnderstood("CLONE, which makes a table of another table's files")


def _maintenance(context: StatementContext) -> Known:
    """Reads `OPTIMIZE t [WHERE ..] [ZORDER BY ..]`, `VACUUM t [RETAIN ..]` and `RESTORE [TABLE] t
    TO ..`, each of which reads and writes its table."""
    cursor = context.cursor
    verb = cursor.word()
    cursor.at += 1
    if verb == "RESTORE" and cursor.word(1) not in ("", "TO", "VERSION", "TIMESTAMP", "."):
        cursor.take("TABLE")
    ref = _table(context)
    if any(token.text.upper() in ("SELECT", "TABLE", "FROM") for token in cursor.rest()):
        raise NotUnderstood(f"a query in {verb}")
    if context.is_view(ref):
        raise NotUnderstood(f"{verb} of a view")
    write = context.write(ref, WriteAction.INSERT)
    return context.known("maintenance", writes=[write], reads=[Read(ref, ALL)])


def _table(context: StatementContext) -> TableRef:
    cursor = context.cursor
    if cursor.is_text():
        raise NotUnderstood("a table that is named by its folder")
    parts = cursor.names()
    if context.temporary(parts) is not None:
        raise NotUnderstood("a statement of Delta about a temporary view")
    ref = table_ref(parts, context.database)
    if "/" in ref.name:
        raise NotUnderstood("a table that is named by its folder")
    context.look_up(ref)
    return ref


VERBS: dict[str, Callable[[StatementContext], Known]] = {
    "OPTIMIZE": _maintenance,
    "VACUUM": _maintenance,
    "RESTORE": _maintenance,
}
