"""Bounds the work of an analysis in steps, which are the same on any machine, unlike seconds.

A step takes some 5 to 20 us. It is an attempt of the parser to read an expression or a table, a
node of a plan, or a part of a condition. Inside `bounded`, the analysis raises TooMuchWork when its
steps are spent, also in the parser's compiled code (`dialect.parsing.language` counts there). So it
can run in the event loop.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

UNBOUNDED = 1 << 62  # steps


class TooMuchWork(Exception):
    """The analysis took more steps than it was given."""


class _Left(threading.local):
    steps = UNBOUNDED


_LEFT = _Left()


def spend(steps: int = 1) -> None:
    """Counts steps of this thread's analysis. Raises TooMuchWork if none are left."""
    _LEFT.steps -= steps
    if _LEFT.steps < 0:
        raise TooMuchWork


@contextmanager
def bounded(steps: int) -> Iterator[None]:
    """Allows `steps` steps inside the block. Steps outside are counted separately."""
    outside, _LEFT.steps = _LEFT.steps, steps
    try:
        yield
    finally:
        _LEFT.steps = outside
