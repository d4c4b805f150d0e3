"""Checks that the parser has left out no query, join or WITH of a statement."""

from collections.abc import Sequence

from sqlglot import exp
from sqlglot.tokenizer_core import Token, TokenType


def check_complete(tokens: Sequence[Token], tree: exp.Expr) -> None:
    """Raises ValueError for a tree with fewer queries, joins or WITH clauses than the tokens have.

    The parser drops what it does not expect, as the second argument of `first`, and merges a WITH
    in brackets with the one before it.
    """
    kinds = [token.token_type for token in tokens]
    queries, joins = kinds.count(TokenType.SELECT), kinds.count(TokenType.JOIN)
    if not joins and (not queries or (queries == 1 and kinds[0] == TokenType.SELECT)):
        return
    # The parser adds a SELECT to VALUES in the place of a query: it stands for no token.
    of_values = clauses = 0
    if TokenType.VALUES in kinds:
        of_values = sum(
            kind == TokenType.VALUES and kinds[at - 1] == TokenType.FROM
            for at, kind in enumerate(kinds)
            if at
        )
    if TokenType.WITH in kinds:
        clauses = sum(
            kind == TokenType.WITH and (not at or kinds[at - 1] == TokenType.L_PAREN)
            for at, kind in enumerate(kinds)
        )
    waiting: list[exp.Expr] = [tree]  # breadth first: most queries are near the root
    for node in waiting:
        if queries <= 0 and joins <= 0 and clauses <= 0:
            return
        clauses -= isinstance(node, exp.With)
        if isinstance(node, exp.Select):
            if not _selects_values(node):
                queries -= 1
            elif of_values:
                of_values -= 1
                queries -= 1
        elif isinstance(node, exp.Join):
            joins -= 1
        for value in node.args.values():
            for child in value if type(value) is list else (value,):
                if isinstance(child, exp.Expr):
                    waiting.append(child)
    if queries > 0 or joins > 0 or clauses > 0:
        raise ValueError("a part of it was left out by the parser")


def _selects_values(select: exp.Select) -> bool:
    """Whether it is `SELECT * FROM VALUES ..`."""
    clause = select.args.get("from_")
    return (
        clause is not None
        and isinstance(clause.this, exp.Values)
        and [type(each) for each in select.expressions] == [exp.Star]
    )
