"""`causeway` as a child process: its command, and the JSON objects in the lines of its output."""

import json
import sys
from typing import Any

CAUSEWAY = (sys.executable, "-m", "cli.main")
LONGEST_LINE = 64 << 20  # bytes; a line may name all partitions or files of a table


def object_in(line: str | bytes) -> dict[str, Any]:
    """The object in the line; empty where there is none."""
    try:
        found = json.loads(line)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}
