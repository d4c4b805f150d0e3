"""What Causeway's commands print and log: text from outside cannot act on a terminal.

`shown` wraps the process's output while a command runs; `configure_logs` is the one place where
logs get their form. Both escape by `conf.printable`.
"""

import logging
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, redirect_stderr, redirect_stdout
from typing import Any, TextIO, cast

from conf.printable import escaped

_LAYOUT = "\n\t"  # what commands print on purpose


class Shown:
    """A text stream that escapes what is written to it, all but line ends and tabs."""

    def __init__(self, stream: TextIO) -> None:
        self.stream = stream

    def write(self, text: str) -> int:
        self.stream.write(escaped(text, keep=_LAYOUT))
        return len(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.stream, name)


@contextmanager
def shown() -> Iterator[None]:
    """While it lasts, standard output and standard error are Shown."""
    with ExitStack() as exits:
        exits.enter_context(redirect_stdout(cast(TextIO, Shown(sys.stdout))))
        exits.enter_context(redirect_stderr(cast(TextIO, Shown(sys.stderr))))
        yield


def draw(stream: TextIO, control: str, text: str = "") -> None:
    """Writes a control sequence of our own, then the text, to a terminal."""
    raw = stream.stream if isinstance(stream, Shown) else stream
    raw.write(control + escaped(text))
    raw.flush()


class Formatter(logging.Formatter):
    """A record is one line; those of a traceback follow it, each marked, so that no client's text
    looks like a record of its own."""

    def format(self, record: logging.LogRecord) -> str:
        own = logging.makeLogRecord(record.__dict__)
        own.msg, own.args, own.exc_text = escaped(record.getMessage()), (), None
        return super().format(own)

    def formatException(self, ei: Any) -> str:
        lines = super().formatException(ei).split("\n")
        return "\n".join(f"  | {escaped(line)}" for line in lines)


def configure_logs(layout: str) -> None:
    """Logs go to standard error in that layout (as `logging` has them), warnings and above."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(Formatter(layout))
    logging.basicConfig(handlers=[handler])
