"""Checks of the addresses that the proxy, the lifecycle's server and the console listen on."""

import errno
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from cli.check import ports, targets
from cli.check.report import CheckFinding, Level, ok
from cli.stack.stack import free_ports
from conf.secrets import SecretFile
from conf.settings.operating import Operating
from conf.settings.security.operator_access import OperatorAccess
from conf.topology import Endpoint
from tests.secret_files import private


def test_a_free_address() -> None:
    assert ports.port(targets.ProxyAddress(free_ports(1)[0], Operating())) == ok("free")


def test_an_address_of_another_process_is_an_error() -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        target = targets.ProxyAddress(Endpoint("127.0.0.1", other.getsockname()[1]), Operating())
        assert ports.port(target).level is Level.ERROR


def test_an_address_of_another_machine_is_an_error() -> None:
    with pytest.raises(OSError, match="assign requested address"):
        ports.port(targets.ProxyAddress(Endpoint("192.0.2.1", 10000), Operating()))


@contextmanager
def serving(kind: str, body: bytes) -> Iterator[Endpoint]:
    """A server that gives every GET the same answer."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield Endpoint("127.0.0.1", server.server_port)
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def lifecycle(endpoint: Endpoint) -> CheckFinding:
    return ports.lifecycle_port(targets.LifecycleAddress(endpoint, OperatorAccess()), 5)


def console(endpoint: Endpoint, tls: bool = False) -> CheckFinding:
    return ports.console_port(targets.ConsoleAddress(endpoint, tls), 5)


def test_the_addresses_of_the_running_proxy_are_fine(tmp_path: Path) -> None:
    token = SecretFile(private(tmp_path / "token", "t"))
    with serving("application/json", b'{"tables": 1}') as endpoint:
        operating = Operating(admin=endpoint, admin_token=token)
        finding = ports.port(targets.ProxyAddress(endpoint, operating))
    assert finding == ok("in use by the proxy that runs with these settings")


def test_a_free_address_of_another_part() -> None:
    free = free_ports(1)[0]
    assert lifecycle(free) == console(free) == ok("free")


def test_the_address_of_the_lifecycle_may_have_its_server_alone() -> None:
    """A proxy that took it has metrics, too."""
    with serving("text/plain", b"causeway_sessions 1\n") as endpoint:
        assert lifecycle(endpoint).level is Level.ERROR
    with serving("text/plain", b"causeway_lifecycle_round_age_seconds 1\n") as endpoint:
        assert lifecycle(endpoint) == ok("in use by a lifecycle server")


def test_a_lifecycle_server_on_another_machine_has_to_answer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def cannot_bind(endpoint: Endpoint) -> bool:
        raise OSError(errno.EADDRNOTAVAIL, "Cannot assign requested address")

    monkeypatch.setattr(ports, "can_listen", cannot_bind)
    with serving("text/plain", b"causeway_lifecycle_round_age_seconds 1\n") as endpoint:
        assert lifecycle(endpoint) == ok("a lifecycle server answers there")
    assert "no lifecycle server answers there" in lifecycle(endpoint).text


def test_the_address_of_the_console_may_have_the_console_alone() -> None:
    """A console runs where it is started, so that another process is a warning."""
    with serving("text/css", b"") as endpoint:
        assert console(endpoint) == ok("in use by a console")
        assert console(endpoint, tls=True).level is Level.WARNING
    with serving("text/html", b"") as endpoint:
        assert console(endpoint).level is Level.WARNING
