"""Tells the rows of VALUES from a table with the name values.

Spark tries a table's name before VALUES, so `FROM values v` reads the table values.
"""

from collections.abc import Mapping, Sequence

from sqlglot.tokenizer_core import Token, TokenType

from dialect.errors import NotUnderstood
from dialect.lexing.tokens import (
    closing_bracket,
    closing_brackets,
    is_name,
    retyped,
    spend_on_tokens,
    word_of,
)
from dialect.work import spend

_TEXTS = frozenset({TokenType.STRING, TokenType.RAW_STRING, TokenType.HEX_STRING})
_BEFORE_ROWS = frozenset(
    {TokenType.L_PAREN, TokenType.NUMBER, TokenType.DASH, TokenType.PLUS, *_TEXTS}
)
_NUMBERS = frozenset({TokenType.NUMBER, TokenType.DASH, TokenType.PLUS})
# Functions with a type's name.
_CASTS = frozenset(
    {
        *("BIGINT", "BINARY", "BOOLEAN", "DATE", "DECIMAL", "DOUBLE", "FLOAT", "INT", "SMALLINT"),
        *("STRING", "TIMESTAMP", "TINYINT"),
    }
)
_TYPES = frozenset({"DATE", "TIMESTAMP", "TIMESTAMP_LTZ", "TIMESTAMP_NTZ", "INTERVAL"})
_CONSTRUCTORS = frozenset({"ARRAY", "MAP", "STRUCT", "NAMED_STRUCT", "CAST"})
_BEFORE_NAMES = frozenset({TokenType.FROM, TokenType.JOIN, TokenType.USING})
# Tokens that end the rows of VALUES in FROM without a bracket.
_AFTER_ROWS = frozenset(
    {TokenType.JOIN, TokenType.WHERE, TokenType.GROUP_BY, TokenType.HAVING, TokenType.ORDER_BY}
    | {TokenType.UNION, TokenType.EXCEPT, TokenType.INTERSECT, TokenType.SELECT}
)
# Words with which an expression may begin.
_EXPRESSION_BEGINS = frozenset(
    {"CASE", "EXISTS", "FROM", "INTERVAL", "MAP", "REDUCE", "SELECT", "TABLE", "VALUES", "WITH"}
)
# Words that may follow an operand or a call in an expression.
_OPERATORS = frozenset(
    {"AND", "BETWEEN", "COLLATE", "DIV", "FILTER", "IGNORE", "ILIKE", "IN", "IS", "LIKE", "NOT"}
    | {"OR", "OVER", "REGEXP", "RESPECT", "RLIKE", "WITHIN"}
)
_NO_WORD = "``"  # stands for a quoted name, a text or a number
# What may follow a relation, except a clause; the empty word is the end.
_AFTER_RELATION = frozenset({"", ",", ")"})
# Words before JOIN. These and the ones below are no aliases of a table.
_BEFORE_JOIN = frozenset(
    {"ANTI", "CROSS", "FULL", "INNER", "LEFT", "NATURAL", "OUTER", "RIGHT", "SEMI"}
)
_NO_ALIASES = _BEFORE_JOIN | {
    *("EXCEPT", "INTERSECT", "JOIN", "LATERAL", "MINUS", "ON", "UNION", "USING")
}
_CLAUSES = frozenset(
    {
        *("WHERE", "GROUP BY", "HAVING", "ORDER BY", "SORT BY", "CLUSTER BY", "DISTRIBUTE BY"),
        *("LIMIT", "OFFSET", "WINDOW", "SELECT", "INSERT", "MAP", "REDUCE", "PIVOT", "UNPIVOT"),
        "TABLESAMPLE",
    }
)


def begins_rows(tokens: Sequence[Token], at: int) -> bool:
    """Whether a row of VALUES certainly begins at `at`: a bracket, a literal or a constructor."""
    if at >= len(tokens):
        return False
    if tokens[at].token_type in _BEFORE_ROWS:
        return True
    word = tokens[at].text.upper()
    following = tokens[at + 1].token_type if at + 1 < len(tokens) else None
    if following in _TEXTS:
        return word in _TYPES
    if following != TokenType.L_PAREN:
        return False
    # `now()` or `float(-1)`: the columns after an alias are neither none nor numbers.
    inner = tokens[at + 2].token_type if at + 2 < len(tokens) else None
    if inner == TokenType.R_PAREN or word in _CONSTRUCTORS:
        return True
    return word in _CASTS and inner in _NUMBERS


