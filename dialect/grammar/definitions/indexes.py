"""CREATE INDEX and DROP INDEX. Spark has no indexes, but it looks up the table."""

from dialect.grammar.statement_context import StatementContext
from dialect.statement import Known, Read


def index_statement(context: StatementContext) -> Known:
    """Reads `.. i ON [TABLE] t` from the index's name on. Raises NotUnderstood."""
    cursor = context.cursor
    cursor.names()
    cursor.expect("ON")
    if cursor.next_is("TABLE") and cursor.is_name(1):
        cursor.take("TABLE")
    return context.known("ddl_other", reads=[Read(context.table_name())])
