"""EXECUTE IMMEDIATE (Spark 4), which runs the text that is the value of an expression.

If the text is certain, it is analysed instead of the statement, with the values of USING in the
place of its parameters. Other texts are refused.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from sqlglot.tokenizer_core import Token, TokenType

from dialect.errors import NotUnderstood
from dialect.grammar.session.session_variables import (
    certain_text,
    computed_once,
    next_expression,
    variable_names,
)
from dialect.grammar.statement_context import StatementContext
from dialect.lexing.token_cursor import QUERY_WORDS, TokenCursor
from dialect.lexing.tokenize import is_script, tokenize
from dialect.lexing.tokens import DOUBLED, is_name, retyped, word_of
from dialect.lineage.build import Builder
from dialect.parsing.constant_text import TEXTS
from dialect.parsing.function_calls import calls_of
from dialect.parsing.identifier_clause import ANY_COLUMN, replace_identifier_clauses
from dialect.parsing.variables import check_language
from dialect.statement import Known

_LITERALS = TEXTS | {TokenType.NUMBER, TokenType.TRUE, TokenType.FALSE, TokenType.NULL}
_WITH_PARAMETERS = (*QUERY_WORDS, "(", "INSERT", "UPDATE", "DELETE", "MERGE")
# After one of these a colon begins a field of a value and no parameter.
_VALUE_ENDS = frozenset({TokenType.R_PAREN, TokenType.R_BRACKET, TokenType.IDENTIFIER})
_NO_QUERIES = frozenset({TokenType.SELECT, TokenType.FROM, TokenType.TABLE, TokenType.VALUES})

Statement = Callable[[StatementContext], Known]


def execute_immediate(context: StatementContext, statement: Statement) -> Known:
    """Analyses the text of the statement by `statement`. Raises NotUnderstood."""
    cursor, analysis = context.cursor, context.analysis
    if cursor.at:
        raise NotUnderstood("EXPLAIN of EXECUTE IMMEDIATE, which runs the statement")
    if analysis.case_sensitive:
        raise NotUnderstood("EXECUTE IMMEDIATE if names differ by case")
    cursor.expect("EXECUTE", "IMMEDIATE")
    text = certain_text(context, _until_clause(cursor))
    if text is None:
        raise NotUnderstood("EXECUTE IMMEDIATE of a text that is not known")
    into = variable_names(cursor) if cursor.take("INTO") else []
    arguments = _arguments(context) if cursor.take("USING") else []
    cursor.end()
    known = _analyze_text(context, text, arguments, statement)
    if known.effect is not None and (arguments or into):
        raise NotUnderstood(
            "EXECUTE IMMEDIATE with INTO or USING of a statement that changes the session"
        )
    if into:
        if known.kind not in ("select", "from_select"):
            raise NotUnderstood("EXECUTE IMMEDIATE .. INTO of a statement that is no query")
        known = replace(known, effect=computed_once(context, into))
    return replace(known, catalog=None, immediate=text)


def _until_clause(cursor: TokenCursor) -> list[Token]:
    start = cursor.at
    cursor.skip_to("INTO", "USING")
    tokens = cursor.tokens[start : cursor.at]
    # A doubled quote is one quote: only Spark 4 has this statement.
    return [retyped(each, each.token_type, each.text.replace(DOUBLED, "")) for each in tokens]


def _analyze_text(
    context: StatementContext,
    text: str,
    arguments: Sequence[tuple[str, list[Token]]],
    statement: Statement,
) -> Known:
    analysis = context.analysis
    if "${" in text:
        raise NotUnderstood("EXECUTE IMMEDIATE of a text with variables of SET")
    check_language(text, analysis.namespace.variables)
    tokens = tokenize(text, analysis.double_quoted_names)
    if is_script(tokens):
        raise NotUnderstood("a script in EXECUTE IMMEDIATE")
    if tokens and word_of(tokens[0]) == "EXECUTE":
        raise NotUnderstood("EXECUTE IMMEDIATE in EXECUTE IMMEDIATE")
    analysis.note_variables(tokens)
    builder = Builder(analysis)
    builder.use_functions(calls_of(tokens), analysis.namespace.database.lower())
    if arguments:
        tokens = _with_arguments(context, tokens, arguments)
    resolved = replace_identifier_clauses(tokens, text, analysis.texts)
    return statement(StatementContext(TokenCursor(resolved, text), analysis, builder))


def _arguments(context: StatementContext) -> list[tuple[str, list[Token]]]:
    """The expressions of USING, each with its parameter's name in lower case, or an empty one."""
    cursor = context.cursor
    if cursor.word() == "(":
        after = TokenCursor(cursor.tokens, cursor.sql, cursor.at)
        after.skip_group()
        if after.done:
            inside = cursor.group()
            return _expressions(inside)
    return _expressions(cursor)


