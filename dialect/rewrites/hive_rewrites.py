"""Rewrites Hive's constructs that the parser cannot read to forms that read the same tables.

- `OVER (DISTRIBUTE BY a SORT BY b)` becomes PARTITION BY and ORDER BY.
- `f(ON t PARTITION BY ..)`, a table function over rows, becomes `(SELECT * FROM t LIMIT 1)`, which
  reads the same tables and lets no condition pass.
- `TABLE t` as a query becomes `SELECT * FROM t`.
- `MAP a USING ..` and `REDUCE a USING ..` become `SELECT TRANSFORM(a) USING ..`.
- `a JOIN b` without a condition becomes a CROSS JOIN.
- `_UTF-8 'x'` becomes `'x'`, and `timestamplocaltz 'x'` a TIMESTAMP_LTZ.
- `CAST(x AS VARCHAR(3))` becomes a cast to NVARCHAR(3): the parser drops the length of a VARCHAR.
- `date_format` gets a name unknown to the parser, so that the pattern stays as it is written.
- `USING 's' AS a, b` gets brackets around its columns, and `TABLESAMPLE (1M)` becomes a percentage.
- `UNIQUEJOIN PRESERVE t a (a.k), ..` becomes a FULL OUTER JOIN.
- `date(x)` and other functions and columns (`map[x]`) with a type's name get a plain name: the
  parser would try a type first and read the arguments twice, at each level of nesting.
"""

import re

from sqlglot.parsers.spark import SparkParser
from sqlglot.tokenizer_core import Token, TokenType

from dialect.lexing.tokens import closing_bracket, retyped, spend_on_tokens, word_of
from dialect.parsing.keyword_names import check_clauses, check_operands, check_table
from dialect.rewrites.hive_joins import cross_joins, unique_joins

_OPEN, _CLOSE = TokenType.L_PAREN, TokenType.R_PAREN
_WINDOW = {
    TokenType.DISTRIBUTE_BY: TokenType.PARTITION_BY,
    TokenType.CLUSTER_BY: TokenType.PARTITION_BY,
    TokenType.SORT_BY: TokenType.ORDER_BY,
}
_WINDOW_OPENERS = frozenset({TokenType.OVER, TokenType.WINDOW})
_HINTS = frozenset(
    {"TABLE", "TABLESAMPLE", "USING", "MAP", "REDUCE", "UNIQUEJOIN", "ON", "OVER", "WINDOW", "JOIN"}
) | {"CHAR", "VARCHAR", "DATE_FORMAT", "+", "_UTF", "TIMESTAMPLOCALTZ", "SYSTEM_VERSION"}
_SIZED = {
    TokenType.CHAR: (TokenType.NCHAR, "NCHAR"),
    TokenType.VARCHAR: (TokenType.NVARCHAR, "NVARCHAR"),
}
# Types' keywords before a bracket, without those that are no functions there.
_TYPES = frozenset(SparkParser.TYPE_TOKENS) - {
    *(TokenType.INTERVAL, TokenType.NULL, TokenType.UNION)
}
_WITH_LENGTH = frozenset(
    {TokenType.DECIMAL, TokenType.CHAR, TokenType.VARCHAR, TokenType.NCHAR, TokenType.NVARCHAR}
)
_BEFORE_SIGNS = {
    *(TokenType.L_PAREN, TokenType.COMMA, TokenType.EQ, TokenType.NEQ, TokenType.NULLSAFE_EQ),
    *(TokenType.LT, TokenType.LTE, TokenType.GT, TokenType.GTE, TokenType.AND, TokenType.OR),
    *(TokenType.NOT, TokenType.WHERE, TokenType.ON, TokenType.SELECT, TokenType.WHEN),
    *(TokenType.THEN, TokenType.ELSE, TokenType.CASE, TokenType.BETWEEN, TokenType.IN),
    *(TokenType.LIKE, TokenType.RLIKE, TokenType.PLUS, TokenType.DASH, TokenType.STAR),
    *(TokenType.SLASH, TokenType.MOD, TokenType.DPIPE, TokenType.HAVING, TokenType.DISTINCT),
}
# Words after a column: in `FROM f(on RLIKE 'x')`, a table function of Spark, on is a column.
_AFTER_OPERANDS = frozenset(
    {"RLIKE", "REGEXP", "LIKE", "ILIKE", "IS", "IN", "BETWEEN", "AND", "OR", "NOT", "DIV", "AS"}
)
_SCRIPTS = frozenset({TokenType.STRING, TokenType.RAW_STRING})
_SIZE = re.compile(r"\d+[bkmg]", re.IGNORECASE)
_AFTER_OUTPUTS = frozenset(
    {
        TokenType.R_PAREN,
        TokenType.FROM,
        TokenType.WHERE,
        TokenType.GROUP_BY,
        TokenType.HAVING,
        TokenType.CLUSTER_BY,
        TokenType.DISTRIBUTE_BY,
        TokenType.SORT_BY,
        TokenType.ORDER_BY,
        TokenType.LIMIT,
        TokenType.UNION,
        TokenType.INSERT,
        TokenType.SELECT,
        TokenType.LATERAL,
    }
)
_QUERY_BEGINS = frozenset(
    TokenType[name] for name in ("UNION", "ALL", "DISTINCT", "INTERSECT", "EXCEPT", "L_PAREN")
)


