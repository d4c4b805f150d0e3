"""Clients that stop reading or vanish, and processes that are stopped or killed."""

import os
import signal
import socket
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import pytest

from bench.proxy import RawClient, fetch
from proxy.protocol.types import Orientation
from tests.e2e.operations.proxy_site import Site, until

_ROWS = 200_000
LARGE = f"SELECT id, repeat('x', 300) AS s FROM range({_ROWS})"  # some 62 MB
# All sockets on the way hold less: the one by which the proxy receives up to net.ipv4.tcp_rmem (32
# MiB on some machines), the two that send 4 MiB each, and the client's a fixed size.
_MOST_IN_SOCKETS = 45_000_000
_CLIENT_BUFFER = 64 << 10
BOUND = 90.0  # seconds until the client of a server that hangs gets an error
_CLIENT = """
import sys, time
from pyhive import hive
cursor = hive.connect(sys.argv[1], int(sys.argv[2]), username="vanished").cursor()
cursor.execute("SELECT id FROM range(3)")
time.sleep(0.5)  # nothing is on its way any more
print("ready", flush=True)
time.sleep(600)
"""


@contextmanager
def vanished_client(site: Site) -> Iterator[None]:
    """A client "vanished" with a session. Its network then drops all packets to the proxy."""
    name, net = f"cw{os.getpid()}", f"10.213.{os.getpid() % 256}"
    with ExitStack() as exits:
        for words in (
            f"ip netns add {name}",
            f"ip link add {name} type veth peer name far netns {name}",
            f"ip addr add {net}.1/24 dev {name}",
            f"ip link set {name} up",
            f"ip -n {name} addr add {net}.2/24 dev far",
            f"ip -n {name} link set far up",
        ):
            done = subprocess.run(words.split(), capture_output=True, text=True, check=False)
            if done.returncode != 0:
                pytest.skip(f"networks of our own are not to be had here: {done.stderr}")
            if words.endswith(name) and "netns add" in words:
                exits.callback(subprocess.run, f"ip netns del {name}".split(), check=False)
        client = site.run(
            *("-c", _CLIENT, f"{net}.1", str(site.listen.port)),
            before=("ip", "netns", "exec", name),
        )
        assert client.stdout is not None
        assert client.stdout.readline() == "ready\n"
        away = f"ip -n {name} route add blackhole {net}.1/32"
        subprocess.run(away.split(), check=True)
        yield


class Fetching:
    """A client that has read the beginning of a large reply, and reads the rest on demand."""

    def __init__(self, site: Site, exits: ExitStack) -> None:
        self._client = exits.enter_context(RawClient(site.listen))
        operation = self._client.execute(self._client.open(), LARGE)
        request = fetch(operation, Orientation.FIRST, _ROWS)
        self._socket = self._client._socket
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _CLIENT_BUFFER)
        self._socket.sendall(len(request).to_bytes(4, "big") + request)
        self.length = int.from_bytes(self._client._read(4), "big")
        assert self.length > _MOST_IN_SOCKETS
        self._client._read(1000)
        self._socket.settimeout(BOUND)

    def rest(self) -> int:
        """Reads on until the connection ends. Returns the number of bytes of the reply."""
        read = 1000
        with suppress(ConnectionError):
            while read < self.length and (got := self._socket.recv(1 << 20)):
                read += len(got)
        return read


def stop_process(pid: int) -> None:
    """Stops a process and waits until all its threads are stopped. The kernel delivers the signal
    to one thread; until then the others may send the rest of a reply."""
    os.kill(pid, signal.SIGSTOP)

    def states() -> set[str]:
        threads = Path(f"/proc/{pid}/task").glob("*/stat")
        return {each.read_text().rpartition(")")[2].split()[0] for each in threads}

    until(lambda: states() == {"T"})


def has_ended(process: int) -> bool:
    """Whether the process with this id has ended, perhaps as a zombie."""
    try:
        state = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return True
    return state == "Z"


def kill_proxy(site: Site) -> None:
    """Kills all processes of the proxy at once."""
    supervisor = site.proxy
    assert supervisor is not None
    children = Path(f"/proc/{supervisor.pid}/task/{supervisor.pid}/children").read_text().split()
    for each in (supervisor.pid, *map(int, children)):
        os.kill(each, signal.SIGKILL)
