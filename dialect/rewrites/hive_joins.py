"""Rewrites joins that the parser reads differently from Hive and Spark."""

from sqlglot.tokenizer_core import Token, TokenType

from dialect.errors import NotUnderstood
from dialect.lexing.tokens import closing_bracket, retyped, word_of

_CONDITIONS = frozenset({TokenType.ON, TokenType.USING})


_SIDES = frozenset(
    {
        TokenType.LEFT,
        TokenType.RIGHT,
        TokenType.FULL,
        TokenType.OUTER,
        TokenType.SEMI,
        TokenType.ANTI,
    }
)


# The parser tries every nesting of joins without conditions: 2 to the power of their number.
MAX_BARE_OUTER_JOINS = 8


def cross_joins(tokens: list[Token]) -> list[Token]:
    """The tokens with each join without a condition as a CROSS join: the engines nest no joins
    without brackets."""
    bare = _bare_joins(tokens)
    if not bare:
        return tokens
    result: list[Token] = []
    outer = 0
    for at, token in enumerate(tokens):
        if at in bare:
            before = result[-1].token_type if result else TokenType.JOIN
            cross = retyped(token, TokenType.CROSS, "CROSS")
            if before == TokenType.INNER:
                result[-1] = cross
            elif before in _SIDES:
                outer += 1
            elif before not in (TokenType.CROSS, TokenType.NATURAL):
                result.append(cross)
        result.append(token)
    if outer > MAX_BARE_OUTER_JOINS:
        raise NotUnderstood(f"more than {MAX_BARE_OUTER_JOINS} outer joins without a condition")
    return result


def _bare_joins(tokens: list[Token]) -> set[int]:
    """The positions of the JOINs without ON or USING before the next JOIN."""
    open_joins: list[int | None] = [None]
    bare: set[int] = set()
    for at, token in enumerate(tokens):
        kind = token.token_type
        if kind == TokenType.JOIN:
            if open_joins[-1] is not None:
                bare.add(open_joins[-1])
            open_joins[-1] = at
        elif kind in _CONDITIONS:
            open_joins[-1] = None
        elif kind == TokenType.L_PAREN:
            open_joins.append(None)
        elif kind == TokenType.R_PAREN and len(open_joins) > 1:
            last = open_joins.pop()
            if last is not None:
                bare.add(last)
    bare.update(last for last in open_joins if last is not None)
    return bare


def unique_joins(tokens: list[Token]) -> list[Token]:
    """The tokens with each `[PRESERVE] t [a] (keys)` of a UNIQUEJOIN as a part of a FULL OUTER
    JOIN."""
    result: list[Token] = []
    at = 0
    while at < len(tokens):
        if word_of(tokens[at]) != "UNIQUEJOIN":
            result.append(tokens[at])
            at += 1
            continue
        at = _unique_join(tokens, at + 1, result)
    return result


def _unique_join(tokens: list[Token], at: int, result: list[Token]) -> int:
    first = True
    while at < len(tokens):
        if word_of(tokens[at]) == "PRESERVE":
            at += 1
        if not first:
            before = tokens[at - 1]
            result += [
                retyped(before, TokenType.FULL, "FULL"),
                retyped(before, TokenType.OUTER, "OUTER"),
                retyped(before, TokenType.JOIN, "JOIN"),
            ]
        first = False
        while at < len(tokens) and tokens[at].token_type != TokenType.L_PAREN:
            result.append(tokens[at])
            at += 1
        at = closing_bracket(tokens, at) + 1
        if at >= len(tokens) or tokens[at].token_type != TokenType.COMMA:
            return at
        at += 1
    return at
