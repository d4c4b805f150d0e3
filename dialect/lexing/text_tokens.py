"""Splits any text into tokens as Spark's lexer does, with white space and comments.

Unlike `dialect.lexing.tokenize` it accepts every text, and each character is in one token: logs and
masking need that. Every repetition in the pattern is possessive or bounded, so that no text takes
long.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

# The tokens of Spark 3.5's SqlBaseLexer.g4. Comments in brackets may nest.
_TOKEN = re.compile(
    r"(?P<space>\s++)"
    r"|(?P<line>--(?:\\\n|[^\r\n])*+)"
    r"|(?P<block>/\*(?!\+))"
    r"|(?P<text>[rR](?:'[^']*+(?:'|\Z)|\"[^\"]*+(?:\"|\Z))"
    r"|'(?:[^'\\]|\\.)*+(?:'|\\?\Z)|\"(?:[^\"\\]|\\.)*+(?:\"|\\?\Z))"
    r"|(?P<name>`[^`]*+(?:`|\Z)|[\w.$\-]++)"
    r"|(?P<sign>=>|.)",
    re.DOTALL,
)
_BRACKET = re.compile(r"/\*(?!\+)|\*/")


class TextToken(NamedTuple):
    """The characters from `start` to `end`, `end` not included. `kind` is a group's name in the
    pattern, or `comment`."""

    kind: str
    start: int
    end: int


def tokens(text: str) -> Iterator[TextToken]:
    """The tokens of a statement, which together are the whole text."""
    at = 0
    while at < len(text):
        match = _TOKEN.match(text, at)
        assert match is not None, "the last alternative is any character"
        kind, end = str(match.lastgroup), match.end()
        if kind == "block":
            end, _ = end_of_comment(text, end)
        yield TextToken("comment" if kind in ("block", "line") else kind, at, end)
        at = end


def end_of_comment(text: str, at: int, most: int | None = None) -> tuple[int, int]:
    """The position after the comment that opened before `at`, and the number of brackets read. The
    search ends after `most` brackets; a comment that is never closed ends with the text."""
    depth, brackets = 1, 0
    for bracket in _BRACKET.finditer(text, at):
        depth += 1 if bracket.group() == "/*" else -1
        brackets += 1
        if not depth or brackets == most:
            return bracket.end(), brackets
    return len(text), brackets
