"""The process that ends the children of a killed `causeway up`.

It reads lines `+GROUP` and `-GROUP` from its standard input. At the end of the input it kills the
process groups that are left.
"""

import os
import signal
import sys
import time
from collections.abc import Iterable

_GRACE = 3.0  # seconds between SIGTERM and SIGKILL


def groups_left(lines: Iterable[str]) -> set[int]:
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
    # SIGINT from a terminal and SIGTERM are for the parent, which ends the children itself.
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    groups = groups_left(sys.stdin)
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
