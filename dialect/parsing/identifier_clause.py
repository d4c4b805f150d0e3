"""Replaces IDENTIFIER('db.t'), a name that Spark takes from an expression, by the name.

Only an expression whose value is certain is evaluated: strings, whole numbers that are joined
to them, `||`, concat, lower and upper. Another one may be any column where only a column can stand;
everywhere else it is refused.
"""

from collections.abc import Sequence

from sqlglot.tokenizer_core import Token, TokenType

from dialect.errors import NotUnderstood, SparkRefuses
from dialect.parsing.lexer import Kind, lexemes
from dialect.parsing.tokens import closing, like

_NO_NAME = "IDENTIFIER of a text that is no name"
_NO_CONSTANT = "IDENTIFIER of an expression that is no constant"
# A name with signs in backquotes is a pattern: it may be any column, and nothing is pruned by it.
_ANY_COLUMN = ".*"
_OPEN, _CLOSE = TokenType.L_PAREN, TokenType.R_PAREN
_TEXTS = frozenset({TokenType.STRING, TokenType.RAW_STRING})
# After these an expression follows and no table, whether they are keywords or names.
_BEFORE_EXPRESSIONS = frozenset(
    {TokenType.SELECT, TokenType.WHERE, TokenType.HAVING, TokenType.AND, TokenType.OR}
    | {TokenType.EQ, TokenType.NEQ, TokenType.LT, TokenType.LTE, TokenType.GT, TokenType.GTE}
    | {TokenType.PLUS, TokenType.DASH, TokenType.SLASH, TokenType.PERCENT, TokenType.DPIPE}
)
_OF_QUERIES = frozenset({TokenType.SELECT, TokenType.FROM, TokenType.TABLE, TokenType.VALUES})
# After LATERAL VIEW the clause may be a call, and in a command Spark passes over a query of WITH
# that nothing refers to.
_UNCERTAIN = frozenset({TokenType.LATERAL, TokenType.WITH})
# Statements of which Spark reads the text, not the words.
_RAW = frozenset({"SET", "RESET", "ADD", "LIST"})


class _NoName(Exception):
    """The text of a clause is no name."""


