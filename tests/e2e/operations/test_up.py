"""`causeway up` as users run it: one command, sample data, an end that leaves no process."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

import pytest
from pyhive import hive

from cli.stack.stack import Stack
from conf.topology import Endpoint
from tests.e2e.conftest import commands, rows
from tests.e2e.support.claims import refused_directly

pytestmark = [pytest.mark.e2e, pytest.mark.usefixtures("verified_java")]

SERVICES = {"metastore", "view", "solo", "proxy", "console", "lifecycle"}
TOTALS = "SELECT count(*), sum(orders) FROM sample.totals"
CITIES = "SELECT city, count(*) FROM sample.customers GROUP BY city ORDER BY city"
LIMIT = 300.0  # seconds


@contextmanager
def _up(folder: Path) -> Iterator[tuple["subprocess.Popen[str]", list[str]]]:
    """The process, once it prints how to connect, and its output."""
    words = [sys.executable, "-m", "cli.main", "up", "--clusters", "solo", "--port", "0"]
    words += ["--dir", str(folder)]
    with subprocess.Popen(
        words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True
    ) as process:
        try:
            assert process.stdout is not None
            lines: list[str] = []
            for line in process.stdout:
                lines.append(line)
                if line.startswith("Ctrl-C"):
                    break
            yield process, lines
        finally:
            process.kill()


def _query(folder: Path, *statements: str) -> list[tuple[Any, ...]]:
    proxy = json.loads((folder / "endpoints.json").read_text())["proxy"]
    with closing(hive.connect(proxy["host"], proxy["port"])) as connection:
        return rows(connection.cursor(), *statements)


def _sample_instance(folder: Path) -> str:
    """The state of the newest instance of the sample's process, once it has ended."""
    found = json.loads((folder / "endpoints.json").read_text())["lifecycle"]
    token = Path(found["token_file"]).read_text().strip()
    request = Request(f"http://{found['host']}:{found['port']}/v1/instances?name=sample-totals")
    request.add_header("Authorization", f"Bearer {token}")
    deadline = time.monotonic() + LIMIT
    while time.monotonic() < deadline:
        with urlopen(request, timeout=LIMIT) as answer:
            instances = json.load(answer)["instances"]
        if instances and instances[0]["state"] in ("SUCCEEDED", "FAILED"):
            return str(instances[0]["state"])
        time.sleep(0.2)
    pytest.fail(f"the sample's process has not run: {instances}")


def _solo(folder: Path) -> Endpoint:
    """The cluster's Thrift Server."""
    clusters = json.loads((folder / "endpoints.json").read_text())["clusters"]
    return Endpoint.parse(clusters["solo"]["hs2"])


def _left(folder: Path) -> list[str]:
    """The processes with the folder in their command that do not end in time."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        left = [line for line in commands() if str(folder) in line]
        if not left:
            return []
        time.sleep(0.2)
    return left


def test_no_other_address_of_the_machine_is_listened_on(stack: Stack) -> None:
    assert stack.spec.proxy is not None
    ports = stack.ports
    for mine in (stack.spec.proxy, ports.metastore, *ports.hs2.values(), *ports.views.values()):
        socket.create_connection((mine.host, mine.port), LIMIT).close()
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(("127.0.0.2", mine.port), LIMIT)


def _started_by(pid: int, part: str) -> list[list[str]]:
    """The children of each child of a process whose command has this part."""
    found = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    parents = [each for each in found if part in Path(f"/proc/{each}/cmdline").read_text()]
    return [
        [child for path in Path(f"/proc/{each}/task").glob("*/children")
         for child in path.read_text().split()]
        for each in parents
    ]  # fmt: skip


def _kill_services(process: "subprocess.Popen[str]") -> None:
    """Kills the services of `causeway up`."""
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    killed = 0
    for child in map(int, children):
        command = Path(f"/proc/{child}/cmdline").read_text()
        if "cli.stack.watchdog" not in command:
            os.kill(child, signal.SIGKILL)
            killed += 1
    assert killed == len(SERVICES)


def _told_again(process: "subprocess.Popen[str]") -> set[str]:
    """The services that `causeway up` reports as ended, once all of them answer again."""
    assert process.stdout is not None
    ended: set[str] = set()
    answering: set[str] = set()
    for line in process.stdout:
        name, _, what = line.strip().partition(" ")
        if what.startswith("ended with status"):
            ended.add(name)
        elif what.startswith("answers again"):
            answering.add(name)
            if len(answering) == len(SERVICES):
                break
    return ended


@pytest.mark.provokes("CW361")
def test_data_outlives_term_and_even_kill_leaves_no_orphan(tmp_path: Path) -> None:
    """Services that are killed are started again."""
    folder = tmp_path / "a folder"
    with _up(folder) as (process, lines):
        assert any("beeline -u jdbc:hive2://127.0.0.1:" in line for line in lines), lines
        assert sum("sample." in line for line in lines) == 3
        cities = _query(folder, CITIES)
        assert len(cities) == 3
        _query(folder, "CREATE TABLE sample.mine AS SELECT 7 AS seven")
        assert _sample_instance(folder) == "SUCCEEDED"
        assert _query(folder, TOTALS) == [(3, 2000)]
        assert _started_by(process.pid, "lifecycle_server") == [[]]  # no Spark
        assert "[CW361]" in refused_directly(_solo(folder), CITIES)
        _kill_services(process)
        assert _told_again(process) == SERVICES
        assert _query(folder, CITIES) == cities
        process.send_signal(signal.SIGTERM)
        assert process.wait(LIMIT) == 0
    assert _left(folder) == []
    assert not (folder / "endpoints.json").exists()
    with _up(folder) as (process, lines):
        assert _query(folder, CITIES) == cities
        assert _query(folder, "SELECT seven FROM sample.mine") == [(7,)]
        os.kill(process.pid, signal.SIGKILL)
    assert _left(folder) == []
