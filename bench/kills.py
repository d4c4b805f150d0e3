"""Measures how long clients wait after a part is killed, and how long it takes to recover.

    python -m bench.kills [--rounds 5] [--sessions 8]

Two proxies with two workers each use one cluster of two Thrift Servers, and two metastores. Thrift
Servers and metastores are small fakes in processes of their own. Sessions of both proxies run point
selects without a pause. Then a part gets SIGKILL. The line of each part has the largest figures of
all rounds: the time between the ends of two statements of a session that survived; the number of
sessions that ended; the time until their clients had run a statement in a new session; and the time
until the part was back, for a proxy from its new start.
"""

import argparse
import multiprocessing
import os
import signal
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from bench.crowd import family
from bench.proxy import RawClient, read_and_close
from bench.statements.processor import fake_metastore, serve_cluster, settings_of, started
from bench.support.dashboard import POINT
from cli.stack.stack import free_ports
from conf.topology import Endpoint

BEFORE, AFTER = 1.0, 15.0  # seconds that are measured around a kill
_SPAWN = multiprocessing.get_context("spawn")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.kills", description=__doc__)
    parser.add_argument("--rounds", type=int, default=5, help="(%(default)s)")
    parser.add_argument("--sessions", type=int, default=8, help="of each proxy (%(default)s)")
    args = parser.parse_args()
    print(f"{'killed':28}{'others wait':>12}{'ended':>7}{'again after':>12}{'part is back':>13}")
    for name, kill in PARTS:
        rounds = [one_round(kill, args.sessions) for _ in range(args.rounds)]
        wait = max(each.longest for each in rounds)
        ended = max(each.ended for each in rounds)
        again = max(each.again for each in rounds)
        back = max(each.back for each in rounds)
        print(f"{name:28}{wait:10.2f} s{ended:7}{again:10.2f} s{back:11.2f} s", flush=True)


@dataclass(frozen=True, slots=True)
class Process:
    """A process that can be killed, with its children; `port` is where it listens."""

    pid: int
    port: Endpoint

    def kill(self) -> None:
        for each in reversed(family(self.pid)):
            with suppress(ProcessLookupError):
                os.kill(each, signal.SIGKILL)


@dataclass(frozen=True, slots=True)
class Site:
    """All processes. `start` starts a proxy with the settings of the first one."""

    proxies: Sequence[Process]
    servers: Sequence[Process]
    metastores: Sequence[Process]
    start: Callable[[], Process]


@dataclass(slots=True)
class Session:
    """A client that runs statements in a session, and opens a new one after the session's end."""

    endpoint: Endpoint
    ends: list[float] = field(default_factory=list)  # of statements that succeeded
    failed: list[float] = field(default_factory=list)

    def run(self, until: threading.Event) -> None:
        number = iter(range(1 << 40))
        while not until.is_set():
            try:
                with RawClient(self.endpoint, patience=60.0) as client:
                    session = client.open()
                    while not until.is_set():
                        read_and_close(client, client.execute(session, POINT.text(next(number))))
                        self.ends.append(time.monotonic())
            except Exception:  # whatever a client may meet
                self.failed.append(time.monotonic())
                time.sleep(0.01)


@dataclass(frozen=True, slots=True)
class Found:
    """Times in seconds: the longest wait of sessions that survived; the time until clients of the
    `ended` sessions ran a statement in a new one; and the time until the part was back."""

    longest: float
    ended: int
    again: float
    back: float


def one_round(kill: Callable[[Site], float], sessions: int) -> Found:
    with site() as there:
        clients = [Session(each.port) for each in there.proxies for _ in range(sessions)]
        stop = threading.Event()
        threads = [threading.Thread(target=each.run, args=(stop,)) for each in clients]
        for thread in threads:
            thread.start()
        while not all(each.ends for each in clients):
            time.sleep(0.1)
        time.sleep(BEFORE)
        killed = time.monotonic()
        back = kill(there)
        time.sleep(max(0.0, killed + AFTER - time.monotonic()))
        stop.set()
        for thread in threads:
            thread.join()
    return found(clients, killed, back)


