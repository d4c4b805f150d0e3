"""What a run of copies is allowed, and the functions through which it acts on the world."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from conf.progress import Progress, no_progress
from pipeline.copy.copy_record import RecordCopy, no_records
from pipeline.copy.files import Files
from pipeline.copy.runs.lease import Clock

Emit = Callable[[Mapping[str, object]], None]


def no_events(event: Mapping[str, object]) -> None:
    """For callers that need no events."""


@dataclass(frozen=True, slots=True)
class CopyLimits:
    """The limits of a run. Times are in seconds: `wait` for an open write to end, `poll` between
    two looks at it, `grace` for readers of a directory that was replaced. `attempts` is how often
    an object is copied that changes, `most` how many bytes the run may send; None: any number.
    """

    wait: float = 60.0
    attempts: int = 3
    poll: float = 1.0
    grace: float = 3600.0
    most: int | None = None


@dataclass(frozen=True, slots=True)
class JobContext:
    """The effects of a run. `clock` returns epoch seconds, `sleep` takes seconds. `record` is
    called at the end with what was copied.
    """

    files: Files
    emit: Emit = no_events
    record: RecordCopy = no_records
    progress: Progress = no_progress
    clock: Clock = time.time
    sleep: Callable[[float], None] = time.sleep
