"""The guard's canonical form of a location is the one of conf.locations: one table of cases."""

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from cli.stack.java import find_java
from cli.stack.stack import guard_jar, spark_home

PROGRAM = Path(__file__).parent / "java" / "LocationCases.java"
CASES = json.loads((Path(__file__).parents[1] / "conf" / "location_cases.json").read_text())


def questions() -> Iterator[str]:
    """The input of the program, which its comment describes."""
    for case in CASES:
        yield "--"
        yield from ("\t".join(pair) for pair in case["filesystems"].items())
        yield ""
        yield from (f"={location}" for location in case["owners"])


def test_java_finds_the_same_clusters() -> None:
    jar = guard_jar()
    if jar is None:
        pytest.skip("no guard: `make guard` builds it")
    argv = [str(find_java()), "-Xmx128m", "-XX:TieredStopAtLevel=1", "-cp"]
    argv += [os.pathsep.join((str(jar), f"{spark_home() / 'jars'}/*"))]
    argv += ["org.codehaus.janino.SimpleCompiler", str(PROGRAM), "LocationCases"]
    done = subprocess.run(
        argv, input="\n".join(questions()), capture_output=True, text=True, timeout=120, check=True
    )
    asked = [
        (case["title"], location, owners)
        for case in CASES
        for location, owners in case["owners"].items()
    ]
    lines = done.stdout.splitlines()
    assert len(lines) == len(asked) > 70
    wrong = {
        f"{title}: {location}": line
        for (title, location, owners), line in zip(asked, lines, strict=True)
        if line != ",".join(owners)
    }
    assert not wrong
