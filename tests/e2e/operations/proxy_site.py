"""A proxy of its own before real Thrift Servers, with endpoints that tests stop and resume."""

import json
import secrets
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from pyhive import hive

from cli.server.admin import call
from cli.stack.stack import Stack, free_ports
from conf.settings.load import load
from conf.topology import Endpoint
from tests.e2e.conftest import C1, C2, rows
from tests.secret_files import private

_FORWARD = """
import asyncio, sys
async def pipe(reader, writer):
    try:
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()
    except OSError:
        pass
    finally:
        writer.close()
async def serve(reader, writer):
    there, back = await asyncio.open_connection("127.0.0.1", int(sys.argv[2]))
    await asyncio.gather(pipe(reader, back), pipe(there, writer))
async def main():
    server = await asyncio.start_server(serve, "127.0.0.1", int(sys.argv[1]))
    print("ready", flush=True)
    await server.serve_forever()
asyncio.run(main())
"""
SLOW = "SELECT count(*) FROM range(0, 40000000) WHERE sqrt(id + rand()) < 0"


class Site:
    """A proxy before two endpoints of c1 and one of c2, each a process that forwards to the Thrift
    Server, or with `forwarded=False` before the Thrift Servers themselves."""

    def __init__(
        self, stack: Stack, folder: Path, exits: ExitStack, forwarded: bool = True
    ) -> None:
        self.stack, self.folder, self.exits = stack, folder, exits
        servers = [stack.ports.hs2[C1], stack.ports.hs2[C2]]
        self.endpoints = free_ports(3) if forwarded else servers
        self.listen, admin = free_ports(2)
        self.conf = folder / "causeway.toml"
        self.audit = folder / "audit.log"
        token = folder / "token"
        private(token, secrets.token_hex())
        self.base = [
            f'hive.default.cluster.name = "{C1}"',
            f'hive.metastore.uris = "thrift://{stack.ports.metastore}"',
            f"hive.server2.thrift.port = {self.listen.port}",
            'proxy.health.interval = "300ms"',
            f'proxy.audit.file = "{self.audit}"',
            f"proxy.admin.port = {admin.port}",
            f'proxy.admin.token.file = "{token}"',
        ]
        self.view_addresses = lambda cluster: str(stack.ports.views[cluster])
        self.proxy: subprocess.Popen[str] | None = None
        self.forwarders: dict[Endpoint, subprocess.Popen[str]] = {}
        for endpoint, cluster in zip(self.endpoints, (C1, C1, C2), strict=False):
            if forwarded:
                self.forward(endpoint, stack.ports.hs2[cluster])
        self.configure(self.endpoints[:-1])

    def forward(self, endpoint: Endpoint, to: Endpoint) -> None:
        process = self.run("-c", _FORWARD, str(endpoint.port), str(to.port))
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        self.forwarders[endpoint] = process

    def configure(self, east: list[Endpoint], *more: str) -> None:
        lines = [*self.base, *more]
        for cluster, endpoints in ((C1, east), (C2, self.endpoints[-1:])):
            lines += [
                f"[hive.cluster.properties.{cluster}]",
                f'FileSystem = "{self.stack.layout.filesystem(cluster)}"',
                f'JobTracker = "{",".join(map(str, endpoints))}"',
                f'MetastoreView = "{self.view_addresses(cluster)}"',
            ]
        self.conf.write_text("\n".join(lines) + "\n")

    def start(self) -> subprocess.Popen[str]:
        process = self.run("-m", "cli.main", "serve", "--conf", str(self.conf))
        assert process.stdout is not None
        assert process.stdout.readline().startswith("listening")
        self.proxy = process
        return process

    def run(self, *words: str, before: tuple[str, ...] = ()) -> subprocess.Popen[str]:
        """Runs Python with these arguments until the test ends, below the command `before`."""
        with (self.folder / "log").open("a") as log:
            process = subprocess.Popen(
                [*before, sys.executable, *words], stdout=subprocess.PIPE, stderr=log, text=True
            )
        self.exits.callback(end_process, process)
        return process

    def get_admin(self, resource: str) -> Any:
        """The administration's reply to GET /v1/<resource>."""
        return call(load(self.conf).operating, "GET", f"/v1/{resource}")

    def running_statement(self) -> dict[str, Any]:
        """Waits until one statement runs and returns its record."""
        until(lambda: len(running_statements(self)) == 1)
        return running_statements(self)[0]

    def admin(self, *words: str) -> Any:
        done = subprocess.run(
            [sys.executable, "-m", "cli.main", "admin", *words, "--json", "--conf", str(self.conf)],
            capture_output=True,
            text=True,
            timeout=60,
            check=True,
        )
        return json.loads(done.stdout)

    def connect(self, **options: Any) -> hive.Connection:
        connection = hive.connect("127.0.0.1", self.listen.port, username="ann", **options)
        self.exits.callback(_close, connection)
        return connection

    def endpoint_states(self) -> dict[str, dict[str, Any]]:
        """The records of the endpoints of c1, by address."""
        found = {each["name"]: each for each in self.get_admin("clusters")}
        return {each["endpoint"]: each for each in found[C1]["endpoints"]}

    def endpoints_in_use(self) -> set[str]:
        """The endpoints of c1 with an open session."""
        return {name for name, each in self.endpoint_states().items() if each["sessions"]}


def running_statements(site: Site) -> list[dict[str, Any]]:
    return [each for each in site.get_admin("statements") if each["state"] == "RUNNING"]


def end_process(process: subprocess.Popen[str]) -> None:
    process.send_signal(signal.SIGCONT)
    process.kill()
    process.wait()
    assert process.stdout is not None
    process.stdout.close()


def _close(connection: hive.Connection) -> None:
    try:
        connection.close()
    except Exception:
        connection._transport.close()


def until(condition: Callable[[], bool], patience: float = 90.0) -> None:
    deadline = time.monotonic() + patience
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.1)


class Running:
    """A statement that runs in a thread."""

    def __init__(self, cursor: Any, *statements: str) -> None:
        self.rows: list[Any] | None = None
        self.error: Exception | None = None
        self._thread = threading.Thread(target=self._run, args=(cursor, statements))
        self._thread.start()

    def _run(self, cursor: Any, statements: tuple[str, ...]) -> None:
        try:
            self.rows = rows(cursor, *statements)
        except Exception as error:
            self.error = error

    def join(self) -> "Running":
        self._thread.join(300)
        assert not self._thread.is_alive()
        return self
