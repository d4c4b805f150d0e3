"""HUP has the settings read anew. One that comes before anybody can do so waits until then."""

import asyncio
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager

_HUP = (signal.SIGHUP,)


@contextmanager
def held_back() -> Iterator[None]:
    """Begins before there are threads, any of which would end the process by it."""
    signal.pthread_sigmask(signal.SIG_BLOCK, _HUP)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _HUP)


def heed(reload: Callable[[], None]) -> None:
    """From now on, and for one that waits."""
    asyncio.get_running_loop().add_signal_handler(signal.SIGHUP, reload)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, _HUP)
