"""The metastore of an embedded stack in a checkout without the jar."""

import socket
from pathlib import Path

import pytest

from cli.main import main
from cli.stack.java import find_java
from cli.stack.plan import METASTORE, Service, StackSpec, metastore_service
from cli.stack.stack import Stack, spark_home
from conf.names import ClusterName
from metastore.client.metastore_client import HmsClient
from pipeline.errors import JarMissing

EAST = ClusterName("east")


class MetastoreOnly(Stack):
    def _plan(self) -> list[Service]:
        return [metastore_service(find_java(), spark_home(), None, self.layout, self.ports)]


@pytest.mark.e2e
def test_it_serves_on_the_loopback_address_alone(tmp_path: Path) -> None:
    with MetastoreOnly(StackSpec((EAST,)), tmp_path / "d") as stack:
        for _ in range(2):  # a second connection, after the first one's end
            with HmsClient((stack.ports.metastore,)) as client:
                assert client.get_all_databases() == ["default"]
        another = ("127.0.0.2", stack.ports.metastore.port)  # of this machine, too
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(another)
        pid = stack.pid(METASTORE)
    assert not Path(f"/proc/{pid}").exists()


def test_up_warns_in_one_line_and_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    specs: list[StackSpec] = []

    def missing() -> Path:
        raise JarMissing("there is no causeway-guard.jar.")

    def started(spec: StackSpec, *_: object) -> Stack:
        specs.append(spec)
        raise KeyboardInterrupt

    monkeypatch.setattr("cli.server.up.guard_jar", missing)
    monkeypatch.setattr("cli.server.up.Stack", started)
    assert main(["up", "--port", "0", "--dir", str(tmp_path / "d")]) == 0
    [spec] = specs
    assert spec.guard is None
    [warning] = capsys.readouterr().err.splitlines()
    assert warning.startswith("Warning: [CW613] there is no causeway-guard.jar.")
    for word in ("make guard", "no guard checks", "copies are refused"):
        assert word in warning
