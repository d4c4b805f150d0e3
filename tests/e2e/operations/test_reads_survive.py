"""Reads of a table with a fresh copy while the Thrift Servers of both clusters are killed in turn:
each read returns its rows once. A read whose client already has rows when the server dies may fail;
such reads are counted.

By hand, since it takes minutes: `make reads-survive` (CAUSEWAY_READS is the number of reads).
"""

import json
import os
import signal
import threading
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from datetime import datetime
from itertools import islice
from typing import Any

import pytest

from cli.stack.plan import StackSpec
from cli.stack.stack import Stack
from conf.names import ClusterName
from pipeline.spark.jar import guard_jar
from tests.e2e.conftest import C1, C2, Tables, rows
from tests.e2e.operations.proxy_site import Site, until

READS = int(os.environ.get("CAUSEWAY_READS", "0"))
pytestmark = [
    pytest.mark.e2e,
    pytest.mark.skipif(not READS, reason="make reads-survive"),
]
_TABLE = "default.survivors"
_CLIENTS = 4
_OF_A_SESSION = 10  # reads
_TIMES = 300_000  # that each row is read, so that a read takes a part of a second
_STEP = 0.2  # seconds
_LATE = "after it had rows"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    spec = StackSpec((C1, C2), guard=guard_jar())
    with ExitStack() as exits:
        stack = exits.enter_context(Stack(spec, tmp_path_factory.mktemp("mortal")))
        running = Site(stack, tmp_path_factory.mktemp("site"), exits, forwarded=False)
        running.configure(running.endpoints[:1], 'router.choice = "cost"')
        running.start()
        cursor = running.connect().cursor()
        rows(cursor, f"CREATE TABLE {_TABLE} USING parquet AS SELECT id FROM range(10)")
        Tables(stack).copy(_TABLE, C2)
        yield running


@pytest.mark.timeout(7_200)
def test_no_read_fails_and_no_row_comes_twice(site: Site) -> None:
    numbers, done = iter(range(READS)), threading.Event()
    counts = [0] * _CLIENTS
    with ThreadPoolExecutor(_CLIENTS + 1) as threads:
        killing = threads.submit(_kill, site, counts, done)
        reading = [threads.submit(_read, site, numbers, counts, each) for each in range(_CLIENTS)]
        problems = [problem for each in reading for problem in each.result()]
        done.set()
        kills = killing.result()
    late = [each for each in problems if _LATE in each]
    wrong = [each for each in problems if _LATE not in each]
    rules = Counter(json.loads(line).get("rule") for line in site.audit.read_text().splitlines())
    print(
        f"{READS} reads, {len(kills)} kills, {rules['lost']} reads ran in another cluster,"
        f" {len(late)} failed after their clients had rows, {len(wrong)} others"
    )
    print(*sorted([*problems, *kills]), sep="\n")
    assert not wrong
    assert kills
    assert rules["lost"]


def _read(site: Site, numbers: Iterator[int], counts: list[int], client: int) -> list[str]:
    """Reads until all are done, some in each session, and counts them. Returns the faults."""
    wrong: list[str] = []
    wanted = [(each, _TIMES) for each in range(10)]
    while some := list(islice(numbers, _OF_A_SESSION)):
        with closing(site.connect()) as connection:
            cursor = connection.cursor()
            for number in some:
                text = (
                    f"SELECT t.id, count(*) FROM {_TABLE} t, range({_TIMES}) r"
                    f" WHERE sqrt(r.id + {number}) >= 0 GROUP BY t.id"
                )
                found = list[Any]()
                try:
                    cursor.execute(text)
                    while row := cursor.fetchone():
                        found.append(row)
                except Exception as error:  # whatever a client may see
                    when = f"{_LATE}, " if found else ""
                    wrong.append(f"{_now()} client {client}, read {number}: {when}{error!r}")
                else:
                    if sorted(found) != wanted:
                        wrong.append(f"{_now()} client {client}, read {number}: {found}")
                counts[client] += 1
    return wrong


def _now() -> str:
    return f"{datetime.now():%H:%M:%S.%f}"


def _kill(site: Site, counts: list[int], done: threading.Event) -> list[str]:
    """Kills the servers in turn, and the next one when no read is left that may have met the last
    kill: a read goes on in another cluster once. What it did, and when."""
    kills, before = list[str](), [0] * _CLIENTS
    while not done.wait(_STEP):
        if any(now < then + 2 for now, then in zip(counts, before, strict=True)):
            continue
        cluster = (C1, C2)[len(kills) % 2]
        os.kill(site.stack.pid(cluster), signal.SIGKILL)
        began = _now()
        _await(site, cluster, up=False)
        down = _now()
        site.stack.restart(cluster)
        _await(site, cluster, up=True)
        kills.append(f"{began} {cluster} killed, down at {down}, up at {_now()}")
        before = list(counts)
    return kills


def _await(site: Site, cluster: ClusterName, *, up: bool) -> None:
    def is_so() -> bool:
        (shown,) = (each for each in site.get_admin("clusters") if each["name"] == cluster)
        return all(each["up"] is up for each in shown["endpoints"])

    until(is_so, patience=180.0)
