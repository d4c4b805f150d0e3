"""`causeway serve`: what it says when it cannot."""

import socket
from pathlib import Path

import pytest

from cli.main import main

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


def test_a_setting_that_is_none_is_named_with_its_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    conf = tmp_path / "causeway.toml"
    conf.write_text(f"proxy.drain.timeout = 'soon'\n{CONF.format(port=1)}")
    assert main(["serve", "--conf", str(conf)]) == 1
    told = capsys.readouterr().err
    assert told.startswith(f"causeway: [CW502] {conf}: proxy.drain.timeout: not a time")
    assert "'soon'" in told


def test_a_bad_file_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["serve", "--conf", str(tmp_path / "none.toml")]) == 1
    assert capsys.readouterr().err.startswith("causeway: [CW501]")
