"""Spark's lexer: the words of a statement as SqlBaseLexer.g4 of Spark 3.5 reads them.

The rules that differ from other SQLs, all taken from that grammar:
- bracketed comments nest, but `/*+` opens no comment, neither at the top nor inside another one;
- `--` comments go on over a line's end that follows a backslash;
- a quote that is never closed is a sign of its own, and the text behind it is read on;
- the longest match wins: `*/` is one sign, `1.5e3x` is three words, `1e5x` is one name;
- a name is made of ASCII letters, digits and `_` (and of the two letters whose upper case is
  ASCII: U+0131 and U+017F). Blanks are space, tab, line feed and carriage return.
"""

import re
from collections.abc import Iterator
from enum import Enum
from typing import NamedTuple

from dialect.errors import NotUnderstood


class Kind(Enum):
    """What a lexeme is."""

    WORD = "a keyword or a name"
    QUOTED_NAME = "a name in backquotes"
    STRING = "a string in quotes, with escapes"
    RAW_STRING = "a string r'..', without escapes"
    NUMBER = "a number, with its suffix"
    SIGN = "an operator or a bracket"
    HINT = "the opening of a hint"
    HINT_END = "the end of a hint"
    UNCLOSED = "a bracketed comment without an end"
    UNRECOGNIZED = "a character that begins no word"


class Lexeme(NamedTuple):
    """One word of a statement: characters `start` to `end`, the latter not included."""

    kind: Kind
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
    "word": Kind.WORD,
    "quoted": Kind.QUOTED_NAME,
    "string": Kind.STRING,
    "raw": Kind.RAW_STRING,
    "number": Kind.NUMBER,
    "sign": Kind.SIGN,
    "hint": Kind.HINT,
    "end": Kind.HINT_END,
    "other": Kind.UNRECOGNIZED,
}
_WHOLE_NUMBER = re.compile(r"[0-9]+(?:[eE][0-9]+)?(?:[bB][dD]|[fFdD])?|[0-9]+[lLsSyY\u017f]")
_COMMENT_SIGN = re.compile(r"/\*(?!\+)|\*/")
_QUOTES = "'\"`"
# Each quote that is not closed is looked for to the end of the text.
_MAX_UNCLOSED = 100


def lexemes(sql: str) -> Iterator[Lexeme]:
    """The words of a statement in order, without blanks and comments. Raises NotUnderstood."""
    at, size, unclosed = 0, len(sql), 0
    match = _LEXEME.match
    while at < size:
        found = match(sql, at)
        if found is None:  # cannot be: the last rule matches any character
            raise NotUnderstood("a character that is not text")
        start, at, rule = at, found.end(), found.lastgroup
        if rule == "blank":
            continue
        if rule == "comment":
            end = _comment_end(sql, at)
            if end is None:
                yield Lexeme(Kind.UNCLOSED, start, size)
                return
            at = end
            continue
        kind = _KINDS[rule or "other"]
        if kind is Kind.WORD and sql[start] <= "9" and _WHOLE_NUMBER.fullmatch(sql, start, at):
            kind = Kind.NUMBER
        elif kind is Kind.UNRECOGNIZED and sql[start] in _QUOTES:
            unclosed += 1
            if unclosed > _MAX_UNCLOSED:
                raise NotUnderstood("many quotes that are not closed")
        yield Lexeme(kind, start, at)


def _comment_end(sql: str, at: int) -> int | None:
    """The position behind the comment that opened before `at`; None when it never ends."""
    depth = 1
    for sign in _COMMENT_SIGN.finditer(sql, at):
        depth += 1 if sign.group() == "/*" else -1
        if not depth:
            return sign.end()
    return None


_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|([01][0-7]{2})|(.))", re.DOTALL)
_ESCAPED = {"0": "\0", "b": "\b", "n": "\n", "r": "\r", "t": "\t", "Z": "\x1a"}
_ESCAPED |= {"%": "\\%", "_": "\\_"}  # as patterns of LIKE want them


def unescaped(text: str) -> str:
    """The value of a string's text between its quotes, as Spark's `unescapeSQLString` has it."""
    if "\\" not in text:
        return text
    value = _ESCAPE.sub(_unescape, text)
    if any(0xD800 <= ord(char) <= 0xDFFF for char in value):  # halves of a character join
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
