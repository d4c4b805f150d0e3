"""Kerberos with encryption of all traffic (auth-conf) on both sides of the proxy: real beeline, a
real Thrift Server that requires it, and an eavesdropper on either side.
"""

import os
import socketserver
import subprocess
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from socket import create_connection, socket

import pytest

from cli.stack.java import find_java
from cli.stack.stack import Stack, free_ports, spark_home
from conf.topology import Endpoint
from tests.e2e.support import secured
from tests.proxy import kdc as kdcs
from tests.proxy.kdc import REALM, SERVICE, Kdc

pytest.importorskip("gssapi", reason="the extra [kerberos] is not installed")
pytestmark = pytest.mark.e2e

MARKER = "nobody-reads-this"


class Ear:
    """Forwards connections to another address and records their bytes."""

    def __init__(self, to: Endpoint) -> None:
        self.bytes_read = bytearray()
        ear = self

        class Handler(socketserver.BaseRequestHandler):
            def handle(self) -> None:
                with create_connection((to.host, to.port)) as there:
                    back = threading.Thread(target=ear.pass_on, args=(there, self.request))
                    back.start()
                    ear.pass_on(self.request, there)
                    back.join()

        self.server = socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True

    def pass_on(self, source: socket, target: socket) -> None:
        with suppress(OSError):
            while data := source.recv(65536):
                self.bytes_read += data
                target.sendall(data)
        with suppress(OSError):
            target.shutdown(1)

    @property
    def port(self) -> int:
        return int(self.server.server_address[1])


@contextmanager
def listening(to: Endpoint) -> Iterator[Ear]:
    ear = Ear(to)
    thread = threading.Thread(target=ear.server.serve_forever)
    thread.start()
    try:
        yield ear
    finally:
        ear.server.shutdown()
        ear.server.server_close()
        thread.join()


@dataclass(frozen=True, slots=True)
class Sealed:
    """`before` is between clients and the proxy, `behind` between the proxy and the cluster."""

    kdc: Kdc
    before: Ear
    behind: Ear
    log: Path


@pytest.fixture(scope="module")
def sealed(stack: Stack, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sealed]:
    folder = tmp_path_factory.mktemp("sealed")
    with ExitStack() as running:
        (folder / "kdc").mkdir()
        kdc = running.enter_context(kdcs.running(folder / "kdc"))
        starting = running.enter_context(
            secured.kerberos_server(folder / "k", kdc, stack.ports.metastore, "auth-conf")
        )
        behind = running.enter_context(listening(starting.ready()))
        (port,) = (each.port for each in free_ports(1))
        settings = _settings(kdc, port, behind.port, stack.ports.metastore)
        log = running.enter_context(secured.proxy(folder, settings, kdc.environment))
        before = running.enter_context(listening(Endpoint("127.0.0.1", port)))
        yield Sealed(kdc, before, behind, log)


def _settings(kdc: Kdc, port: int, server: int, metastore: Endpoint) -> str:
    how = "hive.server2.authentication"
    properties = {
        how: "KERBEROS",
        f"{how}.kerberos.principal": SERVICE,
        f"{how}.kerberos.keytab": kdc.keytab(SERVICE),
        "hive.server2.thrift.sasl.qop": "auth-conf",
        "hive.metastore.uris": f"thrift://{metastore}",
        "hive.default.cluster.name": "SEALED",
    }
    text = f"hive.server2.thrift.port = {port}\n"
    text += "".join(f'"{name}" = "{value}"\n' for name, value in properties.items())
    text += '[hive.cluster.properties.SEALED]\nFileSystem = "file:/sealed"\n'
    text += f'JobTracker = "localhost:{server}"\n'
    return text + secured.login_of("SEALED", kdc.folder, kdc)


def beeline(sealed: Sealed, more: str, *statements: str) -> "subprocess.CompletedProcess[str]":
    """Spark's beeline with bob's ticket."""
    url = f"jdbc:hive2://localhost:{sealed.before.port}/default;principal={SERVICE}{more}"
    java = [str(find_java()), "-Xmx256m", "-cp", f"{spark_home() / 'jars'}/*"]
    java += [f"-Djava.security.krb5.conf={sealed.kdc.folder}/krb5.conf"]
    java += ["-Djavax.security.auth.useSubjectCredsOnly=false"]
    words = ["org.apache.hive.beeline.BeeLine", "-u", url, "--silent=true", "--showHeader=false"]
    words += ["--outputformat=tsv2", "--incremental=true"]
    for each in statements:
        words += ["-e", each]
    environment = os.environ | sealed.kdc.environment | {"KRB5CCNAME": sealed.kdc.ccache("bob")}
    return subprocess.run(
        [*java, *words], capture_output=True, text=True, timeout=120, check=False, env=environment
    )


def test_an_eavesdropper_reads_no_secret(sealed: Sealed) -> None:
    """Short texts, a statement longer than a wrapped message, and a result of megabytes."""
    long = f"SELECT length('{'x' * 100_000}')"
    rows = f"SELECT concat('{MARKER}-', id, '-', repeat('y', 200)) FROM range(10000)"
    done = beeline(sealed, ";saslQop=auth-conf", "SELECT current_user();", long + ";", rows + ";")
    assert done.returncode == 0, done.stderr[-2000:]
    words = done.stdout.split()
    assert words[:2] == ["bob", "100000"]
    assert len(words) == 10_002
    assert words[-1] == f"{MARKER}-9999-{'y' * 200}"
    for ear in (sealed.before, sealed.behind):
        assert len(ear.bytes_read) > 10_000 * 200
        assert REALM.encode() in ear.bytes_read  # of the ticket: the bytes are the connection's
        for secret in (MARKER, "SELECT", "current_user", "OpenSession", "y" * 50, "x" * 50):
            assert secret.encode() not in ear.bytes_read


def test_clients_without_encryption_are_refused(sealed: Sealed) -> None:
    done = beeline(sealed, ";saslQop=auth", "SELECT 1")
    assert done.returncode != 0
    assert "No common protection layer" in done.stdout + done.stderr