def normalize(tokens: list[Token]) -> list[Token]:
    """The same statement in forms that the parser can read. Raises NotUnderstood if a keyword may
    be a name."""
    check_clauses(tokens)
    check_operands(tokens)
    check_table(tokens)
    tokens = _functions_of_types(tokens)
    present = _HINTS & {word_of(token) for token in tokens}
    if not present:
        return tokens
    if {"CHAR", "VARCHAR", "DATE_FORMAT"} & present:
        tokens = _casts_and_formats(tokens)
    if "+" in present:
        tokens = _plus_signs(tokens)
    if {"_UTF", "TIMESTAMPLOCALTZ", "SYSTEM_VERSION"} & present:
        tokens = _literals_and_versions(tokens)
    if "TABLE" in present:
        tokens = _table_queries(tokens)
    if {"OVER", "WINDOW"} & present:
        tokens = _windows(tokens)
    if "ON" in present:
        tokens = _table_functions(tokens)
    if {"MAP", "REDUCE"} & present:
        tokens = _transforms(tokens)
    if "USING" in present:
        tokens = _transform_outputs(tokens)
    if "TABLESAMPLE" in present:
        tokens = _sample_sizes(tokens)
    if "UNIQUEJOIN" in present:
        tokens = unique_joins(tokens)
    return cross_joins(tokens) if "JOIN" in present else tokens


def _functions_of_types(tokens: list[Token]) -> list[Token]:
    """Makes plain names of types' names in `date(..)` and `map[..]`; types with a length stay."""
    named = [
        at
        for at in range(len(tokens) - 1)
        if tokens[at + 1].token_type in (_OPEN, TokenType.L_BRACKET)
        and tokens[at].token_type in _TYPES
        and not (tokens[at].token_type in _WITH_LENGTH and _is_length(tokens, at + 1))
    ]
    if not named:
        return tokens
    result = list(tokens)
    for at in named:
        result[at] = retyped(tokens[at], TokenType.VAR, tokens[at].text)
    return result


def _is_length(tokens: list[Token], at: int) -> bool:
    """Whether `(10)` or `(10, 2)` begins at `at`."""
    kinds = [token.token_type for token in tokens[at + 1 : at + 5]]
    number, comma = TokenType.NUMBER, TokenType.COMMA
    return kinds[:2] == [number, _CLOSE] or kinds == [number, comma, number, _CLOSE]


def _casts_and_formats(tokens: list[Token]) -> list[Token]:
    """Rewrites casts to a length, and date_format, to forms of which the parser drops nothing."""
    result = list(tokens)
    for at in range(1, len(tokens) - 1):
        token = tokens[at]
        if tokens[at + 1].token_type != _OPEN:
            continue
        if token.token_type in _SIZED:
            if tokens[at - 1].token_type in (TokenType.ALIAS, TokenType.DCOLON):
                result[at] = retyped(token, *_SIZED[token.token_type])
        elif token.token_type == TokenType.VAR and word_of(token) == "DATE_FORMAT":
            result[at] = retyped(token, TokenType.VAR, "date_format_")
    return result


def _plus_signs(tokens: list[Token]) -> list[Token]:
    """Rewrites `+x`, which converts a string to a number, to `- -x`: the parser drops a plus."""
    signs = {
        at
        for at, token in enumerate(tokens[:-1])
        if token.token_type == TokenType.PLUS
        and tokens[at + 1].token_type != TokenType.NUMBER
        and (not at or tokens[at - 1].token_type in _BEFORE_SIGNS)
    }
    if not signs:
        return tokens
    result: list[Token] = []
    for at, token in enumerate(tokens):
        result += [retyped(token, TokenType.DASH, "-")] * 2 if at in signs else [token]
    return result


