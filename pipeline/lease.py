"""The lease of scheduled work: the interface for the code that does the work."""

from collections.abc import Callable
from typing import Protocol


class WorkLease(Protocol):
    """The right to do an instance's work, for as long as `check` does not raise."""

    def check(self) -> None:
        """Raises LeaseLost once the instance was killed or taken over. Call before effects."""
        ...

    def log(self, line: str) -> None:
        """Adds a line to the instance's log (`causeway instance logs`)."""
        ...

    def on_loss(self, stop: Callable[[], None]) -> None:
        """Calls `stop` when the lease is lost, on another thread; at once if it is lost already."""
        ...
