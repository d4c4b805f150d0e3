"""Runs mixed work, and checks that memory, files, sessions and operations do not grow.

    python -m bench.soak [--minutes 30] [--clients 12] [--rest 1.0]

It starts an embedded stack with two clusters. The clients use both transports, with passwords
(`bench.support.soak_clients` has their work). The run has four steps:

1. Each kind of work runs once, so that all objects exist that are created only once.
2. All clients disconnect. The remaining objects are counted, in Causeway's processes and in the
   Thrift Servers' heaps.
3. The clients work for the given time.
4. They disconnect again, and the remaining objects are counted again.

Exits with 1 if a call failed unexpectedly, if more objects remain, or if memory grew.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from bench.crowd import cpu_seconds, family, memory
from bench.support.embedded import EAST, WEST
from bench.support.soak_clients import PASSWORD, USERS, CallCounts, Listeners, prepare, work
from cli.server.admin import call
from cli.stack.java import find_java
from cli.stack.plan import VIEW, StackSpec
from cli.stack.stack import Stack, free_ports
from conf.settings.load import load
from conf.settings.operating import Operating
from proxy.auth.passwords.password_file import password_line

_GROWTH = 0.05  # of the memory, by the line through its last two thirds
_SETTLING = 90.0  # seconds until sessions that no client closed have to be gone
_LINGERING = 80.0  # seconds more, for connections to clusters that are kept for a while
# Connections kept between workers (16 each way, with two ends) are there as they were needed.
_POOLED = 32
_STEP = 5.0  # seconds between two looks
_FIRST = 0.1  # of the time, before it: what is made once is made then
_SETTINGS = """
hive.server2.transport.mode = "all"
"hive.server2.authentication" = "FILE"
hive.server2.idle.session.timeout = "30s"
hive.server2.session.check.interval = "10s"
"""
_OTHERS = (
    "hive.server2.thrift.port",
    "proxy.admin.",
)  # settings of the stack that _SETTINGS replaces
# Whatever a Thrift Server keeps for a session or an operation hangs on one of these.
_SESSION = "org.apache.hive.service.cli.session.HiveSessionImpl"
_OPERATION = "org.apache.spark.sql.hive.thriftserver.Spark"


@dataclass(frozen=True, slots=True)
class Left:
    """The objects that remain without clients. `files` counts open files and sockets by process;
    `connections` has the targets of Causeway's; `cluster_` are live objects in the Thrift Servers.
    """

    sessions: int
    statements: int
    files: dict[str, int]
    connections: dict[str, dict[str, int]]
    cluster_sessions: dict[str, int]
    cluster_operations: dict[str, int]


class Server:
    """Our own proxy before the stack's clusters, and where all that is measured is found."""

    def __init__(self, stack: Stack, pid: int, listeners: Listeners, operating: Operating) -> None:
        self.listeners = listeners
        self.pid = pid
        self._operating = operating
        self._clusters = {name: stack.pid(name) for name in stack.spec.clusters}
        self._view = stack.pid(VIEW)
        ports = stack.ports
        self._names = {ports.metastore.port: "metastore"}
        self._names |= {each.port: f"view of {name}" for name, each in ports.views.items()}
        self._names |= {each.port: name for name, each in ports.hs2.items()}

    def left(self) -> Left:
        """Waits until all should be gone."""
        deadline = time.monotonic() + _SETTLING
        while self._listed("sessions") and time.monotonic() < deadline:
            time.sleep(1.0)
        time.sleep(_LINGERING)
        objects = {name: _objects(pid) for name, pid in self._clusters.items()}
        processes = {"proxy": family(self.pid), "view": family(self._view)}
        processes |= {name: [pid] for name, pid in self._clusters.items()}
        return Left(
            len(self._listed("sessions")),
            len(self._listed("statements")),
            {name: sum(map(_files, pids)) for name, pids in processes.items()},
            {name: self._connections(processes[name]) for name in ("proxy", "view")},
            {name: each.get(_SESSION, 0) for name, each in objects.items()},
            {name: _operations(each) for name, each in objects.items()},
        )

    def _connections(self, pids: list[int]) -> dict[str, int]:
        """By the service at their other end."""
        sockets = {name for pid in pids for name in _opened(pid)}
        lines = Path("/proc/net/tcp").read_text().splitlines()[1:]
        rows = [line.split() for line in lines]
        ports = [int(row[2].rpartition(":")[2], 16) for row in rows if _socket(row[9]) in sockets]
        return dict(Counter(self._names.get(port, "others") for port in ports))

    def _listed(self, what: str) -> list[object]:
        listed: list[object] = call(self._operating, "GET", f"/v1/{what}")
        return listed


def _operations(objects: dict[str, int]) -> int:
    return sum(
        count
        for kind, count in objects.items()
        if kind.startswith(_OPERATION) and kind.endswith("Operation")
    )


def _objects(pid: int) -> dict[str, int]:
    """A JVM's live objects by class."""
    words = [str(find_java().with_name("jcmd")), str(pid), "GC.class_histogram"]
    histogram = subprocess.run(words, check=True, capture_output=True, text=True).stdout
    rows = [line.split() for line in histogram.splitlines()]
    return {row[3]: int(row[1]) for row in rows if len(row) >= 4 and row[0].endswith(":")}


def _opened(pid: int) -> list[str]:
    """What the kernel calls the files that a process has open."""
    found = []
    for entry in Path(f"/proc/{pid}/fd").iterdir():
        with suppress(OSError):
            found.append(str(entry.readlink()))
    return found


def _socket(inode: str) -> str:
    return f"socket:[{inode}]"


def _files(pid: int) -> int:
    return len(_opened(pid))


