"""`causeway serve`: errors at the start, and SIGHUP."""

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from cli.main import main
from cli.stack.stack import free_ports

CONF = """
hive.default.cluster.name = "east"
hive.metastore.uris = "thrift://127.0.0.1:1"
hive.server2.thrift.port = {port}
[hive.cluster.properties.east]
FileSystem = "file:///east"
JobTracker = "127.0.0.1:2"
"""


def test_a_taken_port_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        conf = tmp_path / "causeway.toml"
        conf.write_text(CONF.format(port=port))
        assert main(["serve", "--conf", str(conf)]) == 1
    error = capsys.readouterr().err
    assert f"[CW504] 127.0.0.1:{port}" in error
    assert "Traceback" not in error


def _holds_back_hup(pid: int) -> bool:
    status = Path(f"/proc/{pid}/status").read_text()
    blocked = next(line for line in status.splitlines() if line.startswith("SigBlk:"))
    return bool(int(blocked.split()[1], 16) & 1 << signal.SIGHUP - 1)


def _until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.001)


@pytest.mark.slow
@pytest.mark.parametrize("workers", [1, 2])
def test_sighup_before_serving_reloads_when_it_serves(tmp_path: Path, workers: int) -> None:
    """Of several, the workers begin with what was reloaded."""
    port = free_ports(1)[0].port
    conf, log = tmp_path / "causeway.toml", tmp_path / "log"
    conf.write_text(f"proxy.workers = {workers}\n{CONF.format(port=port)}")
    argv = (sys.executable, "-m", "cli.main", "serve", "--conf", str(conf))
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    with (
        log.open("wb") as errors,
        subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=errors, env=env) as process,
    ):
        try:
            assert process.stdout is not None
            _until(lambda: process.poll() is not None or _holds_back_hup(process.pid))
            process.send_signal(signal.SIGHUP)
            assert process.stdout.readline() == f"listening 127.0.0.1:{port}\n".encode()
            if workers == 1:
                _until(lambda: b"reloaded: nothing changed" in log.read_bytes())
        finally:
            process.terminate()
    assert process.returncode == 0


def test_an_unknown_setting_is_named_with_its_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    conf = tmp_path / "causeway.toml"
    conf.write_text(f"proxy.drain.timeout = 'soon'\n{CONF.format(port=1)}")
    assert main(["serve", "--conf", str(conf)]) == 1
    result = capsys.readouterr().err
    assert result.startswith(f"causeway: [CW502] {conf}: proxy.drain.timeout: not a time")
    assert "'soon'" in result


def test_a_bad_file_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["serve", "--conf", str(tmp_path / "none.toml")]) == 1
    assert capsys.readouterr().err.startswith("causeway: [CW501]")
