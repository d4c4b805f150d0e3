"""The callback by which long work reports its progress."""

from collections.abc import Callable

Progress = Callable[[int, int], None]  # called with the bytes that are done, and all bytes


def no_progress(done: int, total: int) -> None:
    """The callback of callers that show no progress."""


def part_progress(progress: Progress, before: int, total: int) -> Progress:
    """The callback for a part of the work, which has `total` bytes, after `before` of them."""
    return lambda done, _: progress(before + done, total)
