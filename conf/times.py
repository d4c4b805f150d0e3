"""Times as people and programs read them: UTC, ISO 8601, milliseconds."""

import time


def utc(when: float) -> str:
    """Unix time as ISO 8601 in UTC with milliseconds."""
    whole = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(when))
    return f"{whole}.{int(when % 1 * 1000):03d}Z"
