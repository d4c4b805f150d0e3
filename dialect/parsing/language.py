"""Parses the tokens of `dialect.lexing.tokenize` with sqlglot's parser of Spark's SQL.

The parser is compiled and cannot be subclassed. Forms that it cannot read are rewritten before, as
tokens and not as text (`hive_rewrites`). Nothing of sqlglot is patched.
"""

import logging
import threading
from contextlib import suppress

from sqlglot import exp
from sqlglot.dialects.spark import Spark
from sqlglot.errors import SqlglotError
from sqlglot.parsers.spark import SparkParser
from sqlglot.tokenizer_core import Token, TokenType

from dialect.errors import NotUnderstood
from dialect.lexing.tokens import begins_query, closing_brackets
from dialect.parsing.completeness import check_complete
from dialect.parsing.keyword_names import (
    check_bare_from,
    check_select,
    check_words,
    has_table_argument,
)
from dialect.parsing.outline import outline
from dialect.parsing.values_rows import check_rows, mark_tables_called_values
from dialect.work import spend

# Deeper nesting is refused before the parser recurses into it.
MAX_DEPTH = 120
# The parser tries each nested type several times.
MAX_TYPE_DEPTH = 30
# Deeper levels than _SHALLOW cost so many steps each: the parser unwinds them after an error.
_SHALLOW, _LEVEL = 8, 6
_TOKENS_A_STEP = 1  # tokens that one step of work checks and parses

# Discards the parser's warnings about JSON paths, which the analysis does not use.
logging.getLogger("sqlglot").addHandler(logging.NullHandler())

_OPENING = frozenset({TokenType.L_PAREN, TokenType.L_BRACKET, TokenType.L_BRACE, TokenType.CASE})
_CLOSING = frozenset({TokenType.R_PAREN, TokenType.R_BRACKET, TokenType.R_BRACE, TokenType.END})
_NESTING = frozenset({TokenType.ARRAY, TokenType.MAP, TokenType.STRUCT})
_NESTED_TYPES = frozenset({"ARRAY", "MAP", "STRUCT"})
_ANGLES = frozenset({TokenType.LT, TokenType.GT})
# A chain of these makes the parser recurse without any bracket.
_CHAINING = frozenset({TokenType.NOT, TokenType.DASH, TokenType.TILDE, TokenType.PLUS})


_FAILURES = (
    *(SqlglotError, RecursionError, ValueError, TypeError, AttributeError, IndexError),
    ArithmeticError,  # the parser converts 1.5BD in `x -> 1.5BD` to a number
)
_PLAIN_FUNCTIONS = frozenset(SparkParser.FUNCTIONS) - frozenset(SparkParser.FUNCTION_PARSERS)
# A name after one of these is no function.
_BEFORE_NAMES = frozenset(
    {TokenType.FROM, TokenType.JOIN, TokenType.INTO, TokenType.TABLE, TokenType.WITH, TokenType.DOT}
)


class _CountingSpark(Spark):
    """Spark's dialect, with properties that count the parser's work.

    The compiled parser cannot be interrupted, but it reads these properties each time it tries to
    read an expression, a known function or a table. Their values are those of Spark's dialect.
    """

    @property
    def DPIPE_IS_STRING_CONCAT(self) -> bool:  # type: ignore[override]
        spend()
        return True

    @property
    def ORIGINAL_NAME_META_KEY(self) -> None:  # type: ignore[override]
        spend()

    @property
    def ALIAS_POST_VERSION(self) -> bool:  # type: ignore[override]
        spend()
        return True


class _ThreadParser(threading.local):
    """The parser of each thread: making one takes as long as parsing a short statement."""

    def __init__(self) -> None:
        self.renew()

    def renew(self) -> None:
        self.parser = _CountingSpark().parser()


_PARSER = _ThreadParser()
# A parser keeps the tokens of its last statement. After a text longer than this it is replaced.
_LONG_TEXT = 100_000


def drop_long_statement(sql: str) -> None:
    """Frees the tokens of a long statement when its analysis has ended."""
    if len(sql) > _LONG_TEXT:
        _PARSER.renew()


