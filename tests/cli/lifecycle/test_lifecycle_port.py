"""The port of `lifecycle serve`: its access, routes and answers."""

import asyncio
import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import cast

import pytest

from cli.check import targets
from cli.check.ports import lifecycle_port
from cli.check.report import ok
from cli.errors import CannotListen
from cli.lifecycle.lifecycle_port import ROUTES, LifecyclePort, LifecycleServer
from cli.stack.stack import free_ports
from conf.secrets import SecretFile
from conf.settings.lifecycle import Lifecycle
from conf.settings.security.operator_access import OperatorAccess
from conf.settings.security.transports import Transports
from conf.topology import Endpoint
from pipeline.scheduler.clock import SetClock
from pipeline.scheduler.operations import FAMILIES, Operations
from pipeline.scheduler.server import SchedulerOptions, SchedulerServer
from proxy.administration.admin_server import Answer
from tests.cli.lifecycle.running_port import FIRST, Port, running_port
from tests.docs.pages import ROOT
from tests.pipeline.scheduler.fake_actions import PROCESS_KEY, FakeActions, store_with_entities
from tests.secret_files import private, readable


@pytest.fixture
def port(tmp_path: Path) -> Iterator[Port]:
    with running_port(tmp_path) as running:
        yield running


def test_the_check_of_a_configuration_knows_it(port: Port) -> None:
    endpoint = Endpoint.parse(port[0].removeprefix("http://"))
    finding = lifecycle_port(targets.LifecycleAddress(endpoint, OperatorAccess()), 60)
    assert finding == ok("in use by a lifecycle server")


def ask(
    url: str, method: str = "GET", token: str | None = "secret", host: str | None = None
) -> tuple[int, str]:
    headers = {} if token is None else {"Authorization": f"Bearer {token}"}
    headers |= {} if host is None else {"Host": host}
    request = urllib.request.Request(url, method=method, headers=headers)
    try:
        with urllib.request.urlopen(request, timeout=20) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


def test_health_and_metrics_need_no_token_and_all_else_does(port: Port) -> None:
    url, observed = port
    assert ask(f"{url}/health", token=None) == (200, '{"status": "ok"}\n')
    status, text = ask(f"{url}/metrics", token=None)
    assert status == 200
    assert "causeway_lifecycle_lag_seconds" in text
    assert ask(f"{url}/v1/lag", token=None)[0] == 401
    assert ask(f"{url}/v1/instances/process/summary/kill", "POST", token="wrong")[0] == 401
    assert ask(f"{url}/v1/lag", host="evil.example")[0] == 421
    assert observed == [
        ("GET", "/v1/lag", True),
        ("POST", "/v1/instances/process/summary/kill", True),
    ]


def test_instances_are_listed_and_changed(port: Port) -> None:
    url, observed = port
    status, text = ask(f"{url}/v1/instances?name=summary&state=SUCCEEDED")
    assert status == 200
    (one,) = json.loads(text)["instances"]
    assert one["instance"] == "2013-09-25T00:00Z"
    rerun = f"{url}/v1/instances/process/summary/rerun?start=2013-09-25T00:00Z&force=true"
    status, text = ask(rerun, "POST")
    assert (status, json.loads(text)["changed"][0]["run"]) == (200, 1)
    assert json.loads(ask(f"{url}/v1/lag")[1])[0]["open"] == 1
    assert ask(f"{url}/v1/entities/process/summary/suspend", "POST")[0] == 200
    entities = json.loads(ask(f"{url}/v1/entities")[1])
    assert {"SUSPENDED"} == {e["status"] for e in entities if e["name"] == "summary"}
    assert ask(f"{url}/v1/entities/process/summary/suspend", "POST")[0] == 409
    assert ("POST", "/v1/entities/process/summary/suspend", False) in observed


def test_documents_logs_and_retention_are_shown(port: Port) -> None:
    url, _ = port
    entities = json.loads(ask(f"{url}/v1/entities?documents=true")[1])
    assert all(each["document"].startswith("<?xml") for each in entities)
    status, text = ask(f"{url}/v1/log/process/summary?start=2013-09-25T00:00Z")
    assert status == 200
    assert json.loads(text)[0]["instance"] == "2013-09-25T00:00Z"
    assert ask(f"{url}/v1/retention/clicks") == (200, "[]\n")  # it is not running


def test_the_history_is_searched(port: Port, tmp_path: Path) -> None:
    url, _ = port
    (found,) = json.loads(ask(f"{url}/v1/history/instances?name=summary")[1])["instances"]
    assert (found["state"], found["server"]) == ("SUCCEEDED", "one")
    assert json.loads(ask(f"{url}/v1/history/copies")[1]) == {"copies": [], "next": None}
    assert ask(f"{url}/v1/history/copies?user=ann")[0] == 409
    assert 'causeway_lifecycle_queue{queue="history"} 0.0' in ask(f"{url}/metrics")[1]


