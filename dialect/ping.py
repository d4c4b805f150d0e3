"""`SELECT 1`: what connection pools ask to hear whether anybody is there."""

import re

_LITERAL = r"(?:[+-]?\d{1,18}|'[^'\\${}\n]{0,64}'|true|false|null)"
_PING = re.compile(
    rf"\s*select\s+{_LITERAL}(?:\s+(?:as\s+)?[a-z_][a-z0-9_]{{0,63}})?\s*;?\s*", re.IGNORECASE
)


def is_ping(sql: str) -> bool:
    """Whether the statement is one literal without a table: it ends at once and cannot fail."""
    return len(sql) <= 200 and _PING.fullmatch(sql) is not None
