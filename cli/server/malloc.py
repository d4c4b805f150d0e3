"""The number of heaps that the C library keeps for a process with many threads."""

import ctypes
import os

_VARIABLE = "MALLOC_ARENA_MAX"  # an operator's choice
_ARENA_MAX = -8  # glibc's M_ARENA_MAX
_ARENAS = 2


def limit_malloc_arenas() -> None:
    """Limits glibc to two heaps. Call it before there are threads.

    By default glibc gives each thread a heap of its own, up to eight a core, and memory that is
    freed in one is not used by another: a worker grew for half an hour. The threads here wait for
    sockets and for the interpreter, not for the heap.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)  # only glibc has it
    if mallopt is not None and _VARIABLE not in os.environ:
        mallopt(_ARENA_MAX, _ARENAS)
