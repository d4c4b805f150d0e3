"""Bounds the work of an analysis in steps, not seconds: the same on any machine.

A step is some 5 to 20 us: an expression or a table that the parser tries to read, each time it
tries; a node of a plan; a part of a condition. The caller bounds the steps
(`bounded`). Beyond the bound the analysis ends with TooMuchWork wherever it is, also in the
parser's compiled code (`dialect.parsing.language` counts there). So it may run in the event loop.
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
    """Counts steps of this thread's analysis. Raises TooMuchWork when there are none left."""
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
