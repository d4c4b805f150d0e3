"""The output of Causeway's commands: text from outside cannot act on a terminal.

`shown` wraps the process's output while a command runs and escapes by `conf.logs.printable`.
"""

import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, redirect_stderr, redirect_stdout
from typing import Any, TextIO, cast

from conf.logs.printable import escaped

_LAYOUT = "\n\t"  # characters that commands print on purpose


class Shown:
    """A text stream that escapes what is not printable, except line ends and tabs."""

    def __init__(self, stream: TextIO) -> None:
        self.stream = stream

    def write(self, text: str) -> int:
        self.stream.write(escaped(text, keep=_LAYOUT))
        return len(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.stream, name)


@contextmanager
def shown() -> Iterator[None]:
    """Makes standard output and standard error Shown inside the block."""
    with ExitStack() as exits:
        exits.enter_context(redirect_stdout(cast(TextIO, Shown(sys.stdout))))
        exits.enter_context(redirect_stderr(cast(TextIO, Shown(sys.stderr))))
        yield


def draw(stream: TextIO, control: str, text: str = "") -> None:
    """Writes a control sequence of Causeway's own, then the text, to a terminal."""
    raw = stream.stream if isinstance(stream, Shown) else stream
    raw.write(control + escaped(text))
    raw.flush()
