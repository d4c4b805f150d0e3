"""The functions that a text calls, and whether it runs a script: read from its tokens alone.

Spark's grammar has a function's name right before the bracket of its arguments, so the tokens say
more than may be needed (`IN (`, a table's name before its columns) and never less. Functions that
need no brackets (`current_date`) are not named.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from sqlglot.tokenizer_core import Token, TokenType

COMPUTED = "identifier()"  # an expression gives the function's name: it may be any function
_TEXTS = frozenset({TokenType.STRING, TokenType.RAW_STRING})


@dataclass(frozen=True, slots=True)
class Calls:
    """`functions` are names in lower case without a database, COMPUTED among them where
    `IDENTIFIER(..)(..)` gives a name that is no plain text."""

    functions: frozenset[str]
    script: bool


def calls_of(tokens: Sequence[Token]) -> Calls:
    """The calls in one text."""
    names: set[str] = set()
    script = False
    before: Token | None = None
    for at, token in enumerate(tokens):
        kind = token.token_type
        if before is not None:
            if kind == TokenType.L_PAREN:
                named = before.token_type == TokenType.R_PAREN
                names.add(_computed(tokens, at - 1) if named else before.text.lower())
            elif kind in _TEXTS and before.token_type == TokenType.USING:
                script = True
        before = token
    names.discard("")
    return Calls(frozenset(names), script)


def _computed(tokens: Sequence[Token], end: int) -> str:
    """The name that `IDENTIFIER(..)` gives. Its bracket closes at `end`. Empty when the brackets
    are anything else's."""
    depth = 0
    for at in range(end, -1, -1):
        kind = tokens[at].token_type
        depth += (kind == TokenType.R_PAREN) - (kind == TokenType.L_PAREN)
        if not depth:
            if at == 0 or tokens[at - 1].text.upper() != "IDENTIFIER":
                return ""
            inside = tokens[at + 1 : end]
            if len(inside) == 1 and inside[0].token_type in _TEXTS:
                return inside[0].text.rpartition(".")[2].strip("`").lower()
            return COMPUTED
    return ""
