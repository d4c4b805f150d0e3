"""Replaces IDENTIFIER('db.t') by the name that Spark takes from its expression.

Only an expression with a certain value is evaluated (`constant_text`). Another one is any column
where only a column can stand, and is refused everywhere else.
"""

from collections.abc import Mapping, Sequence

from sqlglot.tokenizer_core import Token, TokenType

from dialect.errors import NotUnderstood, SparkRefuses
from dialect.lexing.lexer import LexemeKind, lexemes
from dialect.lexing.tokens import closing_bracket, is_name, retyped
from dialect.parsing.constant_text import NO_VARIABLES, TEXTS, evaluate_text

_NO_NAME = "IDENTIFIER of a text that is no name"
_NO_CONSTANT = "IDENTIFIER of an expression that is no constant"
# A pattern of names, as in Hive: it may be any column, and nothing is pruned by it.
ANY_COLUMN = ".*"
_OPEN, _CLOSE = TokenType.L_PAREN, TokenType.R_PAREN
# After one of these, as a keyword or a name, an expression follows and no table.
_BEFORE_EXPRESSIONS = frozenset(
    {TokenType.SELECT, TokenType.WHERE, TokenType.HAVING, TokenType.AND, TokenType.OR}
    | {TokenType.EQ, TokenType.NEQ, TokenType.LT, TokenType.LTE, TokenType.GT, TokenType.GTE}
    | {TokenType.PLUS, TokenType.DASH, TokenType.SLASH, TokenType.PERCENT, TokenType.DPIPE}
)
_OF_QUERIES = frozenset({TokenType.SELECT, TokenType.FROM, TokenType.TABLE, TokenType.VALUES})
# Keywords before a table's or a column's name. After another keyword the clause may be an alias.
_BEFORE_NAMES = _BEFORE_EXPRESSIONS | {
    *(TokenType.FROM, TokenType.JOIN, TokenType.INTO, TokenType.TABLE, TokenType.VIEW),
    *(TokenType.UPDATE, TokenType.USING, TokenType.OVERWRITE, TokenType.DESCRIBE),
}
# After LATERAL VIEW the clause may be a call, and in a command Spark ignores an unused query of
# WITH.
_UNCERTAIN = frozenset({TokenType.LATERAL, TokenType.WITH})
# Spark does not parse the rest of these statements.
_RAW = frozenset({"SET", "RESET", "ADD", "LIST"})


class _NoName(Exception):
    """The value of a clause is no name."""


def replace_identifier_clauses(
    tokens: list[Token], sql: str, variables: Mapping[str, str | None] = NO_VARIABLES
) -> list[Token]:
    """The tokens of `sql` with each IDENTIFIER clause replaced by its name. Raises NotUnderstood.

    `variables` has the texts of session variables. The new tokens have the position of the clause.
    """
    if "IDENTIFIER" not in sql.upper() or not tokens or tokens[0].text.upper() in _RAW:
        return tokens
    result: list[Token] = []
    at = 0
    while at < len(tokens):
        end = _clause_end(tokens, at)
        if end is None:
            result.append(tokens[at])
            at += 1
            continue
        result += _name(_named(tokens, at, end, variables), tokens[at].start, tokens[end].end)
        at = end + 1
    return result


def _named(
    tokens: Sequence[Token], at: int, end: int, variables: Mapping[str, str | None]
) -> list[str]:
    """The parts of the name for which the clause from `at` to `end` stands.

    Before a dot the clause is a column with a field, and no part of a table's name.
    """
    field = end + 1 < len(tokens) and tokens[end + 1].token_type == TokenType.DOT
    if _takes_expression(tokens, at, end):
        try:
            parts = _evaluated(tokens, at, end, variables)
            return [ANY_COLUMN] if field else parts
        except SparkRefuses:
            raise
        except NotUnderstood:
            if any(token.token_type in _OF_QUERIES for token in tokens[at:end]):
                raise
            return [ANY_COLUMN]
    if field:
        raise NotUnderstood("IDENTIFIER before a dot")
    return _evaluated(tokens, at, end, variables)


