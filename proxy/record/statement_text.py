"""The part of a statement's text that is kept and shown, so that a client cannot hide what runs.

Long comments and literals are shortened first, so that they displace no other text. Then a text is
kept whole up to a limit; of a longer text the beginning and the end are kept. A hash identifies the
whole text.
"""

import re
from dataclasses import dataclass
from hashlib import sha256

from dialect.lexing.text_tokens import end_of_comment
from proxy.record.masking import masked, masked_tail

MAX_TEXT = 32 << 10  # characters; a longer text is not kept whole
MAX_SHOWN = 16 << 10  # characters that are shown, at most
_TAIL = 8 << 10
_HEAD = MAX_TEXT - _TAIL
_BRIEF = 2_000
_LONG = 1_000  # characters; longer comments and literals are shortened
_SHOWN_OF_LONG = 200  # characters at each end of a shortened comment or literal
# The search for comments and literals ends after so many characters, or so many of them, so that a
# statement of any length takes at most some 50 ms.
_WINDOW = 1 << 20
_MOST = 20_000
# A literal that is not closed matches up to the end of the text. Otherwise the search would read
# the rest of the text again from each quotation mark.
_LITERAL_OR_COMMENT = re.compile(
    r"(?<![\w`])[rR](?:'[^']*+(?:'|\Z)|\"[^\"]*+(?:\"|\Z))"
    r"|'(?:[^'\\]|\\.)*+(?:'|\\?\Z)|\"(?:[^\"\\]|\\.)*+(?:\"|\\?\Z)|`[^`]*+(?:`|\Z)"
    r"|--(?:\\\n|[^\r\n])*+|/\*(?!\+)",
    re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class StatementText:
    """`head` is the text with its long comments and literals shortened, or the beginning of that.
    `tail` is the end of the original text. `hash` is the SHA-256 of the whole text in UTF-8."""

    head: str = ""
    tail: str = ""
    length: int = 0
    hash: str = ""

    @classmethod
    def of(cls, text: str) -> "StatementText":
        """The kept part of a text."""
        digest = _hash(text)
        cut = _cut(text[:_WINDOW])
        if len(text) <= _WINDOW and len(cut) <= MAX_TEXT:
            return cls(cut, "", len(text), digest)
        return cls(cut[:_HEAD], text[-_TAIL:], len(text), digest)

    @property
    def kept(self) -> int:
        """The number of characters in memory."""
        return len(self.head) + len(self.tail)

    def brief(self) -> str:
        """The beginning of the text, its secrets masked."""
        text = masked(self.head[:_BRIEF])
        return text if self.length <= _BRIEF else f"{text} .. ({self.length:,} characters)"

    def shown(self) -> str:
        """The text with its secrets masked, shortened to some MAX_SHOWN characters."""
        text = masked(self.head)
        if not self.tail and len(text) <= MAX_SHOWN:
            return text
        tail = masked_tail(self.tail) if self.tail else text
        return f"{text[:_TAIL]} .. ({self.length:,} characters) .. {tail[-_TAIL:]}"


def _hash(text: str) -> str:
    """The SHA-256 of the text in UTF-8. A long text is hashed in pieces, so that the thread holds
    the interpreter for some milliseconds at most."""
    digest = sha256()
    for at in range(0, len(text), _WINDOW):
        digest.update(text[at : at + _WINDOW].encode(errors="surrogatepass"))
    return digest.hexdigest()


def _cut(text: str) -> str:
    """The text with its long comments and literals shortened, as far as the search goes."""
    if len(text) <= _LONG:
        return text
    parts: list[str] = []
    at = count = 0
    while count < _MOST and (match := _LITERAL_OR_COMMENT.search(text, at)) is not None:
        count += 1
        end = match.end()
        if match.group() == "/*":
            end, brackets = end_of_comment(text, end, _MOST - count)
            count += brackets
        parts += [text[at : match.start()], _shortened(text[match.start() : end])]
        at = end
    return "".join([*parts, text[at:]])


def _shortened(piece: str) -> str:
    if len(piece) <= _LONG:
        return piece
    left_out = len(piece) - 2 * _SHOWN_OF_LONG
    return f"{piece[:_SHOWN_OF_LONG]}.. {left_out:,} characters ..{piece[-_SHOWN_OF_LONG:]}"
