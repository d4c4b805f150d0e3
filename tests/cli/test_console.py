"""`causeway console` as a process: it names its address, serves over TLS, and stops."""

import signal
import socket
import subprocess
import sys
from pathlib import Path
from urllib.request import urlopen

import pytest

from cli.check.ports import console_port
from cli.check.report import ok
from cli.check.targets import ConsoleAddress
from cli.stack.stack import free_ports
from tests.proxy.certificates import made

ROOT = Path(__file__).parents[2]


def started(folder: Path, *lines: str) -> "subprocess.Popen[str]":
    path = folder / "causeway.toml"
    path.write_text("\n".join(lines))
    return subprocess.Popen(
        [sys.executable, "-m", "cli.main", "console", "--conf", str(path)],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


@pytest.mark.slow
def test_it_serves_over_tls_at_the_address_that_it_prints_until_sigterm(tmp_path: Path) -> None:
    certificate, (listen,) = made(), free_ports(1)
    keystore = certificate.pem(tmp_path / "keystore.pem")
    process = started(
        tmp_path,
        f"console.port = {listen.port}",
        'hive.server2."use.SSL" = true',
        f'hive.server2."keystore.path" = "{keystore}"',
    )
    try:
        assert process.stdout is not None
        line = next(each for each in process.stdout if each.startswith("The console"))
        assert line == f"The console is at https://{listen}\n"
        url = f"https://{listen}/where"
        with urlopen(url, context=certificate.trusting(), timeout=60) as answer:
            assert "where would this run?" in answer.read().decode()
        finding = console_port(ConsoleAddress(listen, tls=True), 60)
        assert finding == ok("in use by a console")
    finally:
        process.send_signal(signal.SIGTERM)
        rest, _ = process.communicate(timeout=60)
    assert process.returncode == -signal.SIGTERM, rest  # uvicorn ends by the signal that it got


@pytest.mark.slow
def test_a_port_that_is_taken_is_named(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        process = started(tmp_path, f"console.port = {port}")
        output, _ = process.communicate(timeout=60)
    assert process.returncode == 1
    assert f"causeway: [CW504] 127.0.0.1:{port}" in output
    assert "Traceback" not in output
