"""A lease that tests can end."""

from collections.abc import Callable

from pipeline.errors import LeaseLost


class WorkLease:
    def __init__(self) -> None:
        self.lines: list[str] = []
        self.lost = False
        self.stops: list[Callable[[], None]] = []

    def check(self) -> None:
        if self.lost:
            raise LeaseLost("killed")

    def log(self, line: str) -> None:
        self.lines.append(line)

    def on_loss(self, stop: Callable[[], None]) -> None:
        self.stops.append(stop)

    def lose(self) -> None:
        self.lost = True
        for stop in self.stops:
            stop()
