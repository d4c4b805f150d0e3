"""DECLARE, SET VARIABLE and DROP TEMPORARY VARIABLE (Spark 4).

A statement whose value is certainly the same in every cluster is repeatable: the session's replay
runs it in other clusters. Another value (of a query, rand(), current_timestamp()) is computed once,
and its variable is in one cluster only.
"""

import re
from collections.abc import Sequence
from itertools import pairwise

from sqlglot.tokenizer_core import Token, TokenType

from dialect.errors import NotUnderstood
from dialect.grammar.statement_context import StatementContext
from dialect.lexing.token_cursor import TokenCursor
from dialect.lexing.tokens import DOUBLED, names_in
from dialect.lineage.temporary import variable_name
from dialect.parsing.constant_text import TEXTS, evaluate_text, variable_at
from dialect.statement import AssignVariables, DropTemp, Known, SessionVariable

MAX_TEXT = 10_000  # characters of the longest value whose text is kept
_NAME = re.compile(r"[a-z_][a-z0-9_]*")
_SELECT = Token(TokenType.SELECT, "SELECT")
_COMMA = Token(TokenType.COMMA, ",")
_OPENING = frozenset({TokenType.L_PAREN, TokenType.L_BRACKET, TokenType.L_BRACE})
_CLOSING = frozenset({TokenType.R_PAREN, TokenType.R_BRACKET, TokenType.R_BRACE})
_OF_SCRIPTS = frozenset({"CURSOR", "CONDITION", "HANDLER"})
# Spark casts these texts to the current date or time.
_MOMENTS = re.compile(r"\s*(now|today|tomorrow|yesterday)\b", re.IGNORECASE)
# Words and signs of expressions with the same value in every cluster. None of them computes a text,
# which might be one of _MOMENTS.
_REPEATABLE_WORDS = frozenset(
    [
        *("TRUE", "FALSE", "NULL", "DEFAULT", "CAST", "AS", "ARRAY", "MAP", "NAMED_STRUCT"),
        *("INT", "INTEGER", "BIGINT", "LONG", "SMALLINT", "SHORT", "TINYINT", "BYTE", "BOOLEAN"),
        *("FLOAT", "REAL", "DOUBLE", "DECIMAL", "DEC", "NUMERIC", "STRING", "BINARY", "INTERVAL"),
        *(
            "DATE",
            "TIMESTAMP",
            "TIMESTAMP_LTZ",
            "TIMESTAMP_NTZ",
            "YEAR",
            "YEARS",
            "MONTH",
            "MONTHS",
        ),
        *("DAY", "DAYS", "HOUR", "HOURS", "MINUTE", "MINUTES", "SECOND", "SECONDS", "TO"),
        *("+", "-", "*", "/", "%", "(", ")", ",", "::", "<", ">"),
    ]
)


def declare(context: StatementContext) -> Known:
    cursor = context.cursor
    cursor.expect("DECLARE")
    replaces = cursor.take("OR", "REPLACE")
    if cursor.word() in ("VAR", "VARIABLE") and cursor.is_name(1):
        cursor.at += 1
    names = [_name(cursor)]
    while cursor.take(","):
        names.append(_name(cursor))
    kind = [token.text.upper() for token in _until_default(cursor)]
    if not _OF_SCRIPTS.isdisjoint(kind):
        raise NotUnderstood("DECLARE of something other than a variable")
    value = cursor.rest()[1:]
    if replaces:
        _forget_replaced(context, names, value)
    if not value:
        return _assignment(context, [(name, SessionVariable(kind == ["STRING"])) for name in names])
    is_text, text, repeatable = _value(context, value)
    if kind and kind != ["STRING"]:
        is_text, text = False, None
    variable = SessionVariable(is_text or kind == ["STRING"], text if is_text else None)
    if not repeatable:
        context.query([_SELECT, *value])
    variables = [(name, variable if repeatable else SessionVariable()) for name in names]
    return _assignment(context, variables, repeatable=repeatable)


def _forget_replaced(context: StatementContext, names: list[str], value: Sequence[Token]) -> None:
    """Removes the variables that the statement replaces from those that it uses, unless its value
    uses them."""
    used = set(names_in(value))
    for name in names:
        if name not in used:
            context.analysis.temps.pop(variable_name(name), None)


def _until_default(cursor: TokenCursor) -> list[Token]:
    """The tokens of the type: up to DEFAULT, `=`, `==` (which Spark reads as `=`), or the end."""
    start = cursor.at
    while not cursor.done and cursor.word() not in ("DEFAULT", "=", "=="):
        cursor.at += 1
    return list(cursor.tokens[start : cursor.at])


def _name(cursor: TokenCursor) -> str:
    name, cursor.at = variable_at(cursor.tokens, cursor.at)
    if not _NAME.fullmatch(name):
        raise NotUnderstood(f"a variable with the name {name}")
    return name


