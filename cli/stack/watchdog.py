"""The process that outlives a killed `causeway up` just long enough to end its children.

It reads `+GROUP` and `-GROUP` lines from its standard input; at the input's end it kills the
process groups that are left.
"""

import os
import signal
import sys
import time
from collections.abc import Iterable

_GRACE = 3.0  # seconds


def left(lines: Iterable[str]) -> set[int]:
    """The process groups that were added and not removed."""
    groups: set[int] = set()
    for line in lines:
        sign, group = line[:1], int(line[1:])
        if sign == "+":
            groups.add(group)
        else:
            groups.discard(group)
    return groups


def main() -> None:
    # A terminal's Ctrl-C and a polite TERM are for the parent, which ends the children itself.
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    groups = left(sys.stdin)
    if groups:
        _kill(groups, signal.SIGTERM)
        time.sleep(_GRACE)
        _kill(groups, signal.SIGKILL)


def _kill(groups: set[int], number: signal.Signals) -> None:
    for group in groups:
        try:
            os.killpg(group, number)
        except (ProcessLookupError, PermissionError):
            continue


if __name__ == "__main__":
    main()
