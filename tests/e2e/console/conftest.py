"""A console beside the stack, and Chromium to test it."""

import base64
import hashlib
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pytest

from bench.copies.lifecycle_demo import EXAMPLES
from cli.main import main
from cli.stack.stack import Stack, free_ports
from conf.names import ClusterName
from conf.topology import Endpoint
from tests.e2e.conftest import C1, C2
from tests.secret_files import private

CHROMIUM = Path("/usr/bin/chromium")
ROOT = Path(__file__).parents[3]
PICTURES = ROOT / "build" / "console"
AXE = ROOT / "tests" / "console" / "vendor" / "axe.min.js"
PASSWORD = "correct horse"
PROCESS = """<?xml version="1.0"?>
<process name="report" xmlns="uri:falcon:process:0.1">
  <clusters>
    <cluster name="##name##"><validity start="##start##" end="##end##"/></cluster>
  </clusters>
  <parallel>1</parallel>
  <order>FIFO</order>
  <frequency>hours(1)</frequency>
  <timezone>UTC</timezone>
  <workflow engine="hive" path="##script##"/>
</process>
"""
_START = 120  # seconds; usually 3


@dataclass(frozen=True, slots=True)
class Console:
    """`ada` is an administrator, `ann` may ask where a statement would run. `settings` are those of
    the console, and of the lifecycle server that it asks at `lifecycle`."""

    url: str
    settings: Path
    lifecycle: Endpoint


@pytest.fixture(scope="session")
def console(stack: Stack, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Console]:
    """A console for the stack, whose users log in with PASSWORD."""
    folder = tmp_path_factory.mktemp("console")
    listen, lifecycle = free_ports(2)
    passwords = folder / "passwords"
    passwords.write_text(_line("ada") + _line("ann"))
    passwords.chmod(0o600)
    settings = folder / "causeway.toml"
    token = private(folder / "token", "secret\n")
    own = (
        f'lifecycle.port = {lifecycle.port}\nlifecycle.token.file = "{token}"\n'
        f"console.port = {listen.port}\n"
        '"hive.server2.authentication" = "FILE"\n'
        f'proxy.password.file = "{passwords}"\n'
        'console.administrators = "ada"\n'
    )
    settings.write_text(own + stack.layout.settings.read_text())
    command = [sys.executable, "-m", "cli.main", "console", "--conf", str(settings)]
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT)
    try:
        _wait(f"http://{listen}/login", process, folder / "log")
        yield Console(f"http://{listen}", settings, lifecycle)
    finally:
        process.terminate()
        process.wait(60)


def _wait(url: str, process: "subprocess.Popen[bytes]", log: Path) -> None:
    deadline = time.monotonic() + _START
    while time.monotonic() < deadline:
        assert process.poll() is None, log.read_text()
        with suppress(OSError):
            urlopen(url, timeout=5).close()
            return
        time.sleep(0.1)
    pytest.fail(f"{url} did not start: {log.read_text()}")


def _line(user: str) -> str:
    hashed = hashlib.scrypt(PASSWORD.encode(), salt=bytes(16), n=1 << 10, r=8, p=1, dklen=32)
    salt, text = (base64.b64encode(each).decode().rstrip("=") for each in (bytes(16), hashed))
    return f"{user}:$scrypt$ln=10,r=8,p=1${salt}${text}\n"


@pytest.fixture
def lifecycle(console: Console, stack: Stack, tmp_path: Path) -> Iterator[Path]:
    """A lifecycle server with the process `report`, whose script is the file and fails."""
    script, store = tmp_path / "report.hql", str(tmp_path / "lifecycle.db")
    script.write_text("SELECT * FROM nowhere.t")
    hour = datetime.now(UTC).replace(minute=0, second=0, microsecond=0)
    values = {
        "name": C1,
        "start": f"{hour - timedelta(hours=1):%Y-%m-%dT%H:%MZ}",
        "end": f"{hour:%Y-%m-%dT%H:%MZ}",
        "script": str(script),
    }
    (tmp_path / "process.xml").write_text(PROCESS)
    for cluster in (C1, C2):
        submit(EXAMPLES / "cluster.xml", store, _addresses(stack, cluster))
    submit(tmp_path / "process.xml", store, values)
    assert main(["entity", "schedule", "process", "report", "--store", store]) == 0
    command = [sys.executable, "-m", "cli.main", "lifecycle", "serve", "--poll", "0.5"]
    command += ["--conf", str(console.settings), "--store", store, "--default-cluster", C1]
    with (tmp_path / "log").open("wb") as log:
        process = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT)
    try:
        _wait(f"http://{console.lifecycle}/health", process, tmp_path / "log")
        yield script
    finally:
        process.terminate()
        process.wait(60)


