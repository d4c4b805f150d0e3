"""Measures the processor time of the proxy for one statement, and the calls that it makes.

    python -m bench.statements.processor [--blocks 25] [--questions point ..]

`causeway serve` runs with one worker, `causeway metastore serve` with the views of two clusters,
before a Thrift Server and a metastore of a few lines: no JVM. A statement is executed
synchronously, its schema is asked for, its rows are fetched and it is closed. The kernel counts the
time of all threads of a process. A busy machine makes it longer, too: `least` is that of the block
of statements that was disturbed least.
"""

import argparse
import asyncio
import json
import multiprocessing
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from statistics import median

from bench.proxy import RawClient, read_and_close
from bench.support.dashboard import DATABASE, DAYS, LITERAL, QUESTIONS, Question
from bench.support.embedded import NO_SETTINGS
from cli.stack.stack import free_ports
from conf.names import ClusterName, TableRef
from conf.topology import Endpoint
from metastore.client.types import Columns, Table
from proxy.protocol.cluster_calls import RemoteSession
from tests.metastore.fake import FakeMetastore
from tests.proxy.fake_cluster import FakeCluster

EAST, WEST = ClusterName("east"), ClusterName("west")
WARM, BLOCK = 200, 40  # statements
PAUSE = 0.01  # seconds after each: a cluster works for some while, too
_FOLDER = "file:/tmp/dashboard"


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m bench.statements.processor", description=__doc__
    )
    parser.add_argument("--blocks", type=int, default=25, help="of each kind (%(default)s)")
    parser.add_argument("--questions", nargs="+", help="beginnings of their names")
    args = parser.parse_args()
    chosen = [
        each
        for each in QUESTIONS
        if not args.questions or each.name.startswith(tuple(args.questions))
    ]
    with site() as there:
        for line in measure(there, chosen, args.blocks):
            print(line, flush=True)


@dataclass(frozen=True, slots=True)
class Site:
    """The proxy at `proxy`, whose process is `pid`; the views' process is `views`."""

    proxy: Endpoint
    pid: int
    views: int
    cluster: Connection

    def calls(self) -> Counter[str]:
        """The calls that the cluster received."""
        self.cluster.send(None)
        found: Counter[str] = self.cluster.recv()
        return found


@dataclass(frozen=True, slots=True)
class Used:
    """What a process used: seconds of processor time, and how often a thread of it waited."""

    seconds: float
    waits: int

    @classmethod
    def by(cls, pid: int) -> "Used":
        seconds, waits = 0.0, 0
        for thread in Path(f"/proc/{pid}/task").iterdir():
            seconds += int((thread / "schedstat").read_text().split()[0]) / 1e9
            waits += _waits((thread / "status").read_text())
        return cls(seconds, waits)


def _waits(status: str) -> int:
    lines = dict(line.split(":", 1) for line in status.splitlines())
    return int(lines["voluntary_ctxt_switches"])


def measure(there: Site, questions: Sequence[Question], blocks: int) -> Iterator[str]:
    """A line for each question: medians of blocks, for one statement."""
    heads = f"{'proxy ms':>9}{'least':>7}{'waits':>7}{'views ms':>9}"
    yield f"{'a statement':26}{heads}  calls to the cluster"
    with RawClient(there.proxy) as client:
        session = client.open()
        ask(client, session, LITERAL, WARM)
        for question in questions:
            ask(client, session, question, WARM)
            calls = there.calls()
            proxy, views, waits = [], [], []
            for number in range(blocks):
                before = Used.by(there.pid), Used.by(there.views)
                ask(client, session, question, BLOCK, WARM + number * BLOCK)
                after = Used.by(there.pid), Used.by(there.views)
                proxy.append((after[0].seconds - before[0].seconds) * 1e3 / BLOCK)
                views.append((after[1].seconds - before[1].seconds) * 1e3 / BLOCK)
                waits.append((after[0].waits - before[0].waits) / BLOCK)
            times = f"{median(proxy):9.3f}{min(proxy):7.3f}{median(waits):7.2f}{median(views):9.3f}"
            made = there.calls() - calls
            asked = ", ".join(f"{name} {n / blocks / BLOCK:.2g}" for name, n in made.items())
            yield f"{question.name:26}{times}  {asked}"


