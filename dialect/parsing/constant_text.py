"""Evaluates expressions with a certain text as their value: strings, integers joined to them, `||`,
concat, lower, upper, and session variables with a known text."""

from collections.abc import Mapping, Sequence

from sqlglot.tokenizer_core import Token, TokenType

from dialect.errors import NotUnderstood
from dialect.lexing.tokens import is_name, unambiguous

_OPEN, _CLOSE = TokenType.L_PAREN, TokenType.R_PAREN
TEXTS = frozenset({TokenType.STRING, TokenType.RAW_STRING})
_NO_CONSTANT = "an expression that is no constant"
_SESSION = (("session",), ("system", "session"))
NO_VARIABLES: Mapping[str, str | None] = {}


def evaluate_text(
    tokens: Sequence[Token], at: int, variables: Mapping[str, str | None]
) -> tuple[str, int]:
    """The value of `a || b || ..` at `at`, and the position after it. Raises NotUnderstood.

    `variables` has the texts of session variables; None for one that is not known.
    """
    value, at = _term(tokens, at, variables)
    while at < len(tokens) and tokens[at].token_type == TokenType.DPIPE:
        more, at = _term(tokens, at + 1, variables)
        value += more
    return value, at


def variable_at(tokens: Sequence[Token], at: int) -> tuple[str, int]:
    """The name of the session variable `x`, `session.x` or `system.session.x` at `at`, in lower
    case, and the position after it. Raises NotUnderstood."""
    parts = [_part(tokens, at)]
    at += 1
    while at < len(tokens) and tokens[at].token_type == TokenType.DOT:
        parts.append(_part(tokens, at + 1))
        at += 2
    if len(parts) > 1 and tuple(parts[:-1]) not in _SESSION:
        raise NotUnderstood(f"{'.'.join(parts)} is no variable of the session")
    return parts[-1], at


def _part(tokens: Sequence[Token], at: int) -> str:
    if at >= len(tokens) or not is_name(tokens[at]):
        raise NotUnderstood(_NO_CONSTANT)
    return tokens[at].text.lower()


def _term(tokens: Sequence[Token], at: int, variables: Mapping[str, str | None]) -> tuple[str, int]:
    if at >= len(tokens):
        raise NotUnderstood(_NO_CONSTANT)
    token = tokens[at]
    if token.token_type in TEXTS:
        value = ""
        while at < len(tokens) and tokens[at].token_type in TEXTS:
            value += tokens[at].text
            at += 1
        return unambiguous(value), at
    if token.token_type == TokenType.NUMBER and token.text.isdigit() and token.text[0] != "0":
        if at + 1 < len(tokens) and tokens[at + 1].token_type == TokenType.DCOLON:
            raise NotUnderstood(_NO_CONSTANT)
        return token.text, at + 1
    if token.token_type == _OPEN:
        value, at = evaluate_text(tokens, at + 1, variables)
        return value, _closed(tokens, at)
    if at + 1 < len(tokens) and tokens[at + 1].token_type == _OPEN:
        return _call(tokens, at, variables)
    name, at = variable_at(tokens, at)
    known = variables.get(name)
    if known is None:
        raise NotUnderstood(_NO_CONSTANT)
    return known, at


def _call(tokens: Sequence[Token], at: int, variables: Mapping[str, str | None]) -> tuple[str, int]:
    name = tokens[at].text.lower()
    quoted = tokens[at].token_type == TokenType.IDENTIFIER
    if quoted or name not in ("concat", "lower", "upper"):
        raise NotUnderstood(_NO_CONSTANT)
    value, at = evaluate_text(tokens, at + 2, variables)
    while name == "concat" and at < len(tokens) and tokens[at].token_type == TokenType.COMMA:
        more, at = evaluate_text(tokens, at + 1, variables)
        value += more
    if name != "concat" and not value.isascii():
        raise NotUnderstood("letters of uncertain case")
    changed = {"lower": value.lower(), "upper": value.upper()}.get(name, value)
    return changed, _closed(tokens, at)


def _closed(tokens: Sequence[Token], at: int) -> int:
    if at >= len(tokens) or tokens[at].token_type != _CLOSE:
        raise NotUnderstood(_NO_CONSTANT)
    return at + 1
