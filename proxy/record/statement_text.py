"""What is kept of a statement's text, and how it is shown: nothing that a client writes hides what
runs.

Long comments and literals are cut first, so that they push nothing out. Then a text is kept whole
up to a bound, of a longer one its beginning and its end. A hash identifies the whole one.
"""

import re
from dataclasses import dataclass
from hashlib import sha256

from dialect.lexing.text_tokens import end_of_comment
from proxy.record.masking import masked, masked_tail

MAX_TEXT = 32 << 10  # characters of a text that is kept whole
MAX_SHOWN = 16 << 10  # characters that are shown
_TAIL = 8 << 10
_HEAD = MAX_TEXT - _TAIL
_BRIEF = 2_000
_LONG = 1_000  # characters of a comment or literal
_SHOWN_OF_LONG = 200
# Where comments and literals are looked for: a statement of any length takes some 50 ms at most.
_WINDOW = 1 << 20
_MOST = 20_000
# One that is never closed goes on to the end: each would be looked at to there otherwise.
_LITERAL_OR_COMMENT = re.compile(
    r"(?<![\w`])[rR](?:'[^']*+(?:'|\Z)|\"[^\"]*+(?:\"|\Z))"
    r"|'(?:[^'\\]|\\.)*+(?:'|\\?\Z)|\"(?:[^\"\\]|\\.)*+(?:\"|\\?\Z)|`[^`]*+(?:`|\Z)"
    r"|--(?:\\\n|[^\r\n])*+|/\*(?!\+)",
    re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class StatementText:
    """`head` is the text with its long comments and literals cut, or the beginning of that; `tail`
    the end of the text as it came. `hash` is the SHA-256 of all of it in UTF-8."""

    head: str = ""
    tail: str = ""
    length: int = 0
    hash: str = ""

    @classmethod
    def of(cls, text: str) -> "StatementText":
        """What is kept of a text."""
        digest = _hash(text)
        cut = _cut(text[:_WINDOW])
        if len(text) <= _WINDOW and len(cut) <= MAX_TEXT:
            return cls(cut, "", len(text), digest)
        return cls(cut[:_HEAD], text[-_TAIL:], len(text), digest)

    @property
    def kept(self) -> int:
        """Characters in memory."""
        return len(self.head) + len(self.tail)

    def brief(self) -> str:
        """The beginning of the text, its secrets masked."""
        text = masked(self.head[:_BRIEF])
        return text if self.length <= _BRIEF else f"{text} .. ({self.length:,} characters)"

    def shown(self) -> str:
        """The text with its secrets masked, at most some MAX_SHOWN characters of it."""
        text = masked(self.head)
        if not self.tail and len(text) <= MAX_SHOWN:
            return text
        tail = masked_tail(self.tail) if self.tail else text
        return f"{text[:_TAIL]} .. ({self.length:,} characters) .. {tail[-_TAIL:]}"


def _hash(text: str) -> str:
    """The SHA-256 of its UTF-8. Of a long text piece by piece, so that a thread that makes it holds
    the interpreter for some milliseconds at most."""
    digest = sha256()
    for at in range(0, len(text), _WINDOW):
        digest.update(text[at : at + _WINDOW].encode(errors="surrogatepass"))
    return digest.hexdigest()


def _cut(text: str) -> str:
    """The text with its long comments and literals cut, as far as they are looked for."""
    if len(text) <= _LONG:
        return text
    parts: list[str] = []
    at = looked = 0
    while looked < _MOST and (match := _LITERAL_OR_COMMENT.search(text, at)) is not None:
        looked += 1
        end = match.end()
        if match.group() == "/*":
            end, brackets = end_of_comment(text, end, _MOST - looked)
            looked += brackets
        parts += [text[at : match.start()], _shortened(text[match.start() : end])]
        at = end
    return "".join([*parts, text[at:]])


def _shortened(piece: str) -> str:
    if len(piece) <= _LONG:
        return piece
    left_out = len(piece) - 2 * _SHOWN_OF_LONG
    return f"{piece[:_SHOWN_OF_LONG]}.. {left_out:,} characters ..{piece[-_SHOWN_OF_LONG:]}"
