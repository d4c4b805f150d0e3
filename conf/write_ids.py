"""Ids of writes and of changes of facts. They contain a time, which is only shown to people.

Ids are compared for equality and never for order, because the clocks of the processes that make
them may differ. Ids of older versions have no time.
"""

import re
import time
from uuid import uuid4

_TIMED = re.compile("[0-9a-f]{28}")  # 12 digits are milliseconds since 1970, 16 are random
_LATEST = 1e11  # epoch seconds; the limit of times that can be shown


def new_id() -> str:
    """A new id with the present time: 28 hexadecimal digits."""
    return f"{time.time_ns() // 1_000_000:012x}{uuid4().hex[:16]}"


def with_time(new: str, at: float) -> str:
    """The id `new` with the time `at` in epoch seconds; unchanged if `at` is no time, such as 0."""
    is_known = is_time(at) and _TIMED.fullmatch(new) is not None
    return f"{int(at * 1000):012x}{new[12:]}" if is_known else new


def is_time(value: object) -> bool:
    """Whether the value is a time in epoch seconds that can be shown."""
    return isinstance(value, float | int) and 0 < value < _LATEST


def time_of(any_id: str) -> float | None:
    """The time in an id, in epoch seconds; None if it has none."""
    return int(any_id[:12], 16) / 1000 if _TIMED.fullmatch(any_id) else None