def _evaluated(
    tokens: Sequence[Token], at: int, end: int, variables: Mapping[str, str | None]
) -> list[str]:
    try:
        value, after = evaluate_text(tokens, at + 2, variables)
    except NotUnderstood as error:
        raise NotUnderstood(f"IDENTIFIER of {error.why}") from None
    if after != end:
        raise NotUnderstood(_NO_CONSTANT)
    try:
        parts = _parts(value)
    except _NoName:
        alias = at and (is_name(tokens[at - 1]) or tokens[at - 1].token_type == _CLOSE)
        named = not alias or tokens[at - 1].token_type in _BEFORE_NAMES
        if named and all(token.token_type not in _UNCERTAIN for token in tokens):
            raise SparkRefuses(_NO_NAME) from None
        raise NotUnderstood(_NO_NAME) from None
    if len(parts) == 1:
        _check_not_cte(tokens, parts[0])
    return parts


def _takes_expression(tokens: Sequence[Token], at: int, end: int) -> bool:
    """Whether the clause is certainly a column, and no table's or function's name."""
    if at == 0 or (end + 1 < len(tokens) and tokens[end + 1].token_type == _OPEN):
        return False
    before = tokens[at - 1].token_type
    if before == _OPEN and at > 1:
        return tokens[at - 2].token_type == TokenType.VALUES
    return before in _BEFORE_EXPRESSIONS


def _clause_end(tokens: Sequence[Token], at: int) -> int | None:
    """The position of the bracket that closes the clause at `at`; None if there is no clause.

    The list in `INSERT INTO identifier (a, b)` is no clause, and neither is `d.identifier('a')`.
    """
    token = tokens[at]
    if token.token_type != TokenType.VAR or token.text.upper() != "IDENTIFIER":
        return None
    if at and tokens[at - 1].token_type == TokenType.DOT:
        return None
    if at + 2 >= len(tokens) or tokens[at + 1].token_type != _OPEN:
        return None
    end = closing_bracket(list(tokens), at + 1)
    if end >= len(tokens):
        raise NotUnderstood("IDENTIFIER without an end")
    depth = 0
    for each in tokens[at + 1 : end]:
        depth += (each.token_type == _OPEN) - (each.token_type == _CLOSE)
        if depth == 1 and each.token_type == TokenType.COMMA:
            return None
    return end


def _parts(value: str) -> list[str]:
    """The parts of the name `a.b` or `` `a b`.c ``, as Spark reads it. Raises _NoName."""
    found = list(lexemes(value))
    parts = []
    for at, (kind, start, end) in enumerate(found):
        text = value[start:end]
        if at % 2:
            if text != ".":
                break
        elif kind is LexemeKind.WORD:
            parts.append(text)
        elif kind is LexemeKind.QUOTED_NAME:
            parts.append(text[1:-1].replace("``", "`"))
        else:
            break
    else:
        if len(found) % 2:
            return parts
    raise _NoName


def _check_not_cte(tokens: Sequence[Token], name: str) -> None:
    """Raises NotUnderstood for a name that WITH may define: Spark's versions differ in what they
    read then."""
    wanted = name.lower()
    named = any(token.text.lower() == wanted and token.token_type not in TEXTS for token in tokens)
    if named and any(token.token_type == TokenType.WITH for token in tokens):
        raise NotUnderstood("IDENTIFIER of a name that WITH may define")


def _name(parts: Sequence[str], start: int, end: int) -> list[Token]:
    place = Token(TokenType.DOT, ".", 1, start + 1, start, end)
    result = [retyped(place, TokenType.IDENTIFIER, parts[0])]
    for part in parts[1:]:
        result += [place, retyped(place, TokenType.IDENTIFIER, part)]
    return result
