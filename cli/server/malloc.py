"""Limits the number of heaps that glibc uses in a process with many threads."""

import ctypes
import os

_VARIABLE = "MALLOC_ARENA_MAX"  # glibc's own setting, which an operator may set
_ARENA_MAX = -8  # glibc's M_ARENA_MAX
_ARENAS = 2


def limit_malloc_arenas() -> None:
    """Limits glibc to two heaps, unless MALLOC_ARENA_MAX is set. Call it before threads start.

    By default glibc gives each thread a heap of its own, up to eight for each core. Memory that is
    freed in one heap is not used by another, so a worker grew for half an hour. Two heaps are
    enough: the threads mostly wait for sockets and for the interpreter.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)  # only glibc has it
    if mallopt is not None and _VARIABLE not in os.environ:
        mallopt(_ARENA_MAX, _ARENAS)
