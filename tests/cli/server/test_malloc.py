"""The number of heaps of a process whose threads allocate at the same time."""

import ctypes
import os
import subprocess
import sys

import pytest

CHILD = """
import ctypes, os, sys, tempfile, threading
from cli.server.malloc import limit_malloc_arenas
if sys.argv[1] == "few":
    limit_malloc_arenas()
libc = ctypes.CDLL(None)
libc.malloc.restype = ctypes.c_void_p
libc.free.argtypes = [ctypes.c_void_p]
together = threading.Barrier(12)
def use():
    together.wait()
    held = [libc.malloc(1000) for _ in range(200)]
    together.wait()
    for each in held:
        libc.free(each)
threads = [threading.Thread(target=use) for _ in range(12)]
for each in threads: each.start()
for each in threads: each.join()
libc.fdopen.restype = ctypes.c_void_p
libc.fflush.argtypes = [ctypes.c_void_p]
libc.malloc_info.argtypes = [ctypes.c_int, ctypes.c_void_p]
with tempfile.TemporaryFile() as file:
    stream = libc.fdopen(file.fileno(), b"w")
    libc.malloc_info(0, stream)
    libc.fflush(stream)
    file.seek(0)
    print(file.read().count(b"<heap nr="))
"""


def heaps(which: str, **more: str) -> int:
    environment = {k: v for k, v in os.environ.items() if k != "MALLOC_ARENA_MAX"} | more
    child = subprocess.run(
        [sys.executable, "-c", CHILD, which],
        env=environment,
        capture_output=True,
        check=True,
        timeout=60,
    )
    return int(child.stdout)


@pytest.mark.skipif(not hasattr(ctypes.CDLL(None), "mallopt"), reason="not glibc")
def test_threads_share_two_heaps_unless_the_environment_sets_a_number() -> None:
    assert heaps("few") <= 2
    assert heaps("many") > 2
    assert heaps("few", MALLOC_ARENA_MAX="8") > 2
