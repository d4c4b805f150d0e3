"""How many heaps the C library keeps for a process of many threads."""

import ctypes
import os

_OPERATORS_WORD = "MALLOC_ARENA_MAX"
_ARENA_MAX = -8  # glibc's M_ARENA_MAX
_ARENAS = 2


def few() -> None:
    """Before there are threads. To each of them glibc would give a heap of its own, up to eight a
    core, and what is freed in one is of no use in another: the memory of a worker grew for half an
    hour. Threads here wait for sockets and for the interpreter, not for the heap.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)  # glibc's alone
    if mallopt is not None and _OPERATORS_WORD not in os.environ:
        mallopt(_ARENA_MAX, _ARENAS)
