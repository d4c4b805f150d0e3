"""SET, RESET and ADD, whose text Spark matches by patterns.

Spark's parser only recognises their first words. Patterns of SparkSqlAstBuilder, repeated here,
match the rest of the text with its comments.
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
# The characters that Java's String.trim removes.
_BLANKS = "".join(map(chr, range(33)))


@dataclass(frozen=True, slots=True)
class RawSetting:
    """The setting of SET or RESET: `SET key` and `RESET key` have no value, `SET` has no key."""

    key: str | None = None
    value: str | None = None


def parse_setting(text: str, tokens: Sequence[Token]) -> RawSetting | None:
    """The key and value of SET or RESET; None if Spark refuses the text.

    `tokens` are those of `text` from SET or RESET on.
    """
    first, rest = tokens[0], tokens[1:]
    quoted = [token.token_type == TokenType.IDENTIFIER for token in rest]
    equals = [token.token_type == TokenType.EQ for token in rest]
    if quoted[:1] == [True] and (len(rest) == 1 or equals[1]):
        return _of_quoted_key(text, rest)
    if len(rest) >= 2 and quoted[-1] and equals[-2]:
        # If there are several equals signs, Spark's key ends at the first.
        key = text[first.end + 1 : rest[equals.index(True)].start].strip(_BLANKS)
        return RawSetting(key, rest[-1].text) if _KEY_ALONE.fullmatch(key) else None
    raw = text[first.end + 1 :].strip(_BLANKS)
    if found := _KEY_VALUE.fullmatch(raw):
        return RawSetting(found.group(1), found.group(2).strip(_BLANKS))
    if _KEY_ALONE.fullmatch(raw):
        return RawSetting(raw)
    return RawSetting(raw or None) if raw in ("", "-v") else None


def _of_quoted_key(text: str, rest: Sequence[Token]) -> RawSetting | None:
    """The setting of SET with a key in backquotes. Spark trims the value before it removes the
    semicolons at its end."""
    if len(rest) == 1:
        return RawSetting(rest[0].text)
    if len(rest) == 3 and rest[2].token_type == TokenType.IDENTIFIER:
        return RawSetting(rest[0].text, rest[2].text)
    found = _VALUE.fullmatch(text[rest[1].end + 1 :].strip(_BLANKS))
    return RawSetting(rest[0].text, found.group(1)) if found else None


def parse_paths(text: str) -> tuple[str, ...]:
    """The paths in the text after ADD JAR, FILE or ARCHIVE: words, or strings in quotes."""
    found = _PATHS.findall(text.strip(_BLANKS))
    return tuple(unescaped(each[1:-1]) if each[0] in "'\"" else each for each in found)
