"""The validity, service level and notification of a feed or process."""

import re
from dataclasses import dataclass, field
from datetime import datetime

from pipeline.falcon.calendar import Frequency

_ADDRESS = re.compile(r"[\w.!#$%&'*+/=?^`{|}~-]+@[\w.-]+", re.ASCII)


@dataclass(frozen=True, slots=True)
class Validity:
    """The period of an entity: from `start`, inclusive, to `end`, exclusive."""

    start: datetime
    end: datetime
    line: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class Sla:
    """A service level: `low` after the nominal time a warning is due, `high` after it an alert."""

    low: Frequency | None
    high: Frequency | None
    line: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class Notification:
    """The receivers of a mail when an instance ends; at the level `attempt`, also when one of its
    attempts fails.
    """

    to: tuple[str, ...]
    level: str = "instance"

    @property
    def addresses(self) -> tuple[str, ...]:
        """The receivers that are mail addresses."""
        return tuple(each for each in self.to if _ADDRESS.fullmatch(each))
