"""Statements of which Spark reads the text itself: SET, RESET and ADD.

Spark's parser only finds their first words. The rest is taken as it stands in the text,
comments too, and matched by patterns of SparkSqlAstBuilder, which are repeated here.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from sqlglot.tokenizer_core import Token, TokenType

from dialect.lexing.lexer import unescaped

_KEY = r"[a-zA-Z_0-9\\.:]+"
_KEY_VALUE = re.compile(rf"({_KEY})\s*=([^;]*);*", re.ASCII)
_KEY_ALONE = re.compile(_KEY)
_VALUE = re.compile(r"([^;]*);*")
_DOT = "[^\n\r\x85\u2028\u2029]"  # Java's dot
_PATHS = re.compile(rf""""{_DOT}*?[^\\]"|'{_DOT}*?[^\\]'|[^ \n\r\t"']+""")
# What Java's String.trim takes away.
_BLANKS = "".join(map(chr, range(33)))


@dataclass(frozen=True, slots=True)
class Setting:
    """`SET key=value`, `SET key` and `RESET key` (without a value), `SET` (without a key)."""

    key: str | None = None
    value: str | None = None


def setting(text: str, tokens: Sequence[Token]) -> Setting | None:
    """The key and value of SET or RESET; None where Spark refuses the text.

    `tokens` are those of the statement `text` from its SET or RESET on.
    """
    first, rest = tokens[0], tokens[1:]
    quoted = [token.token_type == TokenType.IDENTIFIER for token in rest]
    equals = [token.token_type == TokenType.EQ for token in rest]
    if quoted[:1] == [True] and (len(rest) == 1 or equals[1]):
        return _of_quoted_key(text, rest)
    if len(rest) >= 2 and quoted[-1] and equals[-2]:
        # With several signs Spark takes the key before the first of them.
        key = text[first.end + 1 : rest[equals.index(True)].start].strip(_BLANKS)
        return Setting(key, rest[-1].text) if _KEY_ALONE.fullmatch(key) else None
    raw = text[first.end + 1 :].strip(_BLANKS)
    if found := _KEY_VALUE.fullmatch(raw):
        return Setting(found.group(1), found.group(2).strip(_BLANKS))
    if _KEY_ALONE.fullmatch(raw):
        return Setting(raw)
    return Setting(raw or None) if raw in ("", "-v") else None


def _of_quoted_key(text: str, rest: Sequence[Token]) -> Setting | None:
    """SET with a key in backquotes: Spark trims its value before it cuts the signs at its end."""
    if len(rest) == 1:
        return Setting(rest[0].text)
    if len(rest) == 3 and rest[2].token_type == TokenType.IDENTIFIER:
        return Setting(rest[0].text, rest[2].text)
    found = _VALUE.fullmatch(text[rest[1].end + 1 :].strip(_BLANKS))
    return Setting(rest[0].text, found.group(1)) if found else None


def paths(text: str) -> tuple[str, ...]:
    """The paths of ADD JAR, FILE or ARCHIVE: words, or strings in quotes."""
    found = _PATHS.findall(text.strip(_BLANKS))
    return tuple(unescaped(each[1:-1]) if each[0] in "'\"" else each for each in found)
