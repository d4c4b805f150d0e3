"""Repeats planning and applying for `causeway advise --apply --every`."""

import argparse
import sys
import time
from collections.abc import Callable
from typing import NoReturn

from conf.errors import CausewayError
from conf.kinds import seconds

_RETRY = 900.0  # seconds after which a failed plan is tried again
_MIN_INTERVAL = 60.0  # seconds between plans


def repeat(plan: Callable[[], int], every: float, pause: Callable[[float], object]) -> NoReturn:
    """Calls `plan` again `every` seconds after each success, and at most 15 minutes after a
    failure. A call fails if it raises CausewayError or returns a status other than 0. A signal may
    end the process at any time: completed actions are in the record."""
    while True:
        print(time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()), flush=True)
        try:
            failed = plan() != 0
        except CausewayError as error:
            print(f"causeway advise: {error}", file=sys.stderr, flush=True)
            failed = True
        pause(min(every, _RETRY) if failed else every)


def interval(text: str) -> float:
    """The seconds of a text like `24h`. Raises ArgumentTypeError."""
    try:
        value = seconds(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
    if value < _MIN_INTERVAL:
        raise argparse.ArgumentTypeError(f"{text} is less than a minute")
    return value
