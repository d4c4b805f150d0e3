"""What feeds and processes agree to: their time, their service levels, and who gets mail."""

import re
from dataclasses import dataclass, field
from datetime import datetime

from pipeline.falcon.calendar import Frequency

_ADDRESS = re.compile(r"[\w.!#$%&'*+/=?^`{|}~-]+@[\w.-]+", re.ASCII)


@dataclass(frozen=True, slots=True)
class Validity:
    """From `start`, inclusive, to `end`, exclusive."""

    start: datetime
    end: datetime
    line: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class Sla:
    """After `low` a warning, after `high` a missed agreement, both from the nominal time."""

    low: Frequency | None
    high: Frequency | None
    line: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class Notification:
    """Who gets a mail when an instance ends, and at the level `attempt` also for each attempt that
    fails.
    """

    to: tuple[str, ...]
    level: str = "instance"

    @property
    def addresses(self) -> tuple[str, ...]:
        """Those of `to` to which mail can be sent."""
        return tuple(each for each in self.to if _ADDRESS.fullmatch(each))
