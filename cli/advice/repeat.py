"""The standing policy: a plan is made and applied again and again."""

import argparse
import sys
import time
from collections.abc import Callable
from typing import NoReturn

from conf.errors import CausewayError
from conf.kinds import seconds

_RETRY = 900.0  # seconds until a plan is made again that could not be made or applied
_LEAST = 60.0  # seconds between plans


def repeat(plan: Callable[[], int], every: float, pause: Callable[[float], object]) -> NoReturn:
    """Calls `plan`, and again `every` seconds after each call that went well. A call has failed
    where it raises CausewayError or returns another status than 0. A signal ends it at any time:
    what was done is in the record."""
    while True:
        print(time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()), flush=True)
        try:
            failed = plan() != 0
        except CausewayError as error:
            print(f"causeway advise: {error}", file=sys.stderr, flush=True)
            failed = True
        pause(min(every, _RETRY) if failed else every)


def interval(text: str) -> float:
    """Seconds of `24h`. Raises ArgumentTypeError."""
    try:
        found = seconds(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
    if found < _LEAST:
        raise argparse.ArgumentTypeError(f"{text} is less than a minute")
    return found
