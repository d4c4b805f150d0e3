"""The limit of the memory for packed results: a result that does not fit is refused."""

import subprocess
from pathlib import Path

from tests.guard.java_cases import command


def test_a_result_that_does_not_fit_is_refused_and_a_closed_one_makes_room(jar: Path) -> None:
    argv = command(jar, "ResultMemoryCases")
    done = subprocess.run(argv, capture_output=True, text=True, timeout=60, check=True)
    outcomes = [line.partition(": ")[::2] for line in done.stdout.splitlines()]
    assert [(step, outcome.partition("] ")[0]) for step, outcome in outcomes] == [
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