def _literals_and_versions(tokens: list[Token]) -> list[Token]:
    """Rewrites `_UTF-8 'x'`, `timestamplocaltz 'x'` and `FOR SYSTEM_VERSION`."""
    result: list[Token] = []
    at = 0
    while at < len(tokens):
        token, word = tokens[at], word_of(tokens[at])
        text_follows = at + 3 < len(tokens) and _is_literal(tokens[at + 3])
        typed = at + 1 < len(tokens) and tokens[at + 1].token_type == TokenType.STRING
        if word == "_UTF" and text_follows and tokens[at + 1].token_type == TokenType.DASH:
            at += 3
            continue
        if word == "TIMESTAMPLOCALTZ" and typed:
            token = retyped(token, TokenType.TIMESTAMPLTZ, "TIMESTAMP_LTZ")
        elif word == "SYSTEM_VERSION" and result and result[-1].token_type == TokenType.FOR:
            token = retyped(token, TokenType.VAR, "VERSION")
        result.append(token)
        at += 1
    return result


def _is_literal(token: Token) -> bool:
    """Whether the token is a string, or Hive's binary literal 0x.., which is a name in Spark."""
    return token.token_type == TokenType.STRING or token.text[:2].lower() == "0x"


def _table_queries(tokens: list[Token]) -> list[Token]:
    """Rewrites `TABLE t` where a query may begin, and drops TABLE from `TABLE (VALUES ..)`."""
    result: list[Token] = []
    for at, token in enumerate(tokens):
        begins = not at or tokens[at - 1].token_type in _QUERY_BEGINS
        named = at + 1 < len(tokens) and tokens[at + 1].token_type != _OPEN
        of_values = [word_of(each) for each in tokens[at + 1 : at + 3]] == ["(", "VALUES"]
        if token.token_type == TokenType.TABLE and of_values:
            continue
        if token.token_type == TokenType.TABLE and begins and named:
            result += [
                retyped(token, TokenType.SELECT, "SELECT"),
                retyped(token, TokenType.STAR, "*"),
            ]
            result.append(retyped(token, TokenType.FROM, "FROM"))
        else:
            result.append(token)
    return result


def _windows(tokens: list[Token]) -> list[Token]:
    result = list(tokens)
    inside = 0
    depth = 0
    for at, token in enumerate(tokens):
        kind = token.token_type
        if kind == _OPEN:
            depth += 1
            if not inside and at and _opens_window(tokens, at):
                inside = depth
        elif kind == _CLOSE:
            inside = 0 if depth == inside else inside
            depth -= 1
        elif inside and kind in _WINDOW:
            result[at] = retyped(token, _WINDOW[kind], token.text)
    return result


def _opens_window(tokens: list[Token], at: int) -> bool:
    if tokens[at - 1].token_type in _WINDOW_OPENERS:
        return True
    # WINDOW w AS ( .. ), w2 AS ( .. )
    return (
        at >= 3
        and tokens[at - 1].token_type == TokenType.ALIAS
        and tokens[at - 3].token_type in (TokenType.WINDOW, TokenType.COMMA)
        and at + 1 < len(tokens)
        and tokens[at + 1].token_type in (*_WINDOW, TokenType.PARTITION_BY, TokenType.ORDER_BY)
    )


def _table_functions(tokens: list[Token]) -> list[Token]:
    """Rewrites `noop(ON part PARTITION BY x ORDER BY y)`, from the inside out if nested."""
    starts = [
        at
        for at in range(1, len(tokens) - 1)
        if tokens[at].token_type == _OPEN
        and word_of(tokens[at + 1]) == "ON"
        and tokens[at - 1].token_type in (TokenType.VAR, TokenType.IDENTIFIER)
        and _is_source(tokens, at - 1)
        and not (at + 2 < len(tokens) and word_of(tokens[at + 2]) in _AFTER_OPERANDS)
    ]
    for at in reversed(starts):
        end = closing_bracket(tokens, at)
        source = _source_end(tokens, at + 2, end)
        name, opened = tokens[at - 1], tokens[at]
        star = [
            opened,
            retyped(name, TokenType.SELECT, "SELECT"),
            retyped(name, TokenType.STAR, "*"),
            retyped(name, TokenType.FROM, "FROM"),
        ]
        limit = [retyped(name, TokenType.LIMIT, "LIMIT"), retyped(name, TokenType.NUMBER, "1")]
        spend_on_tokens(len(tokens))
        tokens = [*tokens[: at - 1], *star, *tokens[at + 2 : source], *limit, *tokens[end:]]
    return tokens


def _is_source(tokens: list[Token], at: int) -> bool:
    """Whether a relation stands at `at`: after FROM or JOIN, or as the source of a table function.
    In the expression `f(on RLIKE 'x')` on is a column."""
    before = tokens[at - 1].token_type if at else None
    if before == TokenType.ON:
        return at > 1 and tokens[at - 2].token_type == _OPEN
    return before in (TokenType.FROM, TokenType.JOIN)