@contextmanager
def serving(stack: Stack) -> Iterator[Server]:
    """Runs a proxy with passwords and all listeners."""
    folder, (binary, web, admin) = stack.layout.root, free_ports(3)
    passwords, settings, errors = (folder / f"soak.{kind}" for kind in ("users", "toml", "log"))
    passwords.touch(mode=0o600)
    passwords.write_text("".join(password_line(user, PASSWORD) + "\n" for user in USERS))
    theirs = stack.layout.settings.read_text().splitlines()
    ours = (
        f"hive.server2.thrift.port = {binary.port}\n"
        f"hive.server2.thrift.http.port = {web.port}\n"
        f"proxy.admin.port = {admin.port}\n"
        f'proxy.admin.token.file = "{stack.layout.admin_token}"\n'
        f'proxy.password.file = "{passwords}"\n'
    )
    kept = [line for line in theirs if not line.startswith(_OTHERS)]
    settings.write_text(_SETTINGS + ours + "\n".join(kept))
    words = [sys.executable, "-m", "cli.main", "serve", "--conf", str(settings)]
    with (
        errors.open("w") as log,
        subprocess.Popen(words, stdout=subprocess.PIPE, stderr=log, text=True) as process,
    ):
        try:
            assert process.stdout is not None
            if not all(process.stdout.readline().startswith("listening ") for _ in range(2)):
                raise RuntimeError(errors.read_text())
            yield Server(stack, process.pid, Listeners(binary, web), load(settings).operating)
        finally:
            process.terminate()


def busy(
    server: Server, seconds: float, clients: int, rest: float, counts: CallCounts
) -> list[tuple[float, int]]:
    """The clients' work for so long; meanwhile the memory, as (seconds since the start, bytes)."""
    began = time.monotonic()
    until = began + seconds
    threads = [
        threading.Thread(target=work, args=(server.listeners, number, until, rest, counts))
        for number in range(clients)
    ]
    for thread in threads:
        thread.start()
    seen: list[tuple[float, int]] = []
    while any(thread.is_alive() for thread in threads):
        time.sleep(_STEP)
        seen.append((time.monotonic() - began, memory(server.pid)[0]))
        if len(seen) % 12 == 0:
            files = sum(map(_files, family(server.pid)))
            print(
                f"{seen[-1][0] / 60:5.1f} min  {seen[-1][1] / 1e6:6.1f} MB  {files:4} files"
                f"  {counts.done.total():7,} deeds  {len(counts.failures)} failures",
                flush=True,
            )
    return seen


def growth(seen: list[tuple[float, int]]) -> tuple[float, float]:
    """By the line through the last two thirds: bytes an hour, and the part of what was there at
    their beginning by which it is more at their end.

    Of each thirtieth the least counts: the check of a password takes 32 MB for a moment.
    """
    step = max(1, len(seen) // 30)
    least = [
        min(seen[at : at + step], key=lambda each: each[1]) for at in range(0, len(seen), step)
    ]
    times, sizes = zip(*least[len(least) // 3 :], strict=True)
    slope, start = statistics.linear_regression(times, sizes)
    first = start + slope * times[0]
    return slope * 3600, slope * (times[-1] - times[0]) / first


def faults(before: Left, after: Left, grown: float, counts: CallCounts) -> list[str]:
    """Sentences about the faults that were found."""
    found = [f"{len(counts.failures)} deeds failed"] if counts.failures else []
    if grown > _GROWTH:
        found.append(f"the memory grew by {grown:.1%}")
    if after.sessions or after.statements:
        found.append("sessions or statements are left in the proxy")
    for name in after.cluster_sessions:
        more = after.cluster_operations[name] > before.cluster_operations[name]
        if after.cluster_sessions[name] or more:
            found.append(f"sessions or operations are left in {name}")
    for name in ("proxy", "view"):
        if after.files[name] > before.files[name] + _POOLED:
            found.append(f"files are left open in the {name}")
    return found


def run(server: Server, minutes: float, clients: int, rest: float) -> int:
    prepare(server.listeners, clients)
    counts = CallCounts()
    busy(server, minutes * 60 * _FIRST, clients, rest, counts)
    before = server.left()
    print(json.dumps({"before": asdict(before)}), flush=True)
    used = cpu_seconds(server.pid)
    seen = busy(server, minutes * 60, clients, rest, counts)
    used = cpu_seconds(server.pid) - used
    after = server.left()
    slope, grown = growth(seen)
    report = {
        "deeds": dict(counts.done.most_common()),
        "failures": counts.failures[:20],
        "memory": {"MB": seen[-1][1] / 1e6, "MB an hour": slope / 1e6, "grown": grown},
        "processor seconds": used,
        "before": asdict(before),
        "after": asdict(after),
    }
    print(json.dumps(report, indent=2))
    wrong = faults(before, after, grown, counts)
    print("verdict: " + ("; ".join(wrong) if wrong else "nothing failed, grew or is left"))
    return 1 if wrong else 0


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.soak", description=__doc__)
    parser.add_argument("--minutes", type=float, default=30.0, help="(%(default)s)")
    parser.add_argument("--clients", type=int, default=12, help="at once (%(default)s)")
    parser.add_argument(
        "--rest", type=float, default=1.0, help="seconds between two deeds (%(default)s)"
    )
    args = parser.parse_args()
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f} before the start", flush=True)
    with (
        tempfile.TemporaryDirectory() as folder,
        Stack(StackSpec((EAST, WEST)), Path(folder)) as stack,
        serving(stack) as server,
    ):
        return run(server, args.minutes, args.clients, args.rest)


if __name__ == "__main__":
    raise SystemExit(main())
