"""Tokens made of others."""

from sqlglot.tokenizer_core import Token, TokenType


def closing(tokens: list[Token], at: int) -> int:
    """The position of the bracket that closes the one at `at`; the end when none does."""
    depth = 0
    for here in range(at, len(tokens)):
        kind = tokens[here].token_type
        depth += (kind == TokenType.L_PAREN) - (kind == TokenType.R_PAREN)
        if not depth:
            return here
    return len(tokens)


def like(token: Token, kind: TokenType, text: str) -> Token:
    """A token of another kind in the place of one."""
    return Token(kind, text, token.line, token.col, token.start, token.end)
