"""Pauses of the garbage collector in a process of its own, since its settings are the process's."""

import subprocess
import sys

_SCRIPT = """
import gc, weakref
from cli.server.garbage import THRESHOLDS, collect_all, shorten_pauses

class Node:
    pass

def cycle():
    node = Node()
    node.own = node
    return node

kept = [[number] for number in range(300_000)]
shorten_pauses()
looked_at = []
def note(phase, info):
    if phase == "start":
        looked_at.append(sum(map(len, map(gc.get_objects, range(info["generation"] + 1)))))
gc.callbacks.append(note)
more = [[number] for number in range(300_000)]
print(max(looked_at), len(looked_at))

old = cycle()
dead = weakref.ref(old)
more += [[number] for number in range(100_000)]
del old
gc.collect()
print(dead() is None)
collect_all()
print(dead() is None)
"""


def test_a_collection_looks_at_few_objects_however_many_there_are() -> None:
    lines = subprocess.run(
        [sys.executable, "-c", _SCRIPT], capture_output=True, text=True, check=True
    ).stdout.splitlines()
    most, collections = map(int, lines[0].split())
    assert collections > 100
    assert most < 50_000
    assert lines[1:] == ["False", "True"], "a cycle of old objects goes with a collection of all"