def _expressions(cursor: TokenCursor) -> list[tuple[str, list[Token]]]:
    found = [_argument(next_expression(cursor))]
    while cursor.take(","):
        found.append(_argument(next_expression(cursor)))
    cursor.end()
    return found


def _argument(tokens: list[Token]) -> tuple[str, list[Token]]:
    if any(token.token_type in _NO_QUERIES for token in tokens):
        raise NotUnderstood("a query in USING of EXECUTE IMMEDIATE")
    if len(tokens) > 2 and tokens[-2].token_type == TokenType.ALIAS:
        return tokens[-1].text.lower(), tokens[:-2]
    if len(tokens) > 1 and is_name(tokens[-1]) and tokens[-2].token_type != TokenType.DOT:
        if len(tokens) > 2:
            raise NotUnderstood("a name without AS in USING of EXECUTE IMMEDIATE")
        return tokens[-1].text.lower(), tokens[:-1]
    # A variable without AS is the parameter with its name.
    return (tokens[-1].text.lower() if is_name(tokens[-1]) else ""), tokens


def _with_arguments(
    context: StatementContext, tokens: list[Token], arguments: Sequence[tuple[str, list[Token]]]
) -> list[Token]:
    """The tokens with each parameter replaced by its value. Raises NotUnderstood."""
    if not tokens or word_of(tokens[0]) not in _WITH_PARAMETERS:
        raise NotUnderstood("EXECUTE IMMEDIATE .. USING of a statement without parameters")
    values = [_value(context, value) for _, value in arguments]
    is_certain = all(value.token_type != TokenType.IDENTIFIER for value in values)
    if not is_certain and any(word_of(token) == "PARTITION" for token in tokens):
        raise NotUnderstood("a partition whose value is not known")
    if any(token.token_type == TokenType.PLACEHOLDER for token in tokens):
        return _replace_positional(tokens, values)
    return _replace_named(
        tokens, {name: value for (name, _), value in zip(arguments, values, strict=True)}
    )


def _value(context: StatementContext, tokens: list[Token]) -> Token:
    """One token for the value: a literal, or a name that stands for any column if the value is not
    certain."""
    text = certain_text(context, tokens)
    if text is not None:
        return retyped(tokens[0], TokenType.STRING, text)
    if len(tokens) == 1 and tokens[0].token_type in _LITERALS:
        return tokens[0]
    return retyped(tokens[0], TokenType.IDENTIFIER, ANY_COLUMN)


def _replace_positional(tokens: list[Token], values: Sequence[Token]) -> list[Token]:
    """Replaces each `?` by the next value."""
    waiting = iter(values)
    result = []
    for token in tokens:
        if token.token_type == TokenType.COLON:
            raise NotUnderstood("a colon beside parameters of EXECUTE IMMEDIATE")
        if token.token_type == TokenType.PLACEHOLDER:
            value = next(waiting, None)
            if value is None:
                raise NotUnderstood("EXECUTE IMMEDIATE with more parameters than values")
            token = retyped(token, value.token_type, value.text)
        result.append(token)
    return result


def _replace_named(tokens: list[Token], values: Mapping[str, Token]) -> list[Token]:
    """Replaces each `:name` by the value of that name."""
    result: list[Token] = []
    at = 0
    while at < len(tokens):
        token = tokens[at]
        if token.token_type != TokenType.COLON:
            result.append(token)
            at += 1
            continue
        before = result[-1].token_type if result else None
        value = values.get(tokens[at + 1].text.lower()) if at + 1 < len(tokens) else None
        if value is None or before in _VALUE_ENDS or before == TokenType.VAR:
            raise NotUnderstood("a colon that begins no parameter of EXECUTE IMMEDIATE")
        result.append(retyped(token, value.token_type, value.text))
        at += 2
    return result
