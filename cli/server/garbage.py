"""Short pauses of Python's garbage collector, which stops the event loop while it works.

A collection looks at all objects, half a microsecond each: 40 to 170 ms in a process that has just
started, and more with a large snapshot. So objects that survive a collection are put aside
(`gc.freeze`) and not looked at again; what is no longer used is still freed by its reference count.
Sessions and statements have no cycles (a test says so). Only cycles among old objects need a
collection of everything. It runs when the process has little to do.
"""

import asyncio
import gc
from time import process_time

# A collection of the youngest after 700 new objects, of the middle after 10 of these, and of the
# old after 4 of those: some 30,000 objects, 15 ms.
THRESHOLDS = (700, 10, 4)
_EVERY = 600.0  # seconds between collections of everything, at least
_AT_THE_LATEST = 3600.0  # seconds after which one runs although the process is busy
_CHECK = 1.0  # seconds
_LITTLE = 0.05  # of a processor's time


def shorten_pauses() -> None:
    """Puts aside all objects that there are, and from now on what survives a collection."""
    gc.set_threshold(*THRESHOLDS)
    if _put_aside not in gc.callbacks:
        gc.callbacks.append(_put_aside)
    collect_all()


async def collect_when_quiet() -> None:
    """Collects everything now and then, until it is cancelled."""
    last, now = process_time(), asyncio.get_running_loop().time
    collected = now()
    while True:
        await asyncio.sleep(_CHECK)
        used, last = process_time() - last, process_time()
        due = _EVERY if used < _LITTLE * _CHECK else _AT_THE_LATEST
        if now() - collected >= due:
            collect_all()
            collected, last = now(), process_time()


def collect_all() -> None:
    """Frees cycles among the objects that were put aside, too."""
    gc.unfreeze()
    gc.collect()
    gc.collect()  # of nothing: Python waits with the next for a quarter of the last one's size


def _put_aside(phase: str, info: dict[str, int]) -> None:
    if phase == "stop" and info["generation"] == 2:
        gc.freeze()
