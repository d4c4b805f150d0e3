"""Finds the functions that a text calls, and whether it runs a script, in its tokens alone.

In Spark's grammar a function's name stands right before the bracket of its arguments. So no call is
missed, and some words are found that are no functions: IN, or a table's name before its columns.
Functions without brackets (`current_date`) are not found.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from sqlglot.tokenizer_core import Token, TokenType

from dialect.lexing.tokens import DOUBLED

# The name of a function whose name is an expression: it may be any function.
COMPUTED = "identifier()"
_TEXTS = frozenset({TokenType.STRING, TokenType.RAW_STRING})


@dataclass(frozen=True, slots=True)
class Calls:
    """The calls of a text. `names` are `name` or `db.name` in lower case, and COMPUTED for
    `IDENTIFIER(..)(..)` of an expression that is no plain string. `script`: it runs a script with
    USING."""

    names: frozenset[str]
    script: bool

    @property
    def functions(self) -> frozenset[str]:
        """The names without a database."""
        return frozenset(name.rpartition(".")[2] for name in self.names)

    def permanent(self, database: str) -> frozenset[str]:
        """The names with a database: `database` if the text has none."""
        return frozenset(
            name if "." in name or name == COMPUTED else f"{database}.{name}" for name in self.names
        )


def calls_of(tokens: Sequence[Token]) -> Calls:
    """The calls in one text."""
    names: set[str] = set()
    script = False
    before: Token | None = None
    for at, token in enumerate(tokens):
        kind = token.token_type
        if before is not None:
            if kind == TokenType.L_PAREN:
                computed = before.token_type == TokenType.R_PAREN
                names.add(_computed(tokens, at - 1) if computed else _named(tokens, at - 1))
            elif kind in _TEXTS and before.token_type == TokenType.USING:
                script = True
        before = token
    names.discard("")
    return Calls(frozenset(names), script)


def _named(tokens: Sequence[Token], at: int) -> str:
    """The name that ends at `at`, with its database if there is one."""
    name = tokens[at].text.lower()
    qualified = name and at > 1 and tokens[at - 1].token_type == TokenType.DOT
    return f"{tokens[at - 2].text.lower()}.{name}" if qualified else name


def _computed(tokens: Sequence[Token], end: int) -> str:
    """The name that `IDENTIFIER(..)`, whose bracket closes at `end`, stands for. Empty if the
    brackets belong to something else."""
    depth = 0
    for at in range(end, -1, -1):
        kind = tokens[at].token_type
        depth += (kind == TokenType.R_PAREN) - (kind == TokenType.L_PAREN)
        if not depth:
            if at == 0 or tokens[at - 1].text.upper() != "IDENTIFIER":
                return ""
            inside = tokens[at + 1 : end]
            if (
                len(inside) == 1
                and inside[0].token_type in _TEXTS
                and DOUBLED not in inside[0].text
            ):
                return ".".join(part.strip("`") for part in inside[0].text.lower().split(".")[-2:])
            return COMPUTED
    return ""
