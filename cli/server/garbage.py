"""Shortens the pauses of Python's garbage collector, which blocks the event loop.

A full collection visits all objects, half a microsecond each: 40 to 170 ms in a process that has
just started, and more with a large snapshot. So objects that survive a collection are frozen
(`gc.freeze`): later collections skip them. Reference counts still free unused objects. Sessions and
statements have no cycles (a test checks this). Only cycles among frozen objects need a collection
of everything, which runs when the process is idle.
"""

import asyncio
import gc
from time import process_time

# Generation 0 is collected after 700 new objects, generation 1 after 10 of these collections, and
# generation 2 after 4 of those: some 30,000 objects, 15 ms.
THRESHOLDS = (700, 10, 4)
_MIN_INTERVAL = 600.0  # seconds between collections of everything in an idle process
_MAX_INTERVAL = 3600.0  # seconds between collections of everything in a busy process
_CHECK = 1.0  # seconds between measurements of the process
_IDLE = 0.05  # a process is idle below this share of a processor


def shorten_pauses() -> None:
    """Freezes all present objects, and from now on the objects that survive a collection."""
    gc.set_threshold(*THRESHOLDS)
    if _freeze not in gc.callbacks:
        gc.callbacks.append(_freeze)
    collect_all()


async def collect_when_quiet() -> None:
    """Collects everything at the intervals above, until it is cancelled."""
    last, now = process_time(), asyncio.get_running_loop().time
    collected = now()
    while True:
        await asyncio.sleep(_CHECK)
        used, last = process_time() - last, process_time()
        interval = _MIN_INTERVAL if used < _IDLE * _CHECK else _MAX_INTERVAL
        if now() - collected >= interval:
            collect_all()
            collected, last = now(), process_time()


def collect_all() -> None:
    """Frees cycles, also among frozen objects."""
    gc.unfreeze()
    gc.collect()
    # Python delays the next full collection until there are new objects for a quarter of those that
    # the last one visited. This one visits none.
    gc.collect()


def _freeze(phase: str, info: dict[str, int]) -> None:
    if phase == "stop" and info["generation"] == 2:
        gc.freeze()
