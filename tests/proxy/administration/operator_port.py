"""A port for operators, and the settings of its clients."""

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from conf.roles import Role
from conf.settings.operating import Operating
from conf.topology import Endpoint
from proxy.administration.admin_server import AdminServer
from proxy.operations.audit.audit_events import ApiCaller
from tests.conf.settings.reading import settings_from
from tests.proxy.certificates import Made
from tests.secret_files import private

Values = dict[str, str]
Observed = tuple[str, str, ApiCaller, bool]


def operating_of(values: Values) -> Operating:
    return settings_from(values, "test").operating


@contextmanager
def serving(values: Values, host: str = "127.0.0.1") -> Iterator[tuple[Endpoint, list[Observed]]]:
    """The address of a port with these settings, and what it observed."""
    observed: list[Observed] = []

    async def run_action(action: str, argument: str) -> Any:
        return {"done": action}

    server = AdminServer(run_action, lambda *event: observed.append(event))
    operating = operating_of(values)
    ready, loop, failures = threading.Event(), asyncio.new_event_loop(), list[Exception]()
    over = asyncio.Event()

    async def serve() -> None:
        where = Endpoint(host, 0)
        try:
            await server.listen_at(where, operating.admin_token, operating.access, None)
        except Exception as error:
            failures.append(error)
        ready.set()
        await over.wait()
        server.close()
        await asyncio.sleep(0.05)  # for connections that are being closed

    thread = threading.Thread(target=loop.run_until_complete, args=(serve(),))
    thread.start()
    try:
        ready.wait(30)
        if failures:
            raise failures[0]
        assert server.listening is not None
        yield Endpoint("127.0.0.1", server.listening.port), observed
    finally:
        loop.call_soon_threadsafe(over.set)
        thread.join()
        loop.close()


def values_of(folder: Path, certificate: Made | None = None) -> Values:
    """The settings of a port with a token of each role; with a certificate, also TLS."""
    found = {
        "proxy.admin.port": "1",
        "proxy.admin.token.file": str(private(folder / "administrator", "root a\n")),
        "proxy.admin.operator.token.file": str(private(folder / "operator", "ann o\n")),
        "proxy.admin.viewer.token.file": str(private(folder / "viewer", "grafana v\n")),
    }
    if certificate is not None:
        found["proxy.admin.use.SSL"] = "true"
        found["proxy.admin.keystore.path"] = str(certificate.pem(folder / "keystore.pem"))
    return found


def client_of(values: Values, endpoint: Endpoint, role: Role, **more: str) -> Operating:
    """The settings of a client, which has the token of one role, no keystore and no other token."""
    kept = {"proxy.admin.use.SSL": values.get("proxy.admin.use.SSL", "")}
    own = Path(values["proxy.admin.token.file"]).parent / role.title
    named = {name.replace("_", "."): value for name, value in more.items()}
    host = {"proxy.admin.host": endpoint.host, "proxy.admin.port": str(endpoint.port)}
    return operating_of({**kept, **host, "proxy.admin.token.file": str(own), **named})
