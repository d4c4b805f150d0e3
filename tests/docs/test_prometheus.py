"""A real Prometheus with docs/examples/monitoring, which scrapes a proxy and a lifecycle server.

The proxy is before fake Thrift Servers, one of which stops. Prometheus evaluates the rules and has
data for each panel of the dashboards.
"""

import asyncio
import json
import re
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlencode
from urllib.request import urlopen

import pytest

from cli.stack.stack import free_ports
from conf.names import TableRef
from conf.settings.operating import Operating
from conf.topology import Endpoint
from proxy.limits import Limits
from tests.cli.lifecycle.running_port import running_port
from tests.docs.pages import ROOT
from tests.proxy.fakes import WEST
from tests.proxy.running import Site, play
from tests.secret_files import private, readable

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(shutil.which("prometheus") is None, reason="Prometheus is not on PATH"),
]
HERE = ROOT / "docs" / "examples" / "monitoring"
PATIENCE = 60  # seconds; usually 3
DAYS = 3 * 86_400.0
FAILING = {
    "SELECT 1 FROM e": "no such column",
    "SELECT 2 FROM e": "[CW361] The statement reads what the decision did not know.",
}
EMPTY = {
    "causeway_stopped_total": "no statement ran too long",
    "causeway_idle_closed_total": "nothing was idle for so long",
    "causeway_refused_total": "no limit was reached",
}
"""Panels without data here, by their metric, and why: these begin with their first event."""
PRESENT = {
    "CausewayClusterDown": "pending",
    "CausewayEndpointDown": "pending",
    "CausewayCopyStale": "pending",
    "CausewayLifecycleDown": "pending",
    "CausewayClaimRefused": "firing",
}
"""Alerts that have to be there after what the test does; `pending` ones have a `for`."""


@dataclass(frozen=True, slots=True)
class Prometheus:
    where: Endpoint

    def get(self, path: str, **parameters: str) -> Any:
        with urlopen(f"http://{self.where}/api/v1/{path}?{urlencode(parameters)}") as answer:
            found = json.loads(answer.read())
        assert found["status"] == "success", found
        return found["data"]

    def rules(self) -> list[dict[str, Any]]:
        return [rule for group in self.get("rules")["groups"] for rule in group["rules"]]

    def has(self, expression: str) -> bool:
        return bool(self.get("query", query=expression)["result"])

    def wait(self, missing: Callable[[], object]) -> None:
        """Waits until nothing is missing."""
        deadline = time.monotonic() + PATIENCE
        while found := self._tried(missing):
            assert time.monotonic() < deadline, found
            time.sleep(0.2)

    @staticmethod
    def _tried(missing: Callable[[], object]) -> object:
        try:
            return missing()
        except OSError as error:  # Prometheus does not listen yet
            return error


@contextmanager
def prometheus(folder: Path, proxy: Endpoint, lifecycle: str) -> Iterator[Prometheus]:
    """Prometheus with the example's configuration, but other ports and twice a second."""
    text = (HERE / "prometheus.yml").read_text()
    for old, new in (
        ("127.0.0.1:10009", str(proxy)),
        ("127.0.0.1:10010", lifecycle),
        ("15s", "500ms"),
        ("alerts.yml", str(HERE / "alerts.yml")),
    ):
        assert old in text
        text = text.replace(old, new)
    configuration = folder / "prometheus.yml"
    configuration.write_text(text)
    where = free_ports(1)[0]
    command = [
        "prometheus",
        f"--config.file={configuration}",
        f"--storage.tsdb.path={folder / 'data'}",
        f"--web.listen-address={where}",
    ]
    with (folder / "prometheus.log").open("wb") as log:
        process = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT)
    try:
        yield Prometheus(where)
    finally:
        process.terminate()
        process.wait(30)


def expressions() -> list[str]:
    """Those of the dashboards, as Grafana sends them."""
    panels = [
        panel for path in HERE.glob("*.json") for panel in json.loads(path.read_text())["panels"]
    ]
    found = [target["expr"] for panel in panels for target in panel["targets"]]
    return [each.replace("$__rate_interval", "1m") for each in found]


async def traffic(site: Site) -> None:
    """A statement that succeeds, one that fails in its cluster, one that the guard refuses, and one
    that no cluster can run."""
    client = await site.client()
    assert await client.rows("SELECT * FROM e") == 1
    for failing in ("SELECT 1 FROM e", "SELECT 2 FROM e", "SELECT * FROM e JOIN w"):
        await client.execute(failing)


def without_data(running: Prometheus) -> list[str]:
    """The panels' expressions that find nothing and have no reason for it."""
    missing = [each for each in expressions() if not running.has(each)]
    return [each for each in missing if not set(re.findall(r"causeway_\w+", each)) <= set(EMPTY)]


def other_states(running: Prometheus) -> list[str]:
    """The alerts that do not have the state that they should have, with the one that they have."""
    states = {each["name"]: each["state"] for each in running.rules()}
    return [f"{name}: {states[name]}" for name, state in PRESENT.items() if states[name] != state]


def test_prometheus_evaluates_the_rules_and_has_data_for_the_dashboards(tmp_path: Path) -> None:
    admin = free_ports(1)[0]
    token = readable(private(tmp_path / "token", "t\n"))
    operating = Operating(admin=admin, admin_token=token)

    async def scenario(site: Site) -> None:
        for fake in (site.one, site.two):
            fake.fails = FAILING
        site.metastore.lagging = {(TableRef("default", "e"), WEST): time.time() - DAYS}
        await traffic(site)
        await asyncio.to_thread(running.wait, lambda: not running.has("sum(up) == 2"))
        await traffic(site)
        await asyncio.to_thread(running.wait, lambda: without_data(running))
        rules = running.rules()
        assert [each["name"] for each in rules if each["health"] != "ok"] == []
        assert len(rules) > len(PRESENT)
        await site.west.stop()
        await asyncio.to_thread(lifecycle.close)
        await asyncio.to_thread(running.wait, lambda: other_states(running))

    with ExitStack() as stack:
        lifecycle = stack.enter_context(ExitStack())
        url, _ = lifecycle.enter_context(running_port(tmp_path))
        target = url.removeprefix("http://")
        running = stack.enter_context(prometheus(tmp_path, admin, target))
        play(scenario, Limits(linger=0.0, health_interval=0.5), operating)
