"""Servers are killed by SIGKILL at any moment; other servers do their work, once."""

import random
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

from pipeline.scheduler.instances.states import InstanceState
from pipeline.scheduler.store.store import Store
from tests.pipeline.scheduler.fake_actions import FEED_KEY, schedule, store_with_entities

ROOT = Path(__file__).parents[3]


def start(
    store: str, log: Path, seconds: float, lease: float, most: int
) -> "subprocess.Popen[bytes]":
    module = "tests.pipeline.scheduler.server_to_kill"
    command = [sys.executable, "-m", module, store, str(log), *map(str, (seconds, lease, most))]
    return subprocess.Popen(command, cwd=ROOT)


def has_begun(server: "subprocess.Popen[bytes]", log: Path) -> bool:
    """Waits until the server works; returns False if it ended first."""
    while server.poll() is None:
        if any(pid == str(server.pid) for _, _, pid in lines(log)):
            return True
        time.sleep(0.02)
    return False


def lines(log: Path) -> list[tuple[str, str, str]]:
    """The log's entries (word, instance, pid), in order of time."""
    text = log.read_text() if log.exists() else ""
    found = []
    for line in text.splitlines():
        word, _, rest = line.partition(" ")
        instance, _, pid = rest.rpartition(" ")
        found.append((word, instance, pid))
    return found


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 2])
def test_two_other_servers_do_the_work_of_killed_ones(tmp_path: Path, seed: int) -> None:
    """Eight works; a victim ends two at most, so that the next one always finds some to begin,
    when its forerunner's leases are over. The steady ones' leases outlast any stall.
    """
    chance = random.Random(seed)
    url, log = str(tmp_path / "l.db"), tmp_path / "log"
    schedule(store_with_entities(url), FEED_KEY)
    killed_at_work = 0
    for _ in range(3):
        victim = start(url, log, 0.3, lease=5.0, most=2)
        killed_at_work += has_begun(victim, log)
        time.sleep(chance.uniform(0, 0.4))
        victim.kill()
        victim.wait()
    assert killed_at_work == 3
    assert sum(word == "end" for word, _, _ in lines(log)) <= 6
    steady = start(url, log, 0.05, lease=60.0, most=8)
    last = start(url, log, 0.05, lease=60.0, most=8)
    assert last.wait(120) == 0
    assert steady.wait(120) == 0

    instances = Store(url).instances(FEED_KEY)
    assert {each.state for each in instances} == {InstanceState.SUCCEEDED}
    assert len(instances) == 6 + 6 + 2  # replications, watches, evictions
    ends = Counter(instance for word, instance, _ in lines(log) if word == "end")
    begun = Counter(instance for word, instance, _ in lines(log) if word == "begin")
    # Ended twice only where the report of a finished work died with its server.
    recovered = {str(each.key) for each in instances if each.recoveries}
    assert {instance for instance, count in ends.items() if count > 1} <= recovered
    assert {instance for instance, count in begun.items() if count > 1} <= recovered
    assert_never_at_once(lines(log), recovered)


def assert_never_at_once(entries: list[tuple[str, str, str]], recovered: set[str]) -> None:
    """Checks that no server begins an instance while another living server works on it."""
    at_work: dict[str, str] = {}
    for word, instance, pid in entries:
        if word == "begin":
            assert instance not in at_work or instance in recovered
            at_work[instance] = pid
        else:
            assert at_work.pop(instance, None) == pid, "a fenced server had an effect"