def set_variables(context: StatementContext) -> Known:
    """Reads SET VAR and SET VARIABLE. Raises NotUnderstood."""
    cursor = context.cursor
    cursor.expect("SET")
    cursor.at += 1
    if cursor.word() == "(":
        group = cursor.group()
        names = variable_names(group)
        group.end()
        cursor.expect("=")
        query = cursor.group()
        cursor.end()
        context.query(query.rest())
        return context.known("set", effect=computed_once(context, names))
    known = context.analysis.namespace.session_variables
    variables: list[tuple[str, SessionVariable]] = []
    computed: list[Token] = []
    while True:
        name = _name(cursor)
        if not cursor.take("=") and not cursor.take("=="):
            raise NotUnderstood(f"= expected near {cursor.near()}")
        value = next_expression(cursor)
        is_text, text, repeatable = _value(context, value)
        wanted = known.get(name, SessionVariable())
        kept = text if is_text and wanted.is_text else None
        variables.append((name, SessionVariable(wanted.is_text, kept)))
        if not repeatable:
            computed += [_COMMA, *value] if computed else value
        if not cursor.take(","):
            break
    cursor.end()
    if computed:
        context.query([_SELECT, *computed])
        effect = computed_once(context, [name for name, _ in variables])
        return context.known("set", effect=effect)
    return _assignment(context, variables, declares=False)


def computed_once(context: StatementContext, names: Sequence[str]) -> AssignVariables:
    """The effect of a statement whose values another run might not compute again."""
    known = context.analysis.namespace.session_variables
    types = {name: known.get(name, SessionVariable()).is_text for name in names}
    variables = tuple((variable_name(name), SessionVariable(types[name])) for name in names)
    return AssignVariables(variables, repeatable=False)


def variable_names(cursor: TokenCursor) -> list[str]:
    """The names in a list of variables."""
    names = [_name(cursor)]
    while cursor.take(","):
        names.append(_name(cursor))
    return names


def next_expression(cursor: TokenCursor) -> list[Token]:
    """The tokens up to the next comma outside brackets. Raises NotUnderstood if there are none."""
    start, depth = cursor.at, 0
    while not cursor.done:
        kind = cursor.tokens[cursor.at].token_type
        if not depth and kind == TokenType.COMMA:
            break
        depth += (kind in _OPENING) - (kind in _CLOSING)
        cursor.at += 1
    if start == cursor.at:
        raise NotUnderstood(f"a value expected near {cursor.near()}")
    return list(cursor.tokens[start : cursor.at])


def certain_text(context: StatementContext, tokens: Sequence[Token]) -> str | None:
    """The value of an expression that is certainly a known text; None for another expression."""
    try:
        text, end = evaluate_text(tokens, 0, context.analysis.texts)
    except NotUnderstood:
        return None
    numbers = frozenset({TokenType.NUMBER, TokenType.L_PAREN, TokenType.R_PAREN})
    is_number = all(token.token_type in numbers for token in tokens)
    return text if end == len(tokens) and not is_number else None


def _value(context: StatementContext, tokens: Sequence[Token]) -> tuple[bool, str | None, bool]:
    """Whether the expression is a known text; the text, unless it is too long; and whether every
    cluster computes the same value."""
    text = certain_text(context, tokens)
    if text is not None:
        kept = text if len(text) <= MAX_TEXT else None
        return True, kept, not _MOMENTS.match(text)
    return False, None, all(_is_repeatable(context, *pair) for pair in pairwise([None, *tokens]))


def _is_repeatable(context: StatementContext, before: Token | None, token: Token | None) -> bool:
    assert token is not None
    if token.token_type in TEXTS:
        return not _MOMENTS.match(token.text) and DOUBLED not in token.text
    if token.token_type in (TokenType.NUMBER, TokenType.HEX_STRING):
        return True
    if before is not None and before.token_type == TokenType.DCOLON:
        return True  # the suffix of a number
    if token.token_type != TokenType.IDENTIFIER and token.text.upper() in _REPEATABLE_WORDS:
        return True
    return token.text.lower() in context.analysis.namespace.session_variables


def _assignment(
    context: StatementContext,
    variables: Sequence[tuple[str, SessionVariable]],
    *,
    repeatable: bool = True,
    declares: bool = True,
) -> Known:
    named = tuple((variable_name(name), variable) for name, variable in variables)
    effect = AssignVariables(named, repeatable, declares)
    return context.known("declare" if declares else "set", effect=effect)


def drop_variable(context: StatementContext) -> Known:
    """Reads the rest of DROP TEMPORARY VARIABLE."""
    cursor = context.cursor
    name = _name(cursor)
    cursor.end()
    return context.known("drop", effect=DropTemp(variable_name(name)))
