"""Handles SIGHUP, which reloads the settings. It is blocked until the handler is installed."""

import asyncio
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager

_SIGHUP = (signal.SIGHUP,)


@contextmanager
def sighup_blocked() -> Iterator[None]:
    """Blocks SIGHUP, which would end the process. Enter it before threads start, because they
    inherit the mask."""
    signal.pthread_sigmask(signal.SIG_BLOCK, _SIGHUP)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _SIGHUP)


def install_sighup_handler(reload: Callable[[], None]) -> None:
    """Calls `reload` at each SIGHUP, and for a blocked one at once."""
    asyncio.get_running_loop().add_signal_handler(signal.SIGHUP, reload)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, _SIGHUP)
