"""What is kept of a statement's text, and how it is shown: nothing that a client writes hides what
runs.

A text is kept whole up to a bound; of a longer one its beginning, from the first word that is no
comment, and its end. A hash identifies the whole one. Long comments and literals are cut where they
are shown, so that they push nothing out.
"""

from dataclasses import dataclass
from hashlib import sha256

from proxy.session.masking import masked, masked_tail, tokens

MAX_TEXT = 32 << 10  # characters of a text that is kept whole
MAX_SHOWN = 16 << 10  # characters that are shown
_TAIL = 8 << 10
_HEAD = MAX_TEXT - _TAIL
_LEADING = 128 << 10  # characters in which the first word is looked for
_BRIEF = 2_000
_LONG_TOKEN = 1_000
_SHOWN_OF_TOKEN = 200


@dataclass(frozen=True, slots=True)
class StatementText:
    """`head` is the whole text, or its beginning without `skipped` characters of comments; `tail`
    its end. `hash` is the SHA-256 of all of it in UTF-8."""

    head: str = ""
    tail: str = ""
    skipped: int = 0
    length: int = 0
    hash: str = ""

    @classmethod
    def of(cls, text: str) -> "StatementText":
        """What is kept of a text."""
        digest = sha256(text.encode(errors="surrogatepass")).hexdigest()
        if len(text) <= MAX_TEXT:
            return cls(text, length=len(text), hash=digest)
        start = _after_comments(text)
        tail = text[max(start + _HEAD, len(text) - _TAIL) :]
        return cls(text[start : start + _HEAD], tail, start, len(text), digest)

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
        lead = f"/* .. {self.skipped:,} characters .. */ " if self.skipped else ""
        head, tail = _cut(masked(self.head)), masked_tail(self.tail) if self.tail else ""
        left_out = self.length - self.skipped - self.kept
        if left_out > 0:
            head, tail = head[: MAX_SHOWN - _TAIL], tail[-_TAIL:]
        text = f"{lead}{head}{tail}"
        if left_out <= 0 and len(text) <= MAX_SHOWN:
            return text
        half = MAX_SHOWN - _TAIL
        return f"{text[:half]} .. ({self.length:,} characters) .. {text[-_TAIL:]}"


def _after_comments(text: str) -> int:
    """Where the first word begins that is no comment, as far as it is looked for."""
    for each in tokens(text[:_LEADING]):
        if each.kind not in ("space", "comment"):
            return each.start
    return 0


def _cut(text: str) -> str:
    """The text with its long comments and literals cut."""
    if len(text) <= _LONG_TOKEN:
        return text
    return "".join(_cut_token(text[each.start : each.end], each.kind) for each in tokens(text))


def _cut_token(piece: str, kind: str) -> str:
    if len(piece) <= _LONG_TOKEN or kind == "sign":
        return piece
    left_out = len(piece) - 2 * _SHOWN_OF_TOKEN
    return f"{piece[:_SHOWN_OF_TOKEN]}.. {left_out:,} characters ..{piece[-_SHOWN_OF_TOKEN:]}"
