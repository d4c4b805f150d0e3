"""Compares many clients at once through Causeway, through HAProxy and directly, in one run.

    python -m bench.crowd [--idle 2000] [--opening 200]

The kernel counts the cost of the proxy's processes: processor time, memory and threads.
"""

import argparse
import os
import resource
import statistics
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from bench.proxy import BATCH, ROWS, WIDE, RawClient, fetch, haproxy
from bench.support.embedded import EAST, embedded
from conf.topology import Endpoint
from proxy.protocol.cluster_calls import RemoteOperation, close_session_call, operation_call
from proxy.protocol.types import Orientation

READERS = 8
_TICKS = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True, slots=True)
class Way:
    """One way to the same Thrift Server; `pid` is the process in between, or Spark's own."""

    name: str
    endpoint: Endpoint
    pid: int | None


def family(pid: int) -> list[int]:
    """The process and its descendants."""
    parents = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            parents[int(folder.name)] = int(_stat(int(folder.name))[1])
        except OSError:
            continue
    found = [pid]
    for each in found:
        found += [child for child, parent in parents.items() if parent == each]
    return found


def cpu_seconds(pid: int) -> float:
    """The processor time of the process and its descendants."""
    return sum(sum(map(int, _stat(each)[11:13])) for each in family(pid)) / _TICKS


def memory(pid: int) -> tuple[int, int]:
    """The bytes and threads of the process and its descendants; shared memory is counted once."""
    size = threads = 0
    for each in family(pid):
        size += _kilobytes(each, "smaps_rollup", "Pss:") * 1024
        threads += _kilobytes(each, "status", "Threads:")
    return size, threads


def _stat(pid: int) -> list[str]:
    """The fields of /proc/PID/stat from the state on."""
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()


def _kilobytes(pid: int, file: str, label: str) -> int:
    for line in Path(f"/proc/{pid}/{file}").read_text().splitlines():
        if line.startswith(label):
            return int(line.split()[1])
    raise ValueError(f"{file} has no {label}")


def reading(way: Way, readers: int, rows: int) -> tuple[float, float]:
    """The seconds in which `readers` clients at once fetch `rows` each, and the way's CPU time."""
    with ExitStack() as exits:
        clients = [exits.enter_context(RawClient(way.endpoint)) for _ in range(readers)]
        wide = WIDE.replace(str(ROWS), str(rows))
        work = [(client, client.execute(client.open(), wide)) for client in clients]
        with ThreadPoolExecutor(readers) as pool:
            began, used = time.perf_counter(), cpu_seconds(way.pid) if way.pid else 0.0
            list(pool.map(lambda each: _read_all(each[0], each[1], rows), work))
            taken = time.perf_counter() - began
            used = (cpu_seconds(way.pid) if way.pid else 0.0) - used
        for client, operation in work:
            client.result("CloseOperation", operation_call("CloseOperation", operation))
        return taken, used


