"""What viewers of the console's live screen cost the proxy.

    python -m bench.viewers [--viewers 50] [--pairs 5] [--seconds 10]

`causeway serve` with one worker and a history runs before a fake Thrift Server and metastore, and
`causeway console` beside it. A client runs ten statements a second. Periods without viewers and
with that many alternate; the kernel counts the processor time of all threads of both processes.
"""

import argparse
import json
import socket
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from statistics import median

from bench.proxy import RawClient, read_and_close
from bench.statements.processor import (
    Used,
    fake_cluster_process,
    fake_metastore,
    settings_of,
    started,
)
from bench.support.dashboard import POINT
from cli.stack.stack import free_ports
from conf.topology import Endpoint

_RATE = 10  # statements a second
_ASK = b"GET /live/events HTTP/1.1\r\nHost: 127.0.0.1\r\nAccept: text/event-stream\r\n\r\n"


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.viewers", description=__doc__)
    parser.add_argument("--viewers", type=int, default=50, help="(%(default)s)")
    parser.add_argument("--pairs", type=int, default=5, help="of periods (%(default)s)")
    parser.add_argument("--seconds", type=float, default=10.0, help="of a period (%(default)s)")
    args = parser.parse_args()
    with ExitStack() as exits:
        folder = Path(exits.enter_context(tempfile.TemporaryDirectory()))
        proxy, console, pids = exits.enter_context(running(folder))
        client = exits.enter_context(RawClient(proxy))
        session, number = client.open(), iter(range(1 << 40))

        def period(seconds: float) -> list[float]:
            """Processor seconds a second of the proxy and the console."""
            before, began = [Used.by(pid).seconds for pid in pids], time.monotonic()
            for turn in range(int(seconds * _RATE)):
                read_and_close(client, client.execute(session, POINT.text(next(number))))
                time.sleep(max(0.0, began + (turn + 1) / _RATE - time.monotonic()))
            spent = time.monotonic() - began
            return [
                (Used.by(pid).seconds - used) / spent
                for pid, used in zip(pids, before, strict=True)
            ]

        period(5.0)
        without, among, received = [], [], 0
        for _ in range(args.pairs):
            without.append(period(args.seconds))
            with viewers(console, args.viewers) as got:
                period(2.0)
                among.append(period(args.seconds))
            received += sum(got)
    more = [median(b[at] - a[at] for a, b in zip(without, among, strict=True)) for at in (0, 1)]
    print(
        f"{args.viewers} viewers, who received {received / 2**20:.0f} MiB, cost the proxy"
        f" {more[0]:+.2%} of a core (without them {median(a[0] for a in without):.2%}),"
        f" the console {more[1]:+.1%} (without {median(a[1] for a in without):.1%})"
    )
    each = ", ".join(f"{b[0] - a[0]:+.2%}" for a, b in zip(without, among, strict=True))
    print(f"the proxy in each pair of periods: {each}")


@contextmanager
def running(folder: Path) -> Iterator[tuple[Endpoint, Endpoint, tuple[int, int]]]:
    """The addresses of the proxy and the console, and their process ids."""
    with ExitStack() as exits:
        cluster, _ = exits.enter_context(fake_cluster_process())
        metastore = exits.enter_context(fake_metastore())
        listen, admin, console, *views = free_ports(5)
        token = folder / "token"
        token.touch(0o600)
        token.write_text("bench\n")
        own = {
            "history.store": str(folder / "history.db"),
            "proxy.admin.port": admin.port,
            "proxy.admin.token.file": str(token),
            "console.port": console.port,
        }
        conf = folder / "causeway.toml"
        lines = "".join(f"{key} = {json.dumps(value)}\n" for key, value in own.items())
        conf.write_text(settings_of(listen, cluster, metastore, views) + lines)
        exits.enter_context(started(conf, "metastore", "serve", lines=2))
        proxy = exits.enter_context(started(conf, "serve"))
        pages = exits.enter_context(started(conf, "console"))
        yield listen, console, (proxy, pages)


@contextmanager
def viewers(console: Endpoint, count: int) -> Iterator[list[int]]:
    """So many open pages; the bytes that each received, once they are closed."""
    received = [0] * count
    streams = [socket.create_connection((console.host, console.port)) for _ in range(count)]

    def read(number: int) -> None:
        while data := streams[number].recv(1 << 16):
            received[number] += len(data)

    threads = [threading.Thread(target=read, args=(number,)) for number in range(count)]
    for stream, thread in zip(streams, threads, strict=True):
        stream.sendall(_ASK)
        thread.start()
    try:
        yield received
    finally:
        for stream, thread in zip(streams, threads, strict=True):
            stream.shutdown(socket.SHUT_RDWR)
            thread.join()
            stream.close()
    assert all(received), "a page received nothing"


if __name__ == "__main__":
    main()
