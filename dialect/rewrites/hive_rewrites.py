"""Constructs of Hive that the parser lacks, as tokens of forms that read the same tables.

- `OVER (DISTRIBUTE BY a SORT BY b)` becomes PARTITION BY and ORDER BY;
- `f(ON t PARTITION BY ..)`, a table function over rows, becomes `(SELECT * FROM t LIMIT 1)`:
  the same tables, and no condition goes through;
- `TABLE t` as a query becomes `SELECT * FROM t`;
- `MAP a USING ..` and `REDUCE a USING ..` become `SELECT TRANSFORM(a) USING ..`;
- `a JOIN b` without a condition becomes a CROSS JOIN;
- `_UTF-8 'x'` is `'x'`, `timestamplocaltz 'x'` a timestamp of the session's zone;
- `CAST(x AS VARCHAR(3))` becomes NVARCHAR(3), since the parser drops the length of a VARCHAR, and
  `date_format` a function that it does not know, so that the format stays as it was written;
- `USING 's' AS a, b` has brackets put around its columns, `TABLESAMPLE (1M)` is a percentage;
- `UNIQUEJOIN PRESERVE t a (a.k), ..` becomes a FULL OUTER JOIN;
- `date(x)` and other functions (and columns: `map[x]`) that have a type's name get a plain name:
  the parser would try a type first, and what is inside twice, at each of their levels.
"""

import re

from sqlglot.parsers.spark import SparkParser
from sqlglot.tokenizer_core import Token, TokenType

from dialect.lexing.tokens import closing, like, looked_at, word_of
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
# What may stand before a bracket without being a function: of a type, of nothing, of two queries.
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
# A word after a column: `FROM f(on RLIKE 'x')` is a table function of Spark's with a condition.
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


def standard(tokens: list[Token]) -> list[Token]:
    """The same statement in forms that the parser knows. Raises NotUnderstood where a word that is
    rewritten may be a name."""
    check_clauses(tokens)
    check_operands(tokens)
    check_table(tokens)
    tokens = _functions_of_types(tokens)
    present = _HINTS & {word_of(token) for token in tokens}
    if not present:
        return tokens
    if {"CHAR", "VARCHAR", "DATE_FORMAT"} & present:
        tokens = _unforgotten(tokens)
    if "+" in present:
        tokens = _signed(tokens)
    if {"_UTF", "TIMESTAMPLOCALTZ", "SYSTEM_VERSION"} & present:
        tokens = _known_literals(tokens)
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
    """`date(..)` as a function and `map[..]` as a column; types with a length stay types."""
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
        result[at] = like(tokens[at], TokenType.VAR, tokens[at].text)
    return result


def _is_length(tokens: list[Token], at: int) -> bool:
    """`(10)` or `(10, 2)`, from the bracket on."""
    kinds = [token.token_type for token in tokens[at + 1 : at + 5]]
    number, comma = TokenType.NUMBER, TokenType.COMMA
    return kinds[:2] == [number, _CLOSE] or kinds == [number, comma, number, _CLOSE]


def _unforgotten(tokens: list[Token]) -> list[Token]:
    """Casts to a length, and `date_format`, in forms of which the parser drops nothing."""
    result = list(tokens)
    for at in range(1, len(tokens) - 1):
        token = tokens[at]
        if tokens[at + 1].token_type != _OPEN:
            continue
        if token.token_type in _SIZED:
            if tokens[at - 1].token_type in (TokenType.ALIAS, TokenType.DCOLON):
                result[at] = like(token, *_SIZED[token.token_type])
        elif token.token_type == TokenType.VAR and word_of(token) == "DATE_FORMAT":
            result[at] = like(token, TokenType.VAR, "date_format_")
    return result


def _signed(tokens: list[Token]) -> list[Token]:
    """`+x`, which makes a number of a string, as `- -x`: the parser drops the sign."""
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
        result += [like(token, TokenType.DASH, "-")] * 2 if at in signs else [token]
    return result


def _known_literals(tokens: list[Token]) -> list[Token]:
    """`_UTF-8 'x'` without its character set, `timestamplocaltz 'x'`, `FOR SYSTEM_VERSION`."""
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
            token = like(token, TokenType.TIMESTAMPLTZ, "TIMESTAMP_LTZ")
        elif word == "SYSTEM_VERSION" and result and result[-1].token_type == TokenType.FOR:
            token = like(token, TokenType.VAR, "VERSION")
        result.append(token)
        at += 1
    return result


def _is_literal(token: Token) -> bool:
    """Whether the token is a string, or Hive's binary literal 0x.. (to Spark a name)."""
    return token.token_type == TokenType.STRING or token.text[:2].lower() == "0x"