def _source_end(tokens: list[Token], at: int, end: int) -> int:
    """The position after the source of a table function: of PARTITION BY, ORDER BY or arguments."""
    stops = (*_WINDOW, TokenType.PARTITION_BY, TokenType.ORDER_BY)
    spend_on_tokens(end - at)
    while at < end:
        if tokens[at].token_type == _OPEN:
            at = closing_bracket(tokens, at)
        elif tokens[at].token_type in stops or _is_argument(tokens, at, end):
            return at
        at += 1
    return end


def _is_argument(tokens: list[Token], at: int, end: int) -> bool:
    """Whether one of the table function's arguments, `arg1('x') arg2(y)`, begins at `at`."""
    called = (
        tokens[at].token_type == TokenType.VAR
        and at + 1 < end
        and tokens[at + 1].token_type == _OPEN
    )
    return called and word_of(tokens[at - 1]) != "ON"


def _transforms(tokens: list[Token]) -> list[Token]:
    result: list[Token] = []
    at = 0
    while at < len(tokens):
        token = tokens[at]
        using = _using_after(tokens, at) if word_of(token) in ("MAP", "REDUCE") else None
        if using is None:
            result.append(token)
            at += 1
            continue
        result += [
            retyped(token, TokenType.SELECT, "SELECT"),
            retyped(token, TokenType.VAR, "TRANSFORM"),
            retyped(token, _OPEN, "("),
            *tokens[at + 1 : using],
            retyped(token, _CLOSE, ")"),
        ]
        at = using
    return result


def _transform_outputs(tokens: list[Token]) -> list[Token]:
    """Puts brackets around the columns of `USING 'script' AS a, b INT`."""
    result: list[Token] = []
    at = 0
    while at < len(tokens):
        result.append(tokens[at])
        kinds = [each.token_type for each in tokens[at : at + 4]]
        at += 1
        named = len(kinds) > 2 and kinds[1] in _SCRIPTS and kinds[3:] != [_OPEN]
        if not named or kinds[0] != TokenType.USING or kinds[2] != TokenType.ALIAS:
            continue
        end = at + 2
        depth = 0
        while end < len(tokens) and not (depth == 0 and _ends_outputs(tokens[end])):
            depth += (tokens[end].token_type == _OPEN) - (tokens[end].token_type == _CLOSE)
            end += 1
        first = tokens[at]
        columns = [retyped(first, _OPEN, "("), *tokens[at + 2 : end], retyped(first, _CLOSE, ")")]
        result += [*tokens[at : at + 2], *columns]
        at = end
    return result


def _ends_outputs(token: Token) -> bool:
    return token.token_type in _AFTER_OUTPUTS or word_of(token) in ("ROW", "RECORDREADER")


def _sample_sizes(tokens: list[Token]) -> list[Token]:
    """Rewrites a size in `TABLESAMPLE (100M)` to a percentage."""
    result: list[Token] = []
    at = 0
    while at < len(tokens):
        token = tokens[at]
        result.append(token)
        at += 1
        if word_of(token) != "TABLESAMPLE" or at >= len(tokens):
            continue
        end = closing_bracket(tokens, at)
        size = "".join(each.text for each in tokens[at + 1 : end])
        if _SIZE.fullmatch(size):
            percent = [
                retyped(token, TokenType.NUMBER, "1"),
                retyped(token, TokenType.PERCENT, "PERCENT"),
            ]
            result += [tokens[at], *percent]
            at = end
    return result


def _using_after(tokens: list[Token], at: int) -> int | None:
    """The position of USING 'script' after the columns of MAP or REDUCE at `at`; None if these are
    no keywords."""
    if tokens[at].token_type == TokenType.IDENTIFIER:
        return None
    spend_on_tokens(len(tokens) - at)
    position = at + 1
    if position < len(tokens) and tokens[position].token_type == _OPEN:
        end = closing_bracket(tokens, position)
        if end + 1 < len(tokens) and tokens[end + 1].token_type != TokenType.USING:
            return None
    while position < len(tokens):
        kind = tokens[position].token_type
        if kind == _OPEN:
            position = closing_bracket(tokens, position)
        elif kind == TokenType.USING:
            follows = position + 1 < len(tokens) and tokens[position + 1].token_type in _SCRIPTS
            return position if follows else None
        elif kind in (_CLOSE, TokenType.FROM, TokenType.SELECT, TokenType.WHERE):
            return None
        position += 1
    return None
