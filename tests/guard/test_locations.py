"""The guard finds the clusters of a location as conf.locations does, in shared and random cases."""

import json
import os
import random
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from conf.locations import clusters_of
from conf.names import ClusterName
from tests.guard.java_cases import command

CASES = json.loads((Path(__file__).parents[1] / "conf" / "location_cases.json").read_text())


SEED = int(os.environ.get("CAUSEWAY_SEED", random.randrange(1 << 32)))
COUNT = 1_000
PIECES = [
    *("file:", "FILE:", "pfile:", "hdfs:", "webhdfs:", "viewfs:", "s3a:", "s3:", "abfss:", "x+y:"),
    *("/", "//", "///", "@", ":", ":8020", ":9820", ":", "?", " ", "é", "%", "%2e", "%2F", "%4"),
    *("one", "two", ".east", ".example", ".", "..", "c1", "c2", "c3", "w", "inside", "bucket"),
    *("localhost", "10.0.0.3", "nn", "[::1]", "acc.dfs", ".reserved/raw", "TWO.east.example"),
]


def random_locations() -> list[str]:
    """Random locations, made of pieces of usual ones."""
    numbers = random.Random(SEED)
    roots = [root for case in CASES for root in case["filesystems"].values()]
    return [
        numbers.choice(["", *roots]) + "".join(numbers.choices(PIECES, k=numbers.randrange(1, 9)))
        for _ in range(COUNT)
    ]


def all_cases() -> Iterator[tuple[dict[ClusterName, str], str]]:
    """Each location with the file systems of the clusters."""
    for case in CASES:
        for location in (*case["owners"], *random_locations()):
            yield case["filesystems"], location


def input_lines() -> Iterator[str]:
    """The lines of the program's input; `LocationCases.java` describes them."""
    before = None
    for filesystems, location in all_cases():
        if filesystems is not before:
            yield from ("--", *("\t".join(pair) for pair in filesystems.items()), "")
            before = filesystems
        yield f"={location}"


@pytest.mark.slow
def test_java_finds_the_same_clusters(jar: Path) -> None:
    print(f"CAUSEWAY_SEED={SEED}")
    argv = command(jar, "LocationCases")
    done = subprocess.run(
        argv,
        input="\n".join(input_lines()),
        capture_output=True,
        encoding="utf-8",
        timeout=120,
        check=True,
    )
    lines = done.stdout.splitlines()
    cases = list(all_cases())
    assert len(lines) == len(cases) > COUNT
    wrong = {
        location: (line, filesystems)
        for (filesystems, location), line in zip(cases, lines, strict=True)
        if line != ",".join(sorted(clusters_of(location, filesystems)))
    }
    assert not wrong
    assert len(set(lines)) > 5  # of all kinds
