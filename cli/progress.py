"""A progress bar for terminals; other outputs show nothing."""

import time
from typing import Self, TextIO

from cli.terminal import draw

_WIDTH = 30
_INTERVAL = 0.2  # seconds


class Bar:
    """Call it with the bytes done and the total; it is drawn at most five times a second."""

    def __init__(self, stream: TextIO, *, shown: bool = True) -> None:
        self._stream = stream
        self._shown = shown and stream.isatty()
        self._drawn = 0.0
        self._began = time.monotonic()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._shown and self._drawn:
            draw(self._stream, "\r\x1b[K")

    def __call__(self, done: int, total: int) -> None:
        now = time.monotonic()
        if not self._shown or (now - self._drawn < _INTERVAL and done < total):
            return
        self._drawn = now
        filled = _WIDTH * done // total if total else _WIDTH
        rate = done / max(now - self._began, 0.001) / 1e6
        bar = "#" * filled + "-" * (_WIDTH - filled)
        text = f"[{bar}] {done / 1e6:,.0f} of {total / 1e6:,.0f} MB, {rate:,.0f} MB/s"
        draw(self._stream, "\r", text)
