"""CREATE FUNCTION .. RETURN (Spark 4): a function written in SQL."""

from sqlglot.tokenizer_core import Token, TokenType

from conf.tables import ViewText
from dialect.errors import NotUnderstood
from dialect.grammar.statement_context import StatementContext
from dialect.grammar.token_cursor import table_ref
from dialect.statement import ChangeFunction, CreateTempFunction, Known

_SELECT = Token(TokenType.SELECT, "SELECT")
_QUERY_WORDS = ("SELECT", "WITH", "FROM", "VALUES", "TABLE")


def create_sql_function(context: StatementContext, names: list[str], temporary: bool) -> Known:
    """The statement from the function's parameters on. It reads nothing now: what the text reads is
    read by each call. Raises NotUnderstood for a text that uses temporary objects."""
    cursor = context.cursor
    if cursor.word() == "(":
        cursor.skip_group()
    if not cursor.skip_to("RETURN"):
        raise NotUnderstood("CREATE FUNCTION without RETURN")
    cursor.expect("RETURN")
    if cursor.done:
        raise NotUnderstood("a text expected behind RETURN")
    text = cursor.sql[cursor.tokens[cursor.at].start : cursor.tokens[-1].end + 1]
    is_query = cursor.word() in _QUERY_WORDS
    context.query(cursor.rest() if is_query else [_SELECT, *cursor.rest()])
    analysis = context.analysis
    if analysis.temps:
        raise NotUnderstood("a function that uses temporary objects or session variables")
    query = text if is_query else f"SELECT {text}"
    stored = ViewText(query, context.database, double_quoted_names=analysis.double_quoted_names)
    if temporary:
        effect = CreateTempFunction(names[-1], stored)
        return context.known("ddl_other", effect=effect, defines=True)
    ref = table_ref(names, context.database)
    change = ChangeFunction(ref.db, ref.name)
    return context.known("ddl_other", effect=change, database_written=ref.db, defines=True)
