"""The command of a `causeway` child process, and the parser of its output of JSON lines."""

import json
import sys
from typing import Any

CAUSEWAY = (sys.executable, "-m", "cli.main")
LONGEST_LINE = 64 << 20  # bytes; a line may name all partitions or files of a table


def object_in(line: str | bytes) -> dict[str, Any]:
    """The JSON object in the line; empty if the line is something else."""
    try:
        found = json.loads(line)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}
