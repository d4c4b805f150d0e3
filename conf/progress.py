"""How work tells its caller how far it is."""

from collections.abc import Callable

Progress = Callable[[int, int], None]  # bytes that are done, bytes of all


def no_progress(done: int, total: int) -> None:
    """For callers that show no progress."""