def _table_queries(tokens: list[Token]) -> list[Token]:
    """`TABLE t` where a query may begin; `TABLE (VALUES ..)`, a list of rows."""
    result: list[Token] = []
    for at, token in enumerate(tokens):
        begins = not at or tokens[at - 1].token_type in _QUERY_BEGINS
        named = at + 1 < len(tokens) and tokens[at + 1].token_type != _OPEN
        of_values = [word_of(each) for each in tokens[at + 1 : at + 3]] == ["(", "VALUES"]
        if token.token_type == TokenType.TABLE and of_values:
            continue
        if token.token_type == TokenType.TABLE and begins and named:
            result += [like(token, TokenType.SELECT, "SELECT"), like(token, TokenType.STAR, "*")]
            result.append(like(token, TokenType.FROM, "FROM"))
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
            result[at] = like(token, _WINDOW[kind], token.text)
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
    """`noop(ON part PARTITION BY x ORDER BY y)`, nested too, from the inside out."""
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
        end = closing(tokens, at)
        source = _source_end(tokens, at + 2, end)
        name, opened = tokens[at - 1], tokens[at]
        star = [
            opened,
            like(name, TokenType.SELECT, "SELECT"),
            like(name, TokenType.STAR, "*"),
            like(name, TokenType.FROM, "FROM"),
        ]
        limit = [like(name, TokenType.LIMIT, "LIMIT"), like(name, TokenType.NUMBER, "1")]
        looked_at(len(tokens))
        tokens = [*tokens[: at - 1], *star, *tokens[at + 2 : source], *limit, *tokens[end:]]
    return tokens


def _is_source(tokens: list[Token], at: int) -> bool:
    """Whether a table stands there: after FROM or JOIN, or as the source of a table function. In
    an expression `f(on RLIKE 'x')` has a column called on."""
    before = tokens[at - 1].token_type if at else None
    if before == TokenType.ON:
        return at > 1 and tokens[at - 2].token_type == _OPEN
    return before in (TokenType.FROM, TokenType.JOIN)


def _source_end(tokens: list[Token], at: int, end: int) -> int:
    """Where the source of a table function ends: before PARTITION BY and the like, or arguments."""
    stops = (*_WINDOW, TokenType.PARTITION_BY, TokenType.ORDER_BY)
    looked_at(end - at)
    while at < end:
        if tokens[at].token_type == _OPEN:
            at = closing(tokens, at)
        elif tokens[at].token_type in stops or _is_argument(tokens, at, end):
            return at
        at += 1
    return end


def _is_argument(tokens: list[Token], at: int, end: int) -> bool:
    """`.. arg1('x') arg2(y)`: the table function's own arguments."""
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
            like(token, TokenType.SELECT, "SELECT"),
            like(token, TokenType.VAR, "TRANSFORM"),
            like(token, _OPEN, "("),
            *tokens[at + 1 : using],
            like(token, _CLOSE, ")"),
        ]
        at = using
    return result


def _transform_outputs(tokens: list[Token]) -> list[Token]:
    """`USING 'script' AS a, b INT` with brackets around its columns."""
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
        columns = [like(first, _OPEN, "("), *tokens[at + 2 : end], like(first, _CLOSE, ")")]
        result += [*tokens[at : at + 2], *columns]
        at = end
    return result


def _ends_outputs(token: Token) -> bool:
    return token.token_type in _AFTER_OUTPUTS or word_of(token) in ("ROW", "RECORDREADER")


def _sample_sizes(tokens: list[Token]) -> list[Token]:
    """`TABLESAMPLE (100M)`, a size, as a percentage."""
    result: list[Token] = []
    at = 0
    while at < len(tokens):
        token = tokens[at]
        result.append(token)
        at += 1
        if word_of(token) != "TABLESAMPLE" or at >= len(tokens):
            continue
        end = closing(tokens, at)
        size = "".join(each.text for each in tokens[at + 1 : end])
        if _SIZE.fullmatch(size):
            percent = [
                like(token, TokenType.NUMBER, "1"),
                like(token, TokenType.PERCENT, "PERCENT"),
            ]
            result += [tokens[at], *percent]
            at = end
    return result


def _using_after(tokens: list[Token], at: int) -> int | None:
    """Where USING 'script' follows the columns of a MAP or REDUCE that begins a clause."""
    if tokens[at].token_type == TokenType.IDENTIFIER:
        return None
    looked_at(len(tokens) - at)
    here = at + 1
    if here < len(tokens) and tokens[here].token_type == _OPEN:
        end = closing(tokens, here)
        if end + 1 < len(tokens) and tokens[end + 1].token_type != TokenType.USING:
            return None
    while here < len(tokens):
        kind = tokens[here].token_type
        if kind == _OPEN:
            here = closing(tokens, here)
        elif kind == TokenType.USING:
            follows = here + 1 < len(tokens) and tokens[here + 1].token_type in _SCRIPTS
            return here if follows else None
        elif kind in (_CLOSE, TokenType.FROM, TokenType.SELECT, TokenType.WHERE):
            return None
        here += 1
    return None
