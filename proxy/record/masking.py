"""Masks secrets in statements and messages.

A statement is split into tokens as Spark's lexer does it. A literal after a name that sounds like a
secret is masked. Secrets inside a literal or comment are masked there. So no quotation mark hides
text behind its literal. Every repetition in the patterns is possessive or bounded, so that no text
takes long.
"""

import re
from collections.abc import Iterable

from dialect.lexing.text_tokens import tokens

MASK = "***"
_LONG = 64  # characters; for a longer value the mask shows the length

_SECRET = (
    r"(?:pass(?:word|wd|phrase|code)|pwd|secret|token|credential|signature|"
    r"(?:access|account|api|secret|private|encryption|shared|sas|auth)[-_.]?key)"
)
_MAY_NAME = re.compile(rf"{_SECRET}|://|\bidentified\b", re.IGNORECASE)
_SOUNDS_SECRET = re.compile(_SECRET, re.IGNORECASE)
_LONGEST_KEY = 512
# A name and its value in a text that is no SQL: inside a literal or comment, or in a message.
_PAIR = re.compile(
    rf"(?P<key>{_SECRET}[\w.\-]{{0,256}}+['\"`]?+\s{{0,16}}+(?:=>|=|:)\s{{0,16}}+)"
    r"(?P<value>'[^'\n]*+'|\"(?:[^\"\\\n]|\\.)*+\"|`[^`\n]*+`|['\"`]?+[^\s,;)&'\"`]++)",
    re.IGNORECASE,
)
_IN_URI = re.compile(r"(://[^\s/@:'\"]{0,256}+:)(?P<value>[^\s@'\"]{1,1024}+)(?=@)")

_SET = re.compile(r"\s*+(?P<key>[^=]{1,512}?)\s*+=\s*+")
_WORD = re.compile(r"\S++")
_LINKS = frozenset(("=", "=>", ":"))
_STARTS = ("", "'", '"', "`", "/*", "--")

Span = tuple[int, int]


def masked(text: str) -> str:
    """A statement whose secret values are replaced by masks."""
    return _put(text, _secrets(text))


def masked_tail(text: str) -> str:
    """The end of a statement whose beginning is not known. It may begin inside any kind of token,
    so it is masked as if it began in each of them."""
    spans: list[Span] = []
    for start in _STARTS:
        shifted = [(a - len(start), b - len(start)) for a, b in _secrets(start + text)]
        spans += [(max(a, 0), b) for a, b in shifted if b > 0]
    return _put(text, spans)


def masked_message(text: str) -> str:
    """A message (no SQL) whose secret values are replaced by masks."""
    return _put(text, _inside(text, 0, len(text)))


def _secrets(text: str) -> list[Span]:
    """The spans of secret values in a statement."""
    if not _MAY_NAME.search(text):
        return []
    spans: list[Span] = []
    named = masking = begun = False  # `named`: the next literal is a secret's value
    previous_name = ""
    for token in tokens(text):
        if token.kind == "space":
            continue
        if token.kind == "comment":
            spans += _inside(text, token.start, token.end)
            continue
        piece = text[token.start : token.end]
        value = None if begun or piece.lower() != "set" else _set_value(text, token.end)
        if value is not None:
            return [*spans, value]
        begun = True
        if token.kind == "text":
            if named or masking:
                spans.append(_without_quotes(piece, token.start))
                named, masking = False, True
                continue
            spans += _inside(text, token.start, token.end)
            named = _sounds_secret(piece)
        elif token.kind == "name":
            if named and piece[0].isdigit():
                spans.append((token.start, token.end))
            name = piece.lower()
            named = _sounds_secret(piece) or (previous_name, name) == ("identified", "by")
            previous_name = name
        elif piece not in _LINKS:
            named = False
        masking = False
    return spans + [match.span("value") for match in _IN_URI.finditer(text)]


def _set_value(text: str, at: int) -> Span | None:
    """The span of the value in `SET key=value`, which goes to the end of the text; None if the key
    does not sound like a secret."""
    match = _SET.match(text, at)
    if match is None or not _SOUNDS_SECRET.search(match["key"]):
        return None
    return match.end(), len(text)


def _sounds_secret(piece: str) -> bool:
    return len(piece) <= _LONGEST_KEY and _SOUNDS_SECRET.search(piece) is not None


def _without_quotes(piece: str, start: int) -> Span:
    """The inside of a literal. Of a literal that is not closed only the first word, because the
    rest may be code that runs."""
    opened = 2 if piece[0] in "rR" else 1
    if len(piece) > opened and piece[-1] == piece[opened - 1]:
        return start + opened, start + len(piece) - 1
    word = _WORD.match(piece, opened)
    return start + opened, start + (word.end() if word else opened)


def _inside(text: str, start: int, end: int) -> list[Span]:
    """The spans of secret values within a literal, a comment or a message."""
    spans = []
    for match in _PAIR.finditer(text, start, end):
        value, at = match["value"], match.start("value")
        if value[0] in "'\"`":
            spans.append(_without_quotes(value, at))
        else:
            spans.append((at, at + len(value)))
    return spans


def _put(text: str, spans: Iterable[Span]) -> str:
    """The text with the spans, which may overlap, replaced by masks."""
    parts: list[str] = []
    at = 0
    for start, end in sorted(spans):
        if end <= at or end == start:
            continue
        start = max(start, at)
        if start > at or not parts or parts[-1] != MASK:
            parts += [text[at:start], _mask(end - start)]
        at = end
    return "".join([*parts, text[at:]])


def _mask(length: int) -> str:
    return MASK if length <= _LONG else f"{MASK} ({length:,} characters)"
