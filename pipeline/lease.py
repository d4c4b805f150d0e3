"""The right to do one piece of scheduled work, as those who do the work see it."""

from collections.abc import Callable
from typing import Protocol


class WorkLease(Protocol):
    """The right to do an instance's work, for as long as `check` does not raise."""

    def check(self) -> None:
        """Raises LeaseLost once the instance was killed or taken over. Call before effects."""
        ...

    def log(self, line: str) -> None:
        """A line for `causeway instance logs`."""
        ...

    def on_loss(self, stop: Callable[[], None]) -> None:
        """`stop` is called, on another thread, when the right is lost."""
        ...