def _read_all(client: RawClient, operation: RemoteOperation, rows: int) -> None:
    for batch in range(rows // BATCH):
        orientation = Orientation.FIRST if batch == 0 else Orientation.NEXT
        client.call(fetch(operation, orientation, BATCH))


def fetching(ways: list[Way], rounds: int) -> Iterator[str]:
    for title, readers, rows in (
        (f"fetch {ROWS:,} x 4 rows", 1, ROWS),
        (f"{READERS} clients fetching {ROWS // 4:,} rows each", READERS, ROWS // 4),
    ):
        times: dict[str, list[float]] = {way.name: [] for way in ways}
        used: dict[str, list[float]] = {way.name: [] for way in ways}
        for number in range(rounds + 1):
            for way in ways if number % 2 else reversed(ways):
                taken, cpu = reading(way, readers, rows)
                if number:
                    times[way.name].append(taken)
                    used[way.name].append(cpu)
        for way in ways:
            million = statistics.median(used[way.name]) / (readers * rows / 1_000_000)
            cost = f"{million:.2f} s of CPU a million rows" if way.pid else ""
            middle = statistics.median(times[way.name])
            ratio = _ratio(times[way.name], times[ways[0].name])
            yield f"{title:40} {way.name:9} {middle:7.2f} s {ratio:6.2f} x  {cost}"
        if len(ways) > 2:
            rows_a_second = _ratio(times[ways[1].name], times[ways[-1].name])
            yield f"{'':40} {ways[-1].name}'s rows a second: {rows_a_second:.2f} x {ways[1].name}'s"


def _ratio(times: list[float], base: list[float]) -> float:
    """The median of the ratios of each round."""
    return statistics.median(mine / its for mine, its in zip(times, base, strict=True))


def idle(way: Way, count: int) -> Iterator[str]:
    """The cost of idle sessions."""
    assert way.pid is not None
    before, threads = memory(way.pid)
    with ExitStack() as exits:
        for number in range(count):  # of several users, each of whom may have a thousand
            exits.enter_context(RawClient(way.endpoint, f"bench{number % 10}")).open()
        after, then = memory(way.pid)
    each = (after - before) / count / 1000
    yield f"{count:,} idle sessions: {each:.1f} kB each, {then - threads} more threads"


def opening(way: Way, count: int) -> tuple[list[float], int]:
    """The seconds in which each of `count` clients at once opens a session, runs SELECT 1, reads
    the row and closes; and the number of failures."""
    together = threading.Barrier(count)

    def one(_: int) -> float | None:
        together.wait()
        began = time.perf_counter()
        try:
            with RawClient(way.endpoint) as client:
                session = client.open()
                operation = client.execute(session, "SELECT 1")
                client.result("FetchResults", fetch(operation, Orientation.NEXT, 10))
                client.result("CloseSession", close_session_call(session))
        except (OSError, RuntimeError):
            return None
        return time.perf_counter() - began

    with ThreadPoolExecutor(count) as pool:
        times = list(pool.map(one, range(count)))
    good = sorted(each for each in times if each is not None)
    return good, count - len(good)


def crowds(ways: list[Way], count: int, rounds: int) -> Iterator[str]:
    p99: dict[str, list[float]] = {way.name: [] for way in ways}
    failed = dict.fromkeys(p99, 0)
    for number in range(rounds + 1):
        for way in ways if number % 2 else reversed(ways):
            times, failures = opening(way, count)
            failed[way.name] += failures
            if number and times:
                p99[way.name].append(times[int(len(times) * 0.99)])
    for way in ways:
        ratio = _ratio(p99[way.name], p99[ways[0].name])
        middle = statistics.median(p99[way.name])
        what = f"{count} sessions at once: p99"
        yield f"{what:40} {way.name:9} {middle:7.2f} s {ratio:6.2f} x  {failed[way.name]} failed"


def run(direct: Endpoint, proxy: Endpoint, pid: int, idle_count: int, opening_count: int) -> None:
    """Prints the lines."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, max(soft, 3 * idle_count)), hard))
    with ExitStack() as exits:
        between = exits.enter_context(haproxy(direct))
        ways = [Way("direct", direct, None)]
        if between is not None:
            ways.append(Way("HAProxy", between[0], between[1]))
        ways.append(Way("Causeway", proxy, pid))
        for lines in (
            fetching(ways, 12),
            crowds([ways[0], ways[-1]], opening_count, 3),
            idle(ways[-1], idle_count),
        ):
            for line in lines:
                print(line, flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.crowd", description=__doc__)
    parser.add_argument("--idle", type=int, default=2000, help="sessions (%(default)s)")
    parser.add_argument("--opening", type=int, default=200, help="sessions (%(default)s)")
    args = parser.parse_args()
    with embedded(EAST) as (stack, listen):
        run(stack.ports.hs2[EAST], listen, stack.pid("proxy"), args.idle, args.opening)


if __name__ == "__main__":
    main()
