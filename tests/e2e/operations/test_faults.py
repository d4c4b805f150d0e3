"""Hostile clients, killed workers, a hanging metastore and a full disk harm no other client."""

import os
import signal
import socket
from contextlib import ExitStack, closing, suppress
from pathlib import Path

import pytest
from pyhive.exc import Error
from thrift.transport.TTransport import TTransportException

from bench.proxy import WIDE, RawClient, fetch
from cli.stack.stack import free_ports
from conf.topology import Endpoint
from proxy.protocol.framing import client_negotiation
from proxy.protocol.types import Orientation
from tests.e2e.conftest import rows
from tests.e2e.operations.proxy_site import Site, until

pytestmark = pytest.mark.e2e
_KEPT = 9  # connections without a session: each worker's health checks, and a few for reuse
_GONE = (Error, OSError, EOFError, TTransportException)


def _in_clusters(site: Site) -> int:
    """The open connections to the clusters' endpoints, by the kernel's list."""
    ports = {f"{each.port:04X}" for each in site.endpoints}
    lines = Path("/proc/net/tcp").read_text().splitlines()[1:]
    ends = (line.split()[1:4] for line in lines)
    return sum(local.endswith(tuple(ports)) and state == "01" for local, _, state in ends)


def _works(site: Site) -> bool:
    with closing(site.connect()) as connection:
        return rows(connection.cursor(), "SELECT id FROM range(2)") == [(0,), (1,)]


def test_hostile_clients_leave_nothing_and_harm_no_other(site: Site) -> None:
    site.configure(site.endpoints[:2], "proxy.limit.connections.total = 120")
    site.start()
    assert _works(site)
    until(lambda: _in_clusters(site) <= _KEPT)
    with ExitStack() as exits:
        dying = exits.enter_context(RawClient(site.listen))
        operation = dying.execute(dying.open(), WIDE)
        dying.call(fetch(operation, Orientation.FIRST, 10_000))
        crawling = exits.enter_context(RawClient(site.listen))
        crawling._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        slow = crawling.execute(crawling.open(), WIDE)
        request = fetch(slow, Orientation.FIRST, 200_000)
        crawling._socket.sendall(len(request).to_bytes(4, "big") + request)
        dying._socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        dying._socket.close()  # with a reset, as a killed process does
        for _ in range(3):
            assert len(crawling._socket.recv(1)) == 1
            assert _works(site)
        silent = [
            exits.enter_context(socket.create_connection((site.listen.host, site.listen.port)))
            for _ in range(300)
        ]
        for each in silent[:150]:
            each.close()
        for each in silent[150:250]:
            each.settimeout(0.2)
            _say_half(each)
    until(lambda: not site.get_admin("sessions"))
    until(lambda: _serves(site))
    assert _works(site)
    until(lambda: _in_clusters(site) <= _KEPT)


def _say_half(silent: socket.socket) -> None:
    with suppress(OSError):  # it may have been turned away already
        silent.sendall(b"\1\0\0\0\5PLA")


def test_a_killed_server_leaves_no_session_in_a_cluster(site: Site) -> None:
    server = site.start()
    cursor = site.connect().cursor()
    cursor.execute("SELECT id FROM range(3)")
    sleeping = RawClient(site.listen)
    sleeping.execute(sleeping.open(), "SELECT 1")
    until(lambda: _in_clusters(site) >= 2)
    children = Path(f"/proc/{server.pid}/task/{server.pid}/children").read_text().split()
    for worker in children:
        os.kill(int(worker), signal.SIGKILL)
    with pytest.raises(_GONE):
        cursor.execute("SELECT 1")
    until(lambda: _serves(site))
    assert _works(site)
    server.kill()
    server.wait()
    until(lambda: _in_clusters(site) == 0)
    with sleeping, pytest.raises(ConnectionError):
        sleeping.open()


def _serves(site: Site) -> bool:
    """Whether the proxy accepts a client, tested by a socket: PyHive leaves failed ones open."""
    with suppress(OSError), socket.create_connection((site.listen.host, site.listen.port)) as probe:
        probe.settimeout(60)
        probe.sendall(client_negotiation("ann", "pw"))
        return probe.recv(1) == b"\5"
    return False


def test_a_metastore_that_hangs_is_reported_and_holds_no_other_client(site: Site, db: str) -> None:
    metastore = free_ports(1)[0]
    site.forward(metastore, site.stack.ports.metastore)
    site.base[1] = f'hive.metastore.uris = "thrift://{metastore}"'
    site.configure(site.endpoints[:2], 'metastore.timeout = "1s"')
    site.start()
    with closing(site.connect()) as connection, closing(site.connect()) as another:
        cursor, other = connection.cursor(), another.cursor()
        rows(cursor, f"CREATE TABLE {db}.t AS SELECT 1 AS a")
        _stop(site, metastore)
        with pytest.raises(Error, match=r"CW3\d\d"):
            cursor.execute(f"SELECT * FROM {db}.t")
        assert rows(other, "SELECT id FROM range(2)") == [(0,), (1,)]
        assert rows(cursor, "SELECT 1") == [(1,)]
        site.forwarders[metastore].send_signal(signal.SIGCONT)
        until(lambda: _reads(cursor, f"SELECT * FROM {db}.t"))


def _stop(site: Site, endpoint: Endpoint) -> None:
    site.forwarders[endpoint].send_signal(signal.SIGSTOP)


def _reads(cursor: object, sql: str) -> bool:
    try:
        return rows(cursor, sql) == [(1,)]
    except Error:
        return False


def test_a_full_disk_for_the_log_stops_no_client(site: Site) -> None:
    site.base[4] = 'proxy.audit.file = "/dev/full"'
    site.configure(site.endpoints[:2])
    site.start()
    assert _works(site)
    assert _works(site)
    with socket.create_connection(_admin(site)) as admin:
        admin.sendall(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n")
        output = b""
        while piece := admin.recv(65536):
            output += piece
    lines = output.decode().splitlines()
    (dropped,) = [line for line in lines if line.startswith("causeway_audit_dropped_total")]
    assert float(dropped.split()[-1]) >= 2


def _admin(site: Site) -> tuple[str, int]:
    port = next(line for line in site.base if line.startswith("proxy.admin.port"))
    return "127.0.0.1", int(port.split("=")[1])
