"""`causeway check` from its arguments to its output and exit status."""

import json
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from cli.main import main
from tests.metastore.fake import FakeMetastore
from tests.secret_files import private


@pytest.fixture
def metastore() -> Iterator[FakeMetastore]:
    running = FakeMetastore()
    yield running
    running.stop()


def written(folder: Path, metastore: str, **more: str) -> str:
    """A settings file with one cluster, whose Thrift Server is down."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    path = folder / "causeway.toml"
    lines = [
        f'hive.metastore.uris = "thrift://{metastore}"',
        'hive.default.cluster.name = "c1"',
        f"hive.server2.thrift.port = {port}",
        *(f'{name.replace("_", ".")} = "{value}"' for name, value in more.items()),
        "[hive.cluster.properties.c1]",
        'FileSystem = "file:///c1"',
        'JobTracker = "127.0.0.1:1"',
    ]
    path.write_text("\n".join(lines))
    return str(path)


def test_every_fault_is_one_line(
    tmp_path: Path, metastore: FakeMetastore, capsys: pytest.CaptureFixture[str]
) -> None:
    exposed = private(tmp_path / "token", "s3cret-token")
    exposed.chmod(0o644)
    conf = written(
        tmp_path,
        str(metastore.endpoint),
        proxy_admin_token_file=str(exposed),
        snapshot_ttl="soon",
        log_levle="info",
    )
    assert main(["check", "--conf", conf, "--timeout", "10"]) == 1
    out = capsys.readouterr().out
    status = {line.split()[2]: line.split()[0] for line in out.splitlines()[1:-1]}
    assert status == {
        "log.levle": "error",
        "snapshot.ttl": "error",
        "proxy.admin.token.file": "error",
        "hive.server2.thrift.port": "ok",
        "metastore": "ok",
        "cluster": "error",
    }
    assert "not a time such as 20, 20s or 500ms: 'soon'; write: time (default: 60s)." in out
    assert "log.level was meant?" in out
    assert "chmod 600" in out
    assert out.splitlines()[-1] == "error: 4, warning: 0, ok: 2"
    assert "s3cret-token" not in out


def test_offline_reaches_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    conf = written(tmp_path, "ms1.invalid:9083", proxy_audit_file=str(tmp_path / "audit"))
    assert main(["check", "--conf", conf, "--offline", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [each["check"] for each in found["checks"]] == [
        f"settings in {conf}",
        "proxy.audit.file",
    ]
    assert (found["ok"], found["warning"], found["error"]) == (2, 0, 0)


def test_a_server_that_does_not_answer_takes_the_time_limit(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        conf = written(tmp_path, f"127.0.0.1:{silent.getsockname()[1]}")
        assert main(["check", "--conf", conf, "--timeout", "300ms", "--json"]) == 1
    found = {
        each["check"].split()[0]: each for each in json.loads(capsys.readouterr().out)["checks"]
    }
    assert found["metastore"]["status"] == "error"
    assert "in time" in found["metastore"]["finding"] or "within" in found["metastore"]["finding"]


def test_a_file_that_cannot_be_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "--conf", str(tmp_path / "none.toml")]) == 1
    assert "[CW501]" in capsys.readouterr().err


@pytest.mark.parametrize("words", [[], ["--conf", "x.toml", "--timeout", "soon"]])
def test_wrong_usage(words: list[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main(["check", *words])
    assert caught.value.code == 2


def test_a_password_in_the_settings_is_not_printed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("psycopg", reason="psycopg is not installed")
    store = "postgresql://u:hunter2@127.0.0.1:1x/db"
    conf = written(tmp_path, "127.0.0.1:1", history_store=store)
    assert main(["check", "--conf", conf, "--store", store, "--json"]) == 1
    captured = capsys.readouterr()
    assert "history.store" in captured.out
    assert "hunter2" not in captured.out + captured.err
