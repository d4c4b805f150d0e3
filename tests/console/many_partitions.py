"""Tables with many partitions."""

import os
import random

from conf.names import ClusterName
from conf.placement import Copy, Placement
from tests.console.fake_places import EAST

SEED = int(os.environ.get("CAUSEWAY_SEED", "20"))


def many(count: int) -> dict[str, Placement]:
    """So many partitions in five clusters, each copy fresh or stale at random."""
    chance, found = random.Random(SEED), {}
    for number in range(count):
        placement = Placement(EAST, write="1", table_write="1")
        for cluster in ("c2", "c3", "c4", "c5"):
            of = "1/1" if chance.random() < 0.9 else "0/1"
            placement = placement.with_copy(Copy(ClusterName(cluster), "file:/x", of))
        found[f"day={number // 24:05}/hour={number % 24:02}"] = placement
    return found
