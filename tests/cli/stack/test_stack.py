"""The stack's life with stand-ins for its JVMs: quick, and what goes wrong is one clear line."""

import json
import os
import socket
import sys
import time
from pathlib import Path

import pytest

from cli.stack.errors import FolderInUse, PortTaken, ServiceDied
from cli.stack.plan import StackSpec
from cli.stack.stack import Stack
from conf.names import ClusterName
from conf.topology import Endpoint

SPEC = StackSpec((ClusterName("east"), ClusterName("west")), views=False)
# Listens where the service that it stands for would.
FAKE = f"""#!{sys.executable}
import os, re, socket, sys
if "causeway.stack.LocalMetastore" in sys.argv:
    port = int(sys.argv[sys.argv.index("causeway.stack.LocalMetastore") + 1])
else:
    site = open(os.environ["SPARK_CONF_DIR"] + "/hive-site.xml").read()
    port = int(re.search(r"thrift.port</name><value>(\\d+)", site)[1])
listening = socket.create_server(("127.0.0.1", port))
print(os.environ.get("CAUSEWAY_CLUSTER", "metastore"), flush=True)
while True:
    listening.accept()[0].close()
"""


def _java(folder: Path, text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    java = folder / "java"
    java.write_text(text)
    java.chmod(0o755)
    monkeypatch.setattr("cli.stack.stack.find_java", lambda: java)
    monkeypatch.setattr("cli.stack.stack.guard_jar_or_none", lambda: folder / "causeway-guard.jar")


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def test_entering_starts_all_and_leaving_ends_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _java(tmp_path, FAKE, monkeypatch)
    seen: list[str] = []
    with Stack(SPEC, tmp_path / "d", lambda name, seconds: seen.append(name)) as stack:
        assert sorted(seen) == ["east", "metastore", "west"]
        pids = [stack.pid(name) for name in seen]
        endpoints = json.loads(stack.layout.endpoints.read_text())
        assert endpoints["metastore"] == {"uri": f"thrift://{stack.ports.metastore}"}
        assert list(endpoints["clusters"]) == ["east", "west"]
        assert endpoints["clusters"]["west"] == {
            "hs2": str(stack.ports.hs2[ClusterName("west")]),
            "filesystem": (tmp_path / "d" / "warehouse" / "west").as_uri(),
        }
        assert stack.layout.log("west").read_text() == "west\n"
        assert all(map(stack.is_running, seen))
    assert not stack.layout.endpoints.exists()
    assert [pid for pid in pids if _is_alive(pid)] == []


def test_a_dead_child_is_one_line_with_its_log(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _java(tmp_path, "#!/bin/sh\necho no memory\nexit 3\n", monkeypatch)
    with pytest.raises(ServiceDied) as caught, Stack(SPEC, tmp_path / "d"):
        pass
    text = str(caught.value)
    assert "ended with status 3" in text
    log = Path(text.partition("see ")[2].strip())
    assert log.read_text() == "no memory\n"
    assert not (tmp_path / "d" / "endpoints.json").exists()


@pytest.mark.slow
def test_a_child_that_dies_later_is_started_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _java(tmp_path, FAKE, monkeypatch)
    with Stack(SPEC, tmp_path / "d") as stack:
        pid = stack.pid("west")
        os.kill(pid, 9)
        while stack.is_running("west"):
            time.sleep(0.01)
        supervision, lines = stack.supervised(), list[str]()
        while not any("answers again" in line for line in lines):
            lines += supervision.step()
            time.sleep(0.01)
        assert "west ended with status -9 and restarts in 1 s" in lines[0]
        assert stack.pid("west") != pid


def test_a_taken_port_is_reported_before_anything_starts(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        proxy = Endpoint("127.0.0.1", taken.getsockname()[1])
        spec = StackSpec(SPEC.clusters, proxy, views=False)
        with pytest.raises(PortTaken, match=str(proxy)), Stack(spec, tmp_path / "d"):
            pass
    assert not (tmp_path / "d").exists()


def test_a_folder_serves_one_stack_at_a_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _java(tmp_path, FAKE, monkeypatch)
    with Stack(SPEC, tmp_path / "d") as first:
        with pytest.raises(FolderInUse), Stack(SPEC, tmp_path / "d"):
            pass
        assert first.is_running("west")
        assert first.layout.endpoints.exists()
    with Stack(SPEC, tmp_path / "d") as again:
        assert again.is_running("west")