@pytest.mark.parametrize(
    ("path", "method", "status"),
    [
        ("/v1/retention/none", "GET", 404),
        ("/v1/log/dance/x", "GET", 404),
        ("/v1/instances?limit=0", "GET", 400),
        ("/v1/nothing", "GET", 404),
        ("/v1/instances/process/summary/dance", "POST", 404),
        ("/v1/instances/process/none/kill?start=2013-09-25T00:00Z", "POST", 404),
        ("/v1/instances/dance/x/kill?start=2013-09-25T00:00Z", "POST", 404),
        ("/v1/instances/process/summary/kill", "POST", 400),
        ("/v1/instances", "DELETE", 405),
    ],
)
def test_refusals(port: Port, path: str, method: str, status: int) -> None:
    found, text = ask(port[0] + path, method)
    assert found == status
    assert "error" in json.loads(text)


def test_a_viewer_changes_nothing_and_an_operator_does(tmp_path: Path) -> None:
    def token(name: str) -> SecretFile:
        return readable(private(tmp_path / name, f"{name}\n"))

    access = OperatorAccess(operators=token("operator"), viewers=token("viewer"))
    store = store_with_entities(tmp_path / "l.db")
    settings = Lifecycle(port=Endpoint("127.0.0.1", 0), token=token("administrator"))
    with SchedulerServer(
        store, FakeActions(), SetClock(FIRST), "one", SchedulerOptions()
    ) as scheduler:
        operations = Operations(store, scheduler, SetClock(FIRST), "ann", lambda _: None)
        server = LifecycleServer(operations, lambda *_: None, Transports())
        with LifecyclePort(server, settings, access) as listening:
            url = f"http://{listening.listening}/v1/entities"
            suspend = f"{url}/process/{PROCESS_KEY.name}/suspend"
            assert ask(url, token="viewer")[0] == 200
            assert ask(suspend, "POST", "viewer")[0] == 403
            assert ask(suspend, "POST", "operator")[0] != 403


def test_an_address_that_is_taken(port: Port, tmp_path: Path) -> None:
    taken = Endpoint.parse(port[0].removeprefix("http://"))
    server = LifecycleServer(None, lambda *_: None, Transports())  # type: ignore[arg-type]
    settings = Lifecycle(port=taken, token=readable(tmp_path / "token"))
    with pytest.raises(CannotListen), LifecyclePort(server, settings, OperatorAccess()):
        pass


def test_the_page_has_every_route_and_metric() -> None:
    page = (ROOT / "docs" / "reference" / "rest.md").read_text()
    section = page.partition("## Lifecycle\n")[2]
    assert sorted(re.findall(r"^\| `((?:GET|POST) [^`?]+)", section, re.M)) == sorted(ROUTES)
    rows = [
        f"| `{name}` | {kind} | {', '.join(f'`{each}`' for each in labels)} | {about} |"
        for name, (kind, labels, about) in FAMILIES.items()
    ]
    assert [row for row in rows if row not in section] == []


@pytest.mark.slow
def test_serve_answers_on_the_port_of_the_settings(tmp_path: Path) -> None:
    token = private(tmp_path / "token", "secret\n")
    conf = tmp_path / "conf.toml"
    port = free_ports(1)[0].port
    conf.write_text(f'lifecycle.port = {port}\nlifecycle.token.file = "{token}"\n')
    command = [sys.executable, "-m", "cli.main", "lifecycle", "serve", "--conf", str(conf)]
    process = subprocess.Popen(
        [*command, "--store", str(tmp_path / "l.db"), "--poll", "0.2"],
        cwd=ROOT,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "CAUSEWAY_CONF": ""},
    )
    try:
        assert process.stderr is not None
        line = next(line for line in process.stderr if '"serving"' in line)
        assert json.loads(line)["listening"] == f"127.0.0.1:{port}"
        url = f"http://{json.loads(line)['listening']}"
        end = time.monotonic() + 30
        while ask(f"{url}/health", token=None)[0] != 200 and time.monotonic() < end:
            time.sleep(0.1)
        assert ask(f"{url}/v1/instances")[0] == 200
    finally:
        process.send_signal(signal.SIGTERM)
        assert process.wait(30) == 0
        process.stderr.close()


class HeldServer(LifecycleServer):
    """Never answers a request for health."""

    def __init__(self) -> None:
        super().__init__(cast(Operations, None), lambda *_: None, Transports())
        self.asked = threading.Event()

    async def respond(self, method: str, path: str, query: str) -> Answer:
        self.asked.set()
        await asyncio.Event().wait()
        raise AssertionError


def test_a_request_that_is_being_answered_ends_with_the_port(tmp_path: Path) -> None:
    """The port closes its connection, and does not leave that to the garbage collector."""
    token = readable(private(tmp_path / "token", "secret\n"))
    settings = Lifecycle(port=Endpoint("127.0.0.1", 0), token=token)
    server = HeldServer()
    with LifecyclePort(server, settings, OperatorAccess()) as port:
        assert port.listening is not None
        client = socket.create_connection((port.listening.host, port.listening.port), 60)
        client.sendall(b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert server.asked.wait(60)
    with client:
        assert client.recv(1) == b""
