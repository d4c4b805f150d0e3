"""Shows the progress of a copy: as a bar on terminals, or as events for programs."""

import time
from collections.abc import Callable, Mapping
from typing import Self, TextIO

from cli.terminal import draw

_WIDTH = 30
_INTERVAL = 0.2  # seconds


class ProgressBar:
    """A bar on a terminal; on other streams it shows nothing. Call it with the bytes done and the
    total. It is drawn at most five times a second."""

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


class ProgressEvents:
    """Emits events with the bytes copied in all rounds so far and the known total: at most one a
    second, and one at the end of a round."""

    def __init__(
        self,
        emit: Callable[[Mapping[str, object]], None],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._emit = emit
        self._clock = clock
        self._emitted = -1.0
        self._before = 0  # bytes of earlier rounds
        self._last = (0, 0)  # bytes done and total of this round

    def __call__(self, done: int, total: int) -> None:
        if done < self._last[0]:
            self._before += self._last[1]
        self._last = done, total
        now = self._clock()
        if self._emitted >= 0 and now - self._emitted < 1 and done < total:
            return
        self._emitted = now
        self._emit({"event": "progress", "bytes": self._before + done, "of": self._before + total})
