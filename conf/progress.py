"""The callback by which long work reports its progress."""

from collections.abc import Callable

Progress = Callable[[int, int], None]  # called with the bytes that are done, and all bytes


def no_progress(done: int, total: int) -> None:
    """The callback of callers that show no progress."""