def mark_tables_called_values(tokens: list[Token]) -> list[Token]:
    """The tokens with VALUES as a quoted name if it is a table's name after FROM, JOIN or USING.
    Raises NotUnderstood if that is not certain."""
    at = [
        at
        for at, token in enumerate(tokens)
        if token.token_type == TokenType.VALUES
        and at
        and tokens[at - 1].token_type in _BEFORE_NAMES
        and not begins_rows(tokens, at + 1)
    ]
    if not at:
        return tokens
    result = list(tokens)
    for each in at:
        if not _is_table(tokens, each + 1):
            raise NotUnderstood("values may be a name here")
        result[each] = retyped(tokens[each], TokenType.IDENTIFIER, tokens[each].text)
    return result


def _is_table(tokens: Sequence[Token], at: int) -> bool:
    """Whether the tokens from `at` on can follow the table values, with an alias or without. In
    `FROM values x a, t` x is a row with the alias a; `FROM values left` has the row left."""
    word = _word(tokens, at)
    if word == "." or word in _AFTER_RELATION:
        return word != "," or _lists_names(tokens, at)
    following = _word(tokens, at + 1)
    if word in _BEFORE_JOIN:
        return following == "JOIN" or following in _BEFORE_JOIN
    if word == "LATERAL":
        return following == "VIEW"
    if word == "ON":
        joined = tokens[at - 2].token_type in (TokenType.JOIN, TokenType.USING)
        return joined and following not in _AFTER_RELATION and following not in _CLAUSES
    if word in _NO_ALIASES and word != "USING":
        return following not in _AFTER_RELATION
    if word == "USING" and following != "(":
        return False
    at += word == "AS"
    if at >= len(tokens) or not is_name(tokens[at]):
        return False
    at += 1
    if _word(tokens, at) == "(":
        end = closing_bracket(list(tokens), at)
        if not _lists_columns(tokens[at + 1 : end]):
            return _word(tokens, at - 1) in _CLAUSES  # `WHERE (x > 1)`
        at = end + 1
    word = _word(tokens, at)
    if word == ",":
        return _lists_names(tokens, at)
    begins = word in _CLAUSES or word in _NO_ALIASES
    return word in _AFTER_RELATION or (begins and _word(tokens, at + 1) not in _AFTER_RELATION)


def _lists_columns(tokens: Sequence[Token]) -> bool:
    """Whether the tokens are names with commas between them, as after an alias."""
    return len(tokens) % 2 == 1 and all(
        token.token_type == TokenType.COMMA if at % 2 else is_name(token)
        for at, token in enumerate(tokens)
    )


def _lists_names(tokens: Sequence[Token], at: int) -> bool:
    """Whether the rest of a list, from the comma at `at` to its end or a clause, certainly has
    names alone: in `FROM values a, exists (SELECT 1)` a is a row."""
    while _word(tokens, at) == ",":
        at += 1
        if at >= len(tokens) or not is_name(tokens[at]):
            return False
        at += 1
        while _word(tokens, at) == "." and at + 1 < len(tokens) and is_name(tokens[at + 1]):
            at += 2
        at += _word(tokens, at) == "AS"
        if at < len(tokens) and is_name(tokens[at]) and _word(tokens, at) not in _CLAUSES:
            at += 1
    word = _word(tokens, at)
    return word in ("", ")") or (word in _CLAUSES and _word(tokens, at + 1) not in _AFTER_RELATION)


def _word(tokens: Sequence[Token], at: int) -> str:
    """The word at `at`, _NO_WORD for another token, and empty past the end."""
    return (word_of(tokens[at]) or _NO_WORD) if at < len(tokens) else ""


def check_rows(tokens: Sequence[Token]) -> None:
    """Raises NotUnderstood if a bracket after rows of VALUES may contain a table.

    Spark reads the table t in `VALUES (1), (d.t b)` because of its alias, in `VALUES (1), (t)
    TABLESAMPLE ..`, and in `VALUES 1 v, (t)` because the rows end with the alias v.
    """
    values = [at for at, token in enumerate(tokens) if word_of(token) == "VALUES"]
    if not values:
        return
    if any(_may_have_alias(tokens, at + 1) for at in values):
        raise NotUnderstood("rows of VALUES that may have an alias")
    ends = closing_brackets(tokens)
    if any(_has_operator(tokens, ends, at + 1) for at in values):
        raise NotUnderstood("an operator after rows of VALUES")
    for at, end in ends.items():
        if not at or tokens[at - 1].token_type != TokenType.COMMA:
            continue
        sampled = end + 1 < len(tokens) and word_of(tokens[end + 1]) == "TABLESAMPLE"
        if sampled or _holds_table(tokens, ends, at):
            raise NotUnderstood("a row of VALUES that may be a table")