def ask(
    client: RawClient, session: RemoteSession, question: Question, count: int, first: int = 0
) -> None:
    for number in range(first, first + count):
        read_and_close(client, client.execute(session, question.text(number)))
        time.sleep(PAUSE)


@contextmanager
def site() -> Iterator[Site]:
    """Everything that runs, for as long as it is measured."""
    with (
        fake_cluster_process() as (cluster, calls),
        fake_metastore() as metastore,
        tempfile.TemporaryDirectory() as folder,
    ):
        conf = Path(folder, "causeway.toml")
        listen, *view_ports = free_ports(3)
        conf.write_text(settings_of(listen, cluster, metastore, view_ports))
        with (
            started(conf, "metastore", "serve", lines=2) as views,
            started(conf, "serve") as proxy,
        ):
            yield Site(listen, proxy, views, calls)


def settings_of(
    listen: Endpoint,
    cluster: Endpoint,
    metastore: Endpoint,
    views: Sequence[Endpoint],
    *,
    more: Mapping[str, object] = NO_SETTINGS,
    servers: Sequence[Endpoint] = (),
) -> str:
    """The settings file; `more` are settings that are added or replaced, `servers` the cluster's
    other Thrift Servers."""
    clusters = {
        name: {
            "FileSystem": f"{_FOLDER}/{name}",
            "JobTracker": ",".join(map(str, (cluster, *servers))),
            "MetastoreView": str(view),
        }
        for name, view in zip((EAST, WEST), views, strict=True)
    }
    settings: dict[str, object] = {
        "hive.metastore.uris": f"thrift://{metastore}",
        "hive.default.cluster.name": EAST,
        "hive.server2.thrift.bind.host": listen.host,
        "hive.server2.thrift.port": listen.port,
        "snapshot.writers": "views",
        "proxy.workers": 1,
        "hive.cluster.properties": json.dumps(clusters),
        **more,
    }
    return "".join(f"{key} = {json.dumps(value)}\n" for key, value in settings.items())


@contextmanager
def started(
    conf: Path, *command: str, lines: int = 1, program: Sequence[str] = ("-m", "cli.main")
) -> Iterator[int]:
    """The process id of a `causeway` command, once it listens."""
    argv = [sys.executable, *program, *command, "--conf", str(conf)]
    process = subprocess.Popen(argv, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        for _ in range(lines):
            assert process.stdout.readline(), f"causeway {command} ended"
        yield process.pid
    finally:
        process.terminate()
        process.wait()
        process.stdout.close()


@contextmanager
def fake_metastore() -> Iterator[Endpoint]:
    fake = FakeMetastore()
    fake.databases.add(DATABASE)
    text = "string"
    fake.add(_table("shops", [("shop", "int"), ("name", text), ("city", text)]))
    fake.add(_table("products", [("product", "int"), ("title", text), ("kind", text)]))
    sales = [("id", "bigint"), ("shop", "int"), ("product", "int"), ("amount", "double")]
    days: list[tuple[str, dict[str, str]]] = [
        (f"day=2026-01-{day:02}", {}) for day in range(1, DAYS + 1)
    ]
    fake.add(_table("sales", sales, [("day", text)]), *days)
    try:
        yield fake.endpoint
    finally:
        fake.stop()


def _table(name: str, columns: Columns, keys: Columns = ()) -> Table:
    location = f"{_FOLDER}/{EAST}/{name}"
    return Table.make(TableRef(DATABASE, name), columns, location=location, partition_keys=keys)


@contextmanager
def fake_cluster_process() -> Iterator[tuple[Endpoint, Connection]]:
    """A Thrift Server in a process of its own; the connection answers with its calls' counts."""
    spawn = multiprocessing.get_context("spawn")
    ours, its = spawn.Pipe()
    process = spawn.Process(target=serve_cluster, args=(its,))
    process.start()
    try:
        yield ours.recv(), ours
    finally:
        process.terminate()
        process.join()


def serve_cluster(connection: Connection) -> None:
    """Serves until the process is ended."""
    asyncio.run(_serve_cluster(connection))


async def _serve_cluster(connection: Connection) -> None:
    cluster = FakeCluster(EAST)
    cluster.checks = True
    await cluster.start()
    connection.send(cluster.endpoint)
    while True:
        await asyncio.to_thread(connection.recv)
        connection.send(Counter(call for _, call, _ in cluster.log))


if __name__ == "__main__":
    main()