def found(clients: Sequence[Session], killed: float, back: float) -> Found:
    ended = [each for each in clients if any(failed >= killed for failed in each.failed)]
    went_on = [each for each in clients if each not in ended]
    again = [
        next((end for end in each.ends if end > max(each.failed)), float("inf")) - killed
        for each in ended
    ]
    gaps = [
        later - earlier
        for each in went_on
        for earlier, later in zip(each.ends, each.ends[1:], strict=False)
        if later >= killed
    ]
    return Found(max(gaps, default=0.0), len(ended), max(again, default=0.0), back)


def kill_worker(there: Site) -> float:
    """Kills a worker; returns the time until there are as many processes as before."""
    proxy = there.proxies[0].pid
    before, began = family(proxy), time.monotonic()
    os.kill(_workers(proxy)[0], signal.SIGKILL)
    while len(family(proxy)) >= len(before):
        time.sleep(0.002)
    while len(family(proxy)) < len(before):
        time.sleep(0.002)
    return time.monotonic() - began


def _workers(proxy: int) -> list[int]:
    return [pid for pid in family(proxy) if "worker" in _command(pid)]


def _command(pid: int) -> str:
    return Path(f"/proc/{pid}/cmdline").read_text()


def kill_proxy(there: Site) -> float:
    """Kills a proxy; returns the time from the start of a new one until it answers."""
    there.proxies[0].kill()
    began = time.monotonic()
    there.start()
    return time.monotonic() - began


def kill_server(there: Site) -> float:
    there.servers[0].kill()
    return 0.0


def kill_metastore(there: Site) -> float:
    there.metastores[0].kill()
    return 0.0


PARTS: Sequence[tuple[str, Callable[[Site], float]]] = (
    ("a worker of one proxy", kill_worker),
    ("one of two proxies", kill_proxy),
    ("one of two Thrift Servers", kill_server),
    ("one of two metastores", kill_metastore),
)


@contextmanager
def site() -> Iterator[Site]:
    with ExitStack() as exits:
        folder = Path(exits.enter_context(tempfile.TemporaryDirectory()))
        servers = [exits.enter_context(process(serve_cluster)) for _ in range(2)]
        metastores = [exits.enter_context(process(serve_metastore)) for _ in range(2)]
        ports = free_ports(4)

        def start(name: str, listen: Endpoint) -> Process:
            conf = folder / f"{name}.toml"
            more = {
                "hive.metastore.uris": ",".join(f"thrift://{each.port}" for each in metastores),
                "proxy.workers": 2,
                "proxy.writes.folder": str(folder / name),
                "snapshot.writers": "any",
            }
            first, second = (each.port for each in servers)
            text = settings_of(
                listen, first, metastores[0].port, ports[2:], more=more, servers=(second,)
            )
            conf.write_text(text)
            return Process(exits.enter_context(started(conf, "serve")), listen)

        proxies = [start("a", ports[0]), start("b", ports[1])]
        yield Site(proxies, servers, metastores, lambda: start("a", ports[0]))


@contextmanager
def process(serve: Callable[..., None]) -> Iterator[Process]:
    """Runs `serve` in a process of its own."""
    ours, its = _SPAWN.Pipe()
    made = _SPAWN.Process(target=serve, args=(its,))
    made.start()
    try:
        assert made.pid is not None
        yield Process(made.pid, ours.recv())
    finally:
        made.kill()
        made.join()


def serve_metastore(connection: "multiprocessing.connection.Connection") -> None:
    """Serves until the process is killed."""
    with fake_metastore() as endpoint:
        connection.send(endpoint)
        with suppress(EOFError):
            connection.recv()


if __name__ == "__main__":
    main()
