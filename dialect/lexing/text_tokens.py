"""The tokens of any text as Spark's lexer would read it, white space and comments among them.

Unlike `dialect.lexing.tokenize` it reads every text, and every character is in one token. So it
serves logs and masks. Every repetition is possessive or bounded, so that no text takes long.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

# A statement's tokens, as Spark 3.5 has them (SqlBaseLexer.g4). Comments in brackets may nest.
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


class Token(NamedTuple):
    """`kind` is the group's name in the pattern, or `comment`; `start` and `end` are positions."""

    kind: str
    start: int
    end: int


def tokens(text: str) -> Iterator[Token]:
    """The tokens of a statement, white space and comments among them: all of the text."""
    at = 0
    while at < len(text):
        match = _TOKEN.match(text, at)
        assert match is not None, "the last alternative is any character"
        kind, end = str(match.lastgroup), match.end()
        if kind == "block":
            end, _ = end_of_comment(text, end)
        yield Token("comment" if kind in ("block", "line") else kind, at, end)
        at = end


def end_of_comment(text: str, at: int, most: int | None = None) -> tuple[int, int]:
    """Where a comment ends that opened before `at`, and how many brackets were looked at, of `most`
    at most. One that is never closed ends with the text."""
    depth, looked = 1, 0
    for bracket in _BRACKET.finditer(text, at):
        depth += 1 if bracket.group() == "/*" else -1
        looked += 1
        if not depth or looked == most:
            return bracket.end(), looked
    return len(text), looked