def with_names(tokens: list[Token], sql: str) -> list[Token]:
    """The tokens of `sql` with each IDENTIFIER clause replaced by its name. Raises NotUnderstood.

    The new tokens have the position of the whole clause in the text.
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
        result += _name(_named(tokens, at, end), tokens[at].start, tokens[end].end)
        at = end + 1
    return result


def _named(tokens: Sequence[Token], at: int, end: int) -> list[str]:
    """The parts of the name that the clause between `at` and `end` stands for.

    Before a dot it is a column of which a field is taken, and no part of a table's name.
    """
    field = end + 1 < len(tokens) and tokens[end + 1].token_type == TokenType.DOT
    if _takes_expression(tokens, at, end):
        try:
            parts = _evaluated(tokens, at, end)
            return [_ANY_COLUMN] if field else parts
        except SparkRefuses:
            raise
        except NotUnderstood:
            if any(token.token_type in _OF_QUERIES for token in tokens[at:end]):
                raise
            return [_ANY_COLUMN]
    if field:
        raise NotUnderstood("IDENTIFIER before a dot")
    return _evaluated(tokens, at, end)


def _evaluated(tokens: Sequence[Token], at: int, end: int) -> list[str]:
    value, after = _concatenation(tokens, at + 2)
    if after != end:
        raise NotUnderstood(_NO_CONSTANT)
    try:
        parts = _parts(value)
    except _NoName:
        if all(token.token_type not in _UNCERTAIN for token in tokens):
            raise SparkRefuses(_NO_NAME) from None
        raise NotUnderstood(_NO_NAME) from None
    if len(parts) == 1:
        _check_not_cte(tokens, parts[0])
    return parts


def _takes_expression(tokens: Sequence[Token], at: int, end: int) -> bool:
    """Whether the clause is certainly a column: no table's name, and no function's."""
    if at == 0 or (end + 1 < len(tokens) and tokens[end + 1].token_type == _OPEN):
        return False
    before = tokens[at - 1].token_type
    if before == _OPEN and at > 1:
        return tokens[at - 2].token_type == TokenType.VALUES
    return before in _BEFORE_EXPRESSIONS


def _clause_end(tokens: Sequence[Token], at: int) -> int | None:
    """Where the clause that begins at `at` closes; None where none begins.

    A list in brackets is no clause, `INSERT INTO identifier (a, b)`, and neither is the call
    `d.identifier('a')`.
    """
    token = tokens[at]
    if token.token_type != TokenType.VAR or token.text.upper() != "IDENTIFIER":
        return None
    if at and tokens[at - 1].token_type == TokenType.DOT:
        return None
    if at + 2 >= len(tokens) or tokens[at + 1].token_type != _OPEN:
        return None
    end = closing(list(tokens), at + 1)
    if end >= len(tokens):
        raise NotUnderstood("IDENTIFIER without an end")
    depth = 0
    for each in tokens[at + 1 : end]:
        depth += (each.token_type == _OPEN) - (each.token_type == _CLOSE)
        if depth == 1 and each.token_type == TokenType.COMMA:
            return None
    return end


def _concatenation(tokens: Sequence[Token], at: int) -> tuple[str, int]:
    """The value of `a || b || ..` and the position behind it."""
    value, at = _term(tokens, at)
    while at < len(tokens) and tokens[at].token_type == TokenType.DPIPE:
        more, at = _term(tokens, at + 1)
        value += more
    return value, at


def _term(tokens: Sequence[Token], at: int) -> tuple[str, int]:
    if at + 1 >= len(tokens):
        raise NotUnderstood("IDENTIFIER without an end")
    token = tokens[at]
    if token.token_type in _TEXTS:
        value = ""
        while tokens[at].token_type in _TEXTS:
            value += tokens[at].text
            at += 1
        return value, at
    if token.token_type == TokenType.NUMBER and token.text.isdigit() and token.text[0] != "0":
        if tokens[at + 1].token_type == TokenType.DCOLON:
            raise NotUnderstood(_NO_CONSTANT)
        return token.text, at + 1
    if token.token_type == _OPEN:
        value, at = _concatenation(tokens, at + 1)
        return value, _closed(tokens, at)
    return _call(tokens, at)


def _call(tokens: Sequence[Token], at: int) -> tuple[str, int]:
    name = tokens[at].text.lower()
    quoted = tokens[at].token_type == TokenType.IDENTIFIER
    if quoted or name not in ("concat", "lower", "upper") or tokens[at + 1].token_type != _OPEN:
        raise NotUnderstood(_NO_CONSTANT)
    value, at = _concatenation(tokens, at + 2)
    while name == "concat" and tokens[at].token_type == TokenType.COMMA:
        more, at = _concatenation(tokens, at + 1)
        value += more
    if name != "concat" and not value.isascii():
        raise NotUnderstood("IDENTIFIER with letters of uncertain case")
    changed = {"lower": value.lower(), "upper": value.upper()}.get(name, value)
    return changed, _closed(tokens, at)


def _closed(tokens: Sequence[Token], at: int) -> int:
    if at >= len(tokens) or tokens[at].token_type != _CLOSE:
        raise NotUnderstood(_NO_CONSTANT)
    return at + 1


def _parts(value: str) -> list[str]:
    """The parts of a name as Spark's parser reads it, `a.b` or `` `a b`.c ``."""
    found = list(lexemes(value))
    parts = []
    for at, (kind, start, end) in enumerate(found):
        text = value[start:end]
        if at % 2:
            if text != ".":
                break
        elif kind is Kind.WORD:
            parts.append(text)
        elif kind is Kind.QUOTED_NAME:
            parts.append(text[1:-1].replace("``", "`"))
        else:
            break
    else:
        if len(found) % 2:
            return parts
    raise _NoName


def _check_not_cte(tokens: Sequence[Token], name: str) -> None:
    """Refuse a name that WITH may define: which Spark then reads depends on its version."""
    wanted = name.lower()
    named = any(token.text.lower() == wanted and token.token_type not in _TEXTS for token in tokens)
    if named and any(token.token_type == TokenType.WITH for token in tokens):
        raise NotUnderstood("IDENTIFIER of a name that WITH may define")


def _name(parts: Sequence[str], start: int, end: int) -> list[Token]:
    place = Token(TokenType.DOT, ".", 1, start + 1, start, end)
    result = [like(place, TokenType.IDENTIFIER, parts[0])]
    for part in parts[1:]:
        result += [place, like(place, TokenType.IDENTIFIER, part)]
    return result
