"""The guard selects the commits of a range as a pull does: named cases and random timelines."""

import json
import os
import random
import subprocess
from pathlib import Path
from typing import Any

from pipeline.hudi.table.timeline import parse_timeline
from tests.guard.java_cases import command

SEED = int(os.environ.get("CAUSEWAY_SEED", random.randrange(1 << 32)))
COUNT = 500
ACTIONS = ("commit", "deltacommit", "replacecommit", "clean", "rollback", "savepoint")

OLD = ["10.commit", "10.commit.requested", "10.inflight", "20.deltacommit", "30.replacecommit"]
NEW = ["10_12.commit", "20_45.deltacommit", "30_33.commit", "40.commit.requested", "_version_"]


def case(names: list[str], start: str, **more: Any) -> dict[str, Any]:
    commits, end = more.pop("commits", None), more.pop("end", None)
    return {
        "names": names, "by_completion": names is NEW, "archive": False, "copy": False,
        "range": {"start": start, "end": end, "commits": commits}, **more,
    }  # fmt: skip


CASES = [
    (case(OLD, "000"), "000 30 null"),
    (case(OLD, "000", commits=1), "000 10 null"),
    (case(OLD, "10", commits=1), "10 20 null"),
    (case(OLD, "10", end="29"), "10 20 null"),
    (case(OLD, "30"), "30 30 null"),
    (case(OLD, "11", end="15"), "11 11 null"),
    # Completion times: 12, 33, 45. The commit that was requested at 20 completed last.
    (case(NEW, "000", commits=2), "000 33 null"),
    (case(NEW, "12"), "12 45 null"),
    (case(NEW, "33"), "33 45 null"),
    # A request time: the commit itself and those requested before it were read.
    (case(NEW, "10", commits=1), "10 33 10"),
    (case(NEW, "20"), "20 33 20"),
    (case(NEW, "30"), "30 30 30"),
    # An archive matters where the range begins before the active timeline.
    (case(OLD, "10", archive=True, copy=True, commits=1), "10 20 null"),
    (case(OLD, "09", archive=True), "CW227"),
    (case(OLD, "05", archive=True, end="09"), "CW227"),
    (case([], "09", archive=True), "CW227"),
    (case(NEW, "11", archive=True), "CW227"),
    (case(NEW, "12", archive=True), "12 45 null"),
    # A commit with a savepoint stays when later ones are archived.
    (case([*OLD, "10.savepoint"], "10", archive=True), "CW227"),
    (case([*OLD, "10.savepoint"], "20", archive=True, commits=1), "20 30 null"),
    (case([], "000"), "000 000 null"),
]


def random_case(numbers: random.Random) -> tuple[dict[str, Any], str]:
    """A random timeline of either layout and a range, and the result by the timeline of pulls."""
    by_completion = numbers.random() < 0.5
    instants = numbers.sample(range(100, 1000), 16)
    names = []
    for requested, other in zip(instants[:8], instants[8:], strict=True):
        action, state = numbers.choice(ACTIONS), numbers.choice(("", "", ".inflight"))
        done = f"_{requested + other}" if by_completion and not state else ""
        names.append(f"{requested}{done}.{action}{state}")
    timeline = parse_timeline(names, 2 if by_completion else 1)
    keys = [timeline.key(each) for each in timeline.commits]
    start = numbers.choice(["000", *keys, *map(str, instants)])
    end = numbers.choice([None, *keys])
    most = numbers.choice([None, 1, 2, 5])
    requests = {each.requested for each in timeline.commits}
    seen = start if by_completion and start in requests else ""
    selected = [
        key
        for key, commit in zip(keys, timeline.commits, strict=True)
        if start < key and (end is None or key <= end) and commit.requested > seen
    ][:most]
    inputs = case(names, start, end=end, commits=most, by_completion=by_completion)
    return inputs, f"{start} {selected[-1] if selected else start} {seen or 'null'}"


def test_java_selects_the_commits_of_a_pull(jar: Path) -> None:
    print(f"CAUSEWAY_SEED={SEED}")
    numbers = random.Random(SEED)
    cases = CASES + [random_case(numbers) for _ in range(COUNT)]
    argv = command(jar, "RangeCases")
    lines = "\n".join(json.dumps(each) for each, _ in cases)
    done = subprocess.run(
        argv, input=lines, capture_output=True, encoding="utf-8", timeout=120, check=True
    )
    found = done.stdout.splitlines()
    assert len(found) == len(cases)
    wrong = [
        (inputs, expected, line)
        for (inputs, expected), line in zip(cases, found, strict=True)
        if line != expected and not (expected == "CW227" and expected in line)
    ]
    assert not wrong
