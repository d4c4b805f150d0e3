"""Fingerprints of statements: equal for those that differ only in literals, comments, case and
white space."""

import re
from collections.abc import Iterator
from hashlib import sha256

from dialect.lexing.text_tokens import tokens

_LITERAL = "?"
_NUMBER = r"\d+(?:\.\d*)?(?:[eE][+\-]?\d+)?(?:bd|[lsydf])?(?![\w$])"
_PIECE = re.compile(rf"(?P<number>\.?{_NUMBER})|`[^`]*`?|[\w$]+|.", re.IGNORECASE | re.DOTALL)
_LIST = re.compile(r"\?(?: , \?)++")
_ROWS = re.compile(r"\( \? \)(?: , \( \? \))++")
_QUICK = re.compile(
    r"'[^'\\]*+(?:\\.[^'\\]*+)*+'?|\"[^\"\\]*+(?:\\.[^\"\\]*+)*+\"?|\b\d[\w.]*+", re.DOTALL
)
_QUICK_LIST = re.compile(r"\?(?:,\s*+\?)++")
_QUICK_LENGTH = 16 << 10


def fingerprint(text: str) -> str:
    """The fingerprint of a statement, 32 hexadecimal digits."""
    return sha256(template(text).encode(errors="replace")).hexdigest()[:32]


def template(text: str) -> str:
    """The statement with `?` for each literal and each list of literals, and with one row of
    VALUES: an IN list of three values has the template of one of four."""
    return _ROWS.sub("( ? )", _LIST.sub("?", " ".join(_pieces(text))))


def quick_template(text: str) -> str:
    """The beginning of the statement with `?` for literals. It is equal for most statements with an
    equal `template`, and takes a twentieth of the time. Case, white space and comments count."""
    return _QUICK_LIST.sub("?", _QUICK.sub("?", text[:_QUICK_LENGTH]))


def _pieces(text: str) -> Iterator[str]:
    for token in tokens(text):
        piece = text[token.start : token.end]
        if token.kind == "text":
            yield _LITERAL
        elif token.kind == "name":
            for part in _PIECE.finditer(piece):
                yield _LITERAL if part.lastgroup == "number" else part.group().lower()
        elif token.kind == "sign":
            yield piece