def submit(document: Path, store: str, values: Mapping[str, str]) -> None:
    sets = [word for name, value in values.items() for word in ("--set", f"{name}={value}")]
    assert main(["entity", "submit", str(document), *sets, "--store", store]) == 0


def _addresses(stack: Stack, cluster: ClusterName) -> dict[str, str]:
    """The placeholders of a cluster's document."""
    return {
        "name": cluster,
        "colo": cluster,
        "filesystem": stack.layout.filesystem(cluster),
        "hiveserver": str(stack.ports.hs2[cluster]),
        "metastore": f"thrift://{stack.ports.metastore}",
    }


@dataclass(slots=True)
class Watched:
    """A page of Chromium, and what it did: lines of its console, and addresses that it asked."""

    page: Any
    url: str
    lines: list[str] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)

    def open(self, path: str) -> None:
        self.page.goto(self.url + path)

    def open_until(self, path: str, wanted: Any) -> None:
        """Opens the page again until it has what is wanted: the history is written in batches."""
        deadline = time.monotonic() + _START
        self.open(path)
        while not wanted.count():
            assert time.monotonic() < deadline, f"{path}: {self.page.content()}"
            self.page.wait_for_timeout(500)
            self.open(path)

    def log_in(self, user: str) -> None:
        self.open("/login")
        self.page.get_by_label("User").fill(user)
        self.page.get_by_label("Password").fill(PASSWORD)
        self.page.get_by_role("button", name="Log in").click()
        self.page.wait_for_load_state()

    def picture(self, name: str) -> None:
        """Saves a picture of the page in light and in dark colours."""
        PICTURES.mkdir(parents=True, exist_ok=True)
        for scheme in ("light", "dark"):
            self.page.emulate_media(color_scheme=scheme)
            self.page.screenshot(path=PICTURES / f"{name}-{scheme}.png", full_page=True)
            self.check(f"{name} {scheme}")
        self.page.emulate_media(color_scheme="light")

    def check(self, name: str) -> None:
        """Fails if axe-core finds a fault of accessibility."""
        if not self.page.evaluate("() => typeof axe === 'object'"):
            self.page.evaluate(AXE.read_text())  # not by a script element, which the policy forbids
        found = self.page.evaluate("async () => (await axe.run()).violations")
        words = [(each["id"], [node["html"][:200] for node in each["nodes"][:3]]) for each in found]
        assert words == [], name


@pytest.fixture
def chromium(console: Console) -> Iterator[Watched]:
    with browsing(console.url) as watched:
        yield watched


@contextmanager
def browsing(url: str) -> Iterator[Watched]:
    """A page of a new browser. Afterwards: nothing failed in it, and it asked the console alone."""
    if not CHROMIUM.exists():
        pytest.skip(f"{CHROMIUM} is not installed")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=CHROMIUM, args=["--no-sandbox", "--disable-background-networking"]
        )
        page = browser.new_page(viewport={"width": 1280, "height": 800})
        page.set_default_timeout(60_000)
        watched = Watched(page, url)
        page.on("console", lambda line: watched.lines.append(f"{line.type}: {line.text}"))
        page.on("pageerror", lambda error: watched.lines.append(f"pageerror: {error}"))
        page.on("request", lambda request: watched.asked.append(request.url))
        yield watched
        browser.close()
    assert [each for each in watched.asked if not each.startswith(f"{url}/")] == []
    assert watched.lines == []