def _has_operator(tokens: Sequence[Token], ends: Mapping[int, int], at: int) -> bool:
    """Whether an operator follows the rows that begin at `at`: Spark reads no table in `FROM VALUES
    f() IS NULL, a`. After a first row without brackets only an operator before a comma counts."""
    if _word(tokens, _end_of_rows(tokens, ends, at)) in _OPERATORS:
        return True
    found, position = False, at
    while (
        _word(tokens, position) not in _AFTER_RELATION
        and tokens[position].token_type not in _AFTER_ROWS
    ):
        found |= _word(tokens, position) in _OPERATORS and position > at
        position = ends.get(position, position) + 1
    spend_on_tokens(position - at)
    return found and _word(tokens, position) == ","


def _end_of_rows(tokens: Sequence[Token], ends: Mapping[int, int], at: int) -> int:
    """The position after the row, or the rows in brackets, that begin at `at`."""
    if _word(tokens, at) != "(":
        return at + 1
    while at in ends:
        at = ends[at] + 1
        if _word(tokens, at) == "," and at + 1 in ends:
            at += 1
    return at


def _holds_table(tokens: Sequence[Token], ends: Mapping[int, int], at: int) -> bool:
    """Whether the bracket at `at` may contain a table: a name, a call or a bracket, and then an
    alias or another word that follows tables, as in `(t VERSION AS OF 1)`."""
    end = ends[at]
    while ends.get(at + 1) == end - 1:  # more brackets around the same
        at, end = at + 1, end - 1
    position = at + 1
    first = word_of(tokens[position])
    if position not in ends:
        if not is_name(tokens[position]) or first == "NOT":
            return False
        position += 1
        while position < end and tokens[position].token_type == TokenType.DOT:
            position = min(position + 2, end)
    if position in ends:
        position = ends[position] + 1
    if word_of(tokens[position]) == "AS":
        return is_name(tokens[position + 1])
    if not is_name(tokens[position]) or tokens[position + 1].token_type == TokenType.COMMA:
        return False
    follows = word_of(tokens[position])
    return position + 1 == end or (first not in _EXPRESSION_BEGINS and follows not in _OPERATORS)


def _may_have_alias(tokens: Sequence[Token], at: int) -> bool:
    """Whether a row at or after `at` ends with a name before a comma and a bracket: `1 v, (t)`.

    The parser reads the name after a row in brackets as the alias of the rows, but after `1` as
    the alias of the row.
    """
    depth, start = 0, at
    for position in range(at, len(tokens) - 1):
        kind = tokens[position].token_type
        depth += (kind == TokenType.L_PAREN) - (kind == TokenType.R_PAREN)
        if depth < 0 or (not depth and kind in _AFTER_ROWS):
            spend_on_tokens(position - at)
            return False
        if depth or kind != TokenType.COMMA:
            continue
        row = tokens[start:position]
        named = len(row) > 1 and is_name(row[-1]) and row[-2].token_type != TokenType.DOT
        if named and tokens[position + 1].token_type == TokenType.L_PAREN and not _in_brackets(row):
            return True
        start = position + 1
    spend_on_tokens(len(tokens) - at)
    return False


def _in_brackets(row: Sequence[Token]) -> bool:
    """Whether the row is `(..) name` or `(..) AS name`."""
    end = -2 if row[-2].token_type == TokenType.ALIAS else -1
    brackets = list(row[:end])
    opens = bool(brackets) and brackets[0].token_type == TokenType.L_PAREN
    return opens and closing_bracket(brackets, 0) == len(brackets) - 1


def rows_end_early(tokens: Sequence[Token], at: int) -> bool:
    """Whether a comma after VALUES may separate relations of FROM: `VALUES (1), a, t`."""
    depth = 0
    for position in range(at, len(tokens) - 1):
        kind = tokens[position].token_type
        depth += (kind == TokenType.L_PAREN) - (kind == TokenType.R_PAREN)
        if depth < 0:
            return False
        if not depth and kind == TokenType.COMMA:
            spend()
            if not begins_rows(tokens, position + 1):
                return True
    return False