def parse(tokens: list[Token], sql: str) -> exp.Expr:
    """The tree of one statement, or its outline. Raises NotUnderstood."""
    _check_depth(tokens)
    spend(len(tokens) // _TOKENS_A_STEP)
    check_bare_from(tokens)
    check_rows(tokens)
    check_select(tokens)
    tokens = mark_tables_called_values(tokens)
    if has_table_argument(tokens):
        return outline(tokens)
    try:
        return _parsed(tokens, sql)
    except _FAILURES as error:
        why = f"it cannot be parsed: {_first_line(error)}"
    # Spark may allow more arguments of a function than the parser does. A function with an unknown
    # name may have any number.
    renamed = _with_unknown_functions(tokens)
    with suppress(*_FAILURES):
        if renamed is not None:
            return _parsed(renamed, sql)
    with suppress(NotUnderstood):
        if begins_query(tokens):
            return outline(tokens)
    raise NotUnderstood(why)


def _parsed(tokens: list[Token], sql: str) -> exp.Expr:
    """The parser's tree. Raises one of _FAILURES."""
    check_words(tokens)
    trees = _PARSER.parser.parse(tokens, sql)
    if len(trees) != 1 or not isinstance(trees[0], exp.Expr):
        raise ValueError("it is not one statement")
    check_complete(tokens, trees[0])
    return trees[0]


def is_known_function(name: str) -> bool:
    """Whether the parser gives the function a meaning by its name."""
    return name.upper() in SparkParser.FUNCTIONS or name.upper() in SparkParser.FUNCTION_PARSERS


def _with_unknown_functions(tokens: list[Token]) -> list[Token] | None:
    """The tokens with every function of ordinary syntax renamed; None if there is none."""
    result = list(tokens)
    changed = False
    ends = closing_brackets(tokens)
    for at in range(1, len(tokens) - 1):
        token = tokens[at]
        if tokens[at + 1].token_type != TokenType.L_PAREN or token.token_type != TokenType.VAR:
            continue
        if token.text.upper() not in _PLAIN_FUNCTIONS:
            continue
        if tokens[at - 1].token_type in _BEFORE_NAMES or _is_named_query(
            tokens, ends.get(at + 1, len(tokens))
        ):
            continue
        result[at] = Token(
            TokenType.VAR, f"{token.text}_", token.line, token.col, token.start, token.end
        )
        changed = True
    return result if changed else None


def _is_named_query(tokens: list[Token], end: int) -> bool:
    """Whether the bracket at `end` closes the columns of a CTE, `name (columns) AS (query)`."""
    following = [token.token_type for token in tokens[end + 1 : end + 3]]
    return following == [TokenType.ALIAS, TokenType.L_PAREN]


def _check_depth(tokens: list[Token]) -> None:
    depth = deepest = chain = types = 0
    before: Token | None = None
    for token in tokens:
        kind = token.token_type
        if kind in _CHAINING:
            chain += 1
            if chain > MAX_DEPTH:
                raise NotUnderstood(f"more than {MAX_DEPTH} signs in a row")
        else:
            chain = 0
            if kind in _OPENING:
                depth += 1
                deepest = max(deepest, depth)
                if kind == TokenType.L_PAREN and before and before.text.upper() in _NESTED_TYPES:
                    spend(depth * depth // 4)  # where a type is expected, each level is copied
                if depth > MAX_DEPTH:
                    raise NotUnderstood(f"it is nested deeper than {MAX_DEPTH} levels")
            elif kind in _CLOSING:
                depth -= depth > 0
            elif kind in _ANGLES:
                types = _types_open(types, kind, before)
        before = token
    spend(_LEVEL * max(0, deepest - _SHALLOW))


def _types_open(types: int, kind: TokenType, before: Token | None) -> int:
    """The number of nested types that are open after `<` or `>`; `types` were open before."""
    if kind == TokenType.GT:
        return types - (types > 0)
    if before is None or before.token_type not in _NESTING:
        return types
    types += 1
    spend(types * types // 2)
    if types > MAX_TYPE_DEPTH:
        raise NotUnderstood(f"a type is nested deeper than {MAX_TYPE_DEPTH} levels")
    return types


def _first_line(error: BaseException) -> str:
    text = str(error).strip().splitlines()
    return text[0][:200] if text else type(error).__name__
