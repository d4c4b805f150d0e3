"""CREATE FUNCTION .. RETURN (Spark 4): a function written in SQL."""

from sqlglot.tokenizer_core import Token, TokenType

from conf.catalog.tables import ViewText
from dialect.errors import NotUnderstood
from dialect.grammar.statement_context import StatementContext
from dialect.lexing.token_cursor import TokenCursor, table_ref
from dialect.lexing.tokens import word_of
from dialect.statement import ChangeFunction, CreateTempFunction, Known

_SELECT = Token(TokenType.SELECT, "SELECT")
_QUERY_WORDS = ("SELECT", "WITH", "FROM", "VALUES", "TABLE")


def create_sql_function(
    context: StatementContext, names: list[str], temporary: bool, replace: bool
) -> Known:
    """Reads the statement from the function's parameters on. It reads no data: each call reads what
    the text reads. Raises NotUnderstood for a text that uses temporary objects."""
    cursor = context.cursor
    if cursor.word() == "(":
        _check_parameters(cursor.group())
    if not cursor.skip_to("RETURN"):
        raise NotUnderstood("CREATE FUNCTION without RETURN")
    cursor.expect("RETURN")
    if cursor.done:
        raise NotUnderstood("a text expected after RETURN")
    text = cursor.sql[cursor.tokens[cursor.at].start : cursor.tokens[-1].end + 1]
    is_query = cursor.word() in _QUERY_WORDS
    context.query(cursor.rest() if is_query else [_SELECT, *cursor.rest()])
    analysis = context.analysis
    if analysis.temps:
        raise NotUnderstood("a function that uses temporary objects or session variables")
    query = text if is_query else f"SELECT {text}"
    stored = ViewText(query, db="", double_quoted_names=analysis.double_quoted_names)
    if temporary:
        effect = CreateTempFunction(names[-1], stored)
        return context.known("ddl_other", effect=effect, defines=True)
    ref = table_ref(names, context.database)
    change = ChangeFunction(ref.db, ref.name, is_new=not replace)
    return context.known("ddl_other", effect=change, database_written=ref.db, defines=True)


def _check_parameters(cursor: TokenCursor) -> None:
    """Raises NotUnderstood for a default with a call, which would be no part of the stored text."""
    words = [word_of(token) for token in cursor.rest()]
    if "DEFAULT" in words and "(" in words[words.index("DEFAULT") :]:
        raise NotUnderstood("a function with a call in the default of a parameter")
