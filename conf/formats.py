"""Texts for sizes and times."""

import time


def size_text(size: float) -> str:
    """A number of bytes in decimal units, such as `1.2 GB`."""
    for unit in ("bytes", "kB", "MB", "GB", "TB"):
        if abs(size) < 1000:
            return f"{size:.0f} bytes" if unit == "bytes" else f"{size:.1f} {unit}"
        size /= 1000
    return f"{size:,.1f} PB"


def utc(when: float) -> str:
    """A time in epoch seconds as ISO 8601 in UTC, with milliseconds."""
    whole = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(when))
    return f"{whole}.{int(when % 1 * 1000):03d}Z"
