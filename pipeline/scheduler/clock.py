"""Clocks. Times of the lifecycle are aware UTC; leases use the database's own time."""

import time
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Protocol


class Clock(Protocol):
    def now(self) -> datetime: ...


class SystemClock:
    def now(self) -> datetime:
        return datetime.now(UTC).replace(microsecond=0)


@dataclass(slots=True)
class SetClock:
    """A clock that stands still until it is moved."""

    time: datetime

    def now(self) -> datetime:
        return self.time

    def move(self, by: timedelta) -> None:
        self.time += by


class RunningClock:
    """A clock that begins at `start` and runs as fast as real time."""

    def __init__(self, start: datetime) -> None:
        self._start = start
        self._since = time.monotonic()

    def now(self) -> datetime:
        passed = timedelta(seconds=int(time.monotonic() - self._since))
        return self._start + passed
