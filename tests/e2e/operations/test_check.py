"""`causeway check` of a real metastore, Thrift Servers with guards, and metastore views."""

import json
from pathlib import Path

import pytest

from cli.main import main
from cli.stack.stack import Stack, free_ports
from tests.e2e.conftest import C1, C2, C3
from tests.secret_files import private

pytestmark = pytest.mark.e2e


def test_faults_of_a_configuration_are_reported(
    stack: Stack, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The Thrift Server of c3 is down, and the file of passwords is readable by others."""
    passwords = private(tmp_path / "passwords", "ann:$x")
    passwords.chmod(0o640)
    down, listen = free_ports(2)
    jobtrackers = {**stack.ports.hs2, C3: down}
    clusters = {
        name: {
            "FileSystem": stack.layout.filesystem(name),
            "JobTracker": str(jobtrackers[name]),
            "MetastoreView": str(stack.ports.views[name]),
        }
        for name in (C1, C2, C3)
    }
    conf = tmp_path / "causeway.toml"
    conf.write_text(
        f"""\
hive.metastore.uris = "thrift://{stack.ports.metastore}"
hive.default.cluster.name = "c1"
hive.cluster.properties = '{json.dumps(clusters)}'
hive.server2.thrift.port = {listen.port}
hive.server2.authentication = "FILE"
proxy.password.file = "{passwords}"
history.store = "{tmp_path / "history.db"}"
"""
    )
    assert main(["check", "--conf", str(conf), "--timeout", "60", "--json"]) == 1
    checks = json.loads(capsys.readouterr().out)["checks"]
    found = {each["check"]: (each["status"], each["finding"]) for each in checks}
    errors = {name: text for name, (status, text) in found.items() if status == "error"}
    assert set(errors) == {"proxy.password.file", f"cluster c3 {down}"}
    assert "others can use it (mode 0640): chmod 600" in errors["proxy.password.file"]
    assert "refused" in errors[f"cluster c3 {down}"]
    assert found[f"metastore {stack.ports.metastore}"][1].startswith("it has the calls of Hive 2.3")
    for name in (C1, C2):
        status, text = found[f"cluster {name} {stack.ports.hs2[name]}"]
        assert (status, text.partition(";")[2]) == ("ok", " the guard checks claims")
    for name in (C1, C2, C3):
        status, text = found[f"view {name} {stack.ports.views[name]}"]
        assert status == "ok"
        assert str(stack.layout.warehouse(name)) in text
    assert found[f"hive.server2.thrift.port {listen}"] == ("ok", "free")


def test_the_stack_of_causeway_up_has_no_fault(
    stack: Stack, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its proxy runs, which the check sees by its administration."""
    assert main(["check", "--conf", str(stack.layout.settings), "--timeout", "60"]) == 0
    out = capsys.readouterr().out
    assert "in use by the proxy that runs with these settings" in out
