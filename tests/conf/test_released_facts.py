"""Processes of 0.1.0 and of now read each other's facts, so that they can run side by side.

`released_facts.json` was made by the code of 0.1.0: the facts that it writes, and what it reads in
those that are written now. It does not know the list of exceptions, and keeps no unknown
parameters: without the list any partition may have facts of its own, which is the careful side.
"""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from conf.names import ClusterName
from conf.placement import Copy, Placement, read_placement, write_placement

RELEASED = json.loads((Path(__file__).parent / "released_facts.json").read_text())
HOME, EAST, WEST, NORTH = (ClusterName(name) for name in ("home", "east", "west", "north"))
PLAIN = Placement(EAST, write="17a")
COPIED = PLAIN.with_copy(Copy(WEST, "hdfs://w/copies/t", "17a")).with_copy(
    Copy(NORTH, "hdfs://n/t", "older")
)
DIRECT = "Spark of east past the proxy, process 1@h"
NOW = {
    "plain": PLAIN,
    "copied": COPIED,
    "written": COPIED.rewritten("18b"),
    "marked": COPIED.opened("w1", None, since=1790000000, by="proxy a").opened(
        "w2", ["ds=1", "ds=2"], since=1790000001, by=DIRECT
    ),
    "exceptions": replace(PLAIN, exceptions=frozenset(["ds=1", "ds=a%2Fb"])).with_partition_facts(
        "f1", ["ds=3"]
    ),
    "uniform": replace(PLAIN, exceptions=frozenset()),
    "partitions": COPIED.opened("w", [f"ds={number:06}" for number in range(3)]),
}


def seen(placed: Placement) -> dict[str, Any]:
    """What decisions depend on."""
    return {
        "primary": placed.primary,
        "write": placed.write,
        "facts": placed.facts,
        "fresh": sorted(placed.replicas().fresh),
        "stale": sorted(placed.replicas().stale),
        "open": [
            [m.id, m.since, m.by, None if m.partitions is None else sorted(m.partitions)]
            for m in placed.open
        ],
        "copies": [[copy.cluster, copy.location, copy.of] for copy in placed.copies],
    }


@pytest.mark.parametrize("case", RELEASED["written by 0.1.0"])
def test_facts_of_the_last_release_are_read_in_the_same_way(case: str) -> None:
    found = RELEASED["written by 0.1.0"][case]
    assert seen(read_placement(found["parameters"], HOME)) == found["read"]


@pytest.mark.parametrize("case", RELEASED["written now, read by 0.1.0"])
def test_the_last_release_reads_the_facts_of_now(case: str) -> None:
    found = RELEASED["written now, read by 0.1.0"][case]
    assert write_placement(NOW[case]) == found["parameters"]
    assert seen(NOW[case]) == found["read"]
