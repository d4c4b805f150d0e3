"""Escapes the output of commands, so that text from outside cannot control a terminal.

`escaped_output` wraps standard output and standard error while a command runs, and escapes with
`conf.logs.printable`.
"""

import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, redirect_stderr, redirect_stdout
from typing import Any, TextIO, cast

from conf.logs.printable import escaped

_LAYOUT = "\n\t"  # characters that commands print on purpose


class EscapedStream:
    """A text stream that escapes unprintable characters, except line ends and tabs."""

    def __init__(self, stream: TextIO) -> None:
        self.stream = stream

    def write(self, text: str) -> int:
        self.stream.write(escaped(text, keep=_LAYOUT))
        return len(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.stream, name)


@contextmanager
def escaped_output() -> Iterator[None]:
    """Makes standard output and standard error an EscapedStream inside the block."""
    with ExitStack() as exits:
        exits.enter_context(redirect_stdout(cast(TextIO, EscapedStream(sys.stdout))))
        exits.enter_context(redirect_stderr(cast(TextIO, EscapedStream(sys.stderr))))
        yield


def draw(stream: TextIO, control: str, text: str = "") -> None:
    """Writes a control sequence of Causeway's own, then the text, to a terminal."""
    raw = stream.stream if isinstance(stream, EscapedStream) else stream
    raw.write(control + escaped(text))
    raw.flush()
