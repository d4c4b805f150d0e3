"""Spark's lexer: splits a statement into lexemes by the rules of Spark 3.5's SqlBaseLexer.g4.

These rules differ from other SQL dialects:
- Bracketed comments nest, but `/*+` opens no comment, also inside another one.
- A backslash at the end of the line continues a `--` comment on the next line.
- A quote that is never closed is a lexeme of its own, and the text after it is read as usual.
- The longest match wins: `*/` is one sign, `1.5e3x` is three lexemes, `1e5x` is one name.
- A name consists of ASCII letters, digits, `_`, and the two letters whose upper case is ASCII
  (U+0131 and U+017F). Blanks are space, tab, line feed and carriage return.
"""

import re
from collections.abc import Iterator
from enum import Enum
from typing import NamedTuple

from dialect.errors import NotUnderstood


class LexemeKind(Enum):
    """The kinds of lexemes."""

    WORD = "a keyword or a name"
    QUOTED_NAME = "a name in backquotes"
    STRING = "a string in quotes, with escapes"
    RAW_STRING = "a string r'..', without escapes"
    NUMBER = "a number, with its suffix"
    SIGN = "an operator or a bracket"
    HINT = "the opening of a hint"
    HINT_END = "the end of a hint"
    UNCLOSED = "a bracketed comment without an end"
    UNRECOGNIZED = "a character that begins no lexeme"


class Lexeme(NamedTuple):
    """A part of a statement: its characters from `start` to `end`, `end` not included."""

    kind: LexemeKind
    start: int
    end: int


_NAME = r"[A-Za-z0-9_\u0131\u017f]"
_RULES = rf"""
    (?P<blank> [\ \r\n\t]+ | --(?:\\\n|[^\r\n])*+\r?\n? )
  | (?P<hint> /\*\+ )
  | (?P<comment> /\* )
  | (?P<raw> [rR]'[^']*+' | [rR]"[^"]*+" )
  | (?P<number> (?:[0-9]+\.[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?(?:[bB][dD]|[fFdD])?(?!{_NAME})
              | [0-9]+[eE][+-][0-9]+(?:[bB][dD]|[fFdD])? )
  | (?P<word> {_NAME}++ )
  | (?P<quoted> `(?:[^`]++|``)*` )
  | (?P<string> '(?:[^'\\]++|\\.)*+' | "(?:[^"\\]++|\\.)*+" )
  | (?P<end> \*/ )
  | (?P<sign> <=> | == | <> | != | <= | >= | !> | !< | \|\| | -> | => | ::
            | [()\[\],.;=<>+\-*/%~&|^:?!] )
  | (?P<other> . )
"""
_LEXEME = re.compile(_RULES, re.VERBOSE | re.DOTALL)
_KINDS = {
    "word": LexemeKind.WORD,
    "quoted": LexemeKind.QUOTED_NAME,
    "string": LexemeKind.STRING,
    "raw": LexemeKind.RAW_STRING,
    "number": LexemeKind.NUMBER,
    "sign": LexemeKind.SIGN,
    "hint": LexemeKind.HINT,
    "end": LexemeKind.HINT_END,
    "other": LexemeKind.UNRECOGNIZED,
}
_WHOLE_NUMBER = re.compile(r"[0-9]+(?:[eE][0-9]+)?(?:[bB][dD]|[fFdD])?|[0-9]+[lLsSyY\u017f]")
_COMMENT_SIGN = re.compile(r"/\*(?!\+)|\*/")
_QUOTES = "'\"`"
# For each unclosed quote the lexer searches the rest of the text, so their number is limited.
_MAX_UNCLOSED = 100


def lexemes(sql: str) -> Iterator[Lexeme]:
    """The lexemes of a statement in order, without blanks and comments. Raises NotUnderstood."""
    at, size, unclosed = 0, len(sql), 0
    match = _LEXEME.match
    while at < size:
        found = match(sql, at)
        if found is None:  # never: the last rule matches any character
            raise NotUnderstood("a character that is not text")
        start, at, rule = at, found.end(), found.lastgroup
        if rule == "blank":
            continue
        if rule == "comment":
            end = _comment_end(sql, at)
            if end is None:
                yield Lexeme(LexemeKind.UNCLOSED, start, size)
                return
            at = end
            continue
        kind = _KINDS[rule or "other"]
        if (
            kind is LexemeKind.WORD
            and sql[start] <= "9"
            and _WHOLE_NUMBER.fullmatch(sql, start, at)
        ):
            kind = LexemeKind.NUMBER
        elif kind is LexemeKind.UNRECOGNIZED and sql[start] in _QUOTES:
            unclosed += 1
            if unclosed > _MAX_UNCLOSED:
                raise NotUnderstood("many quotes that are not closed")
        yield Lexeme(kind, start, at)


def _comment_end(sql: str, at: int) -> int | None:
    """The position after the comment that opened before `at`; None if it is never closed."""
    depth = 1
    for sign in _COMMENT_SIGN.finditer(sql, at):
        depth += 1 if sign.group() == "/*" else -1
        if not depth:
            return sign.end()
    return None


_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|([01][0-7]{2})|(.))", re.DOTALL)
_ESCAPED = {"0": "\0", "b": "\b", "n": "\n", "r": "\r", "t": "\t", "Z": "\x1a"}
_ESCAPED |= {"%": "\\%", "_": "\\_"}  # LIKE reads the backslash as its own escape


def unescaped(text: str) -> str:
    """The value of the text between a string's quotes, as Spark's `unescapeSQLString` returns
    it."""
    if "\\" not in text:
        return text
    value = _ESCAPE.sub(_unescape, text)
    if any(0xD800 <= ord(char) <= 0xDFFF for char in value):  # join surrogate pairs
        return value.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return value


def _unescape(found: re.Match[str]) -> str:
    short, long, octal, char = found.groups()
    if octal is not None:
        return chr(int(octal, 8))
    if char is not None:
        return _ESCAPED.get(char, char)
    point = int(short or long, 16)
    if point > 0x10FFFF:
        raise NotUnderstood("a string with a character that does not exist")
    return chr(point)
