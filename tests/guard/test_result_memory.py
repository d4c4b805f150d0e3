"""Results that are collected or wait for their clients take no more memory than they may."""

import os
import subprocess
from pathlib import Path

from cli.stack.java import find_java
from cli.stack.stack import spark_home

PROGRAM = Path(__file__).parent / "java" / "ResultMemoryCases.java"


def test_a_result_that_does_not_fit_is_refused_and_a_closed_one_makes_room(jar: Path) -> None:
    argv = [str(find_java()), "-Xmx128m", "-XX:TieredStopAtLevel=1", "-cp"]
    argv += [os.pathsep.join((str(jar), f"{spark_home() / 'jars'}/*"))]
    argv += ["org.codehaus.janino.SimpleCompiler", str(PROGRAM), "ResultMemoryCases"]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=60, check=True)
    outcomes = [line.partition(": ")[::2] for line in done.stdout.splitlines()]
    assert [(what, outcome.partition("] ")[0]) for what, outcome in outcomes] == [
        ("one packs", "ok"),
        ("two packs beside it", "[CW366"),
        ("a small one packs", "ok"),
        ("a small one grows", "[CW366"),
        ("three packs when one is collected", "ok"),
        ("three packs when it is closed", "[CW366"),
        ("two packs when three is closed", "ok"),
        ("the last one packs when all are closed", "ok"),
        ("found by its name", "true"),
        ("found when it is closed", "false"),
    ]
    assert "more than the 100 MB" in outcomes[1][1]
