"""`causeway lifecycle serve`, as a process and in one go."""

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from pipeline.scheduler.instances.states import InstanceState
from pipeline.scheduler.store.store import Store
from tests.cli.lifecycle.commands import causeway
from tests.pipeline.falcon.documents import CLUSTER, FEED, PROCESS
from tests.pipeline.scheduler.fake_actions import FIRST, PROCESS_KEY, START, any_engine, no_problems

ROOT = Path(__file__).parents[3]


@pytest.fixture
def kept_signals() -> Iterator[None]:
    """`serve` sets handlers and HADOOP_USER_NAME for its process: put them back."""
    before = {each: signal.getsignal(each) for each in (signal.SIGTERM, signal.SIGINT)}
    user = os.environ.get("HADOOP_USER_NAME")
    yield
    for each, handler in before.items():
        signal.signal(each, handler)
    os.environ.pop("HADOOP_USER_NAME", None)
    if user is not None:
        os.environ["HADOOP_USER_NAME"] = user


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Store:
    """A process over a feed of local directories; nothing listens at its HiveServer2."""
    from pipeline.scheduler import entity_service

    monkeypatch.setenv("CAUSEWAY_STORE", str(tmp_path / "l.db"))
    made = Store(str(tmp_path / "l.db"))
    data = tmp_path / "data"
    script = tmp_path / "summary.hql"
    script.write_text("SELECT 1;")
    feed = FEED
    for table in (
        '<table uri="catalog:tgt:clicks#ds=${YEAR}-${MONTH}-${DAY}-${HOUR};region=us"/>',
        '<table uri="catalog:src:clicks#ds=${YEAR}-${MONTH}-${DAY}-${HOUR};region=us"/>',
    ):
        path = (
            f'<location type="data" path="file://{data}/${{YEAR}}/${{MONTH}}/${{DAY}}/${{HOUR}}"/>'
        )
        feed = feed.replace(table, f"<locations>{path}</locations>")
    (data / "2013/09/24/23").mkdir(parents=True)
    (data / "2013/09/25/00").mkdir(parents=True)
    clusters = [CLUSTER.replace("{name}", name) for name in ("c1", "c2")]
    clusters = [text.replace("localhost:10000", "127.0.0.1:1") for text in clusters]
    process = PROCESS.replace("/app/summary.hql", str(script))
    for text in (*clusters, feed, process):
        entity_service.submit(made, text.encode(), "ann", START, no_problems)
    entity_service.schedule(made, PROCESS_KEY, "ann", FIRST, any_engine, no_problems)
    return made


@pytest.mark.usefixtures("kept_signals")
def test_serve_once_works_and_ends(store: Store, capsys: pytest.CaptureFixture[str]) -> None:
    at = ("--once", "--at", "2013-09-25T00:00Z")
    assert causeway("lifecycle", "serve", *at, "--user", "bob") == 0
    assert store.instances(PROCESS_KEY) == (), "bob's server runs nothing of ann's"
    assert causeway("lifecycle", "serve", *at, "--user", "ann") == 0
    (one,) = store.instances(PROCESS_KEY)
    assert (one.state, one.attempt) == (InstanceState.READY, 1)
    assert "CW762" in one.detail
    events = [json.loads(line) for line in capsys.readouterr().err.splitlines()]
    seen = [each["event"] for each in events if each["event"] != "log"]
    assert seen == ["untold", "untold", "started", "retried"]


@pytest.mark.usefixtures("kept_signals")
@pytest.mark.parametrize("named", ["option", "environment"])
def test_the_views_of_named_settings_are_notified(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, named: str
) -> None:
    """A process may have changed anything: not even its failure is reported before they know."""
    with socket.create_server(("127.0.0.1", 0)) as view:
        conf = tmp_path / "causeway.toml"
        conf.write_text(_SETTINGS.replace("VIEW", f"127.0.0.1:{view.getsockname()[1]}"))
        words = ["--once", "--at", "2013-09-25T00:00Z", "--user", "ann"]
        if named == "option":
            words += ["--conf", str(conf)]
        else:
            monkeypatch.setenv("CAUSEWAY_CONF", str(conf))
        assert causeway("lifecycle", "serve", *words) == 0
        client, _ = view.accept()
        client.settimeout(60)
        assert b"causeway_settle" in client.recv(1000)
        client.close()
    (one,) = store.instances(PROCESS_KEY)
    assert "causeway_settle" in one.detail, "a view that receives and does not answer is named"


_SETTINGS = """
hive.default.cluster.name = "c1"
hive.metastore.uris = "thrift://127.0.0.1:1"
metastore.timeout = "0.3s"

[hive.cluster.properties."c1"]
FileSystem = "file:///w"
JobTracker = "127.0.0.1:1"
MetastoreView = "VIEW"
"""


@pytest.mark.slow
def test_serve_stops_on_sigterm(store: Store, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "cli.main", "lifecycle", "serve", "--user", "ann"]
    words = ["--at", "2013-09-25T00:00Z", "--poll", "0.1"]
    environment = {**os.environ, "CAUSEWAY_STORE": str(tmp_path / "l.db")}
    server = subprocess.Popen(
        [*command, *words], cwd=ROOT, env=environment, stderr=subprocess.PIPE, text=True
    )
    assert server.stderr is not None
    seen = []
    for line in server.stderr:
        seen.append(json.loads(line)["event"])
        if seen[-1] == "retried":
            server.terminate()
    assert server.wait(60) == 0
    server.stderr.close()
    assert seen[:2] == ["untold", "serving"]
    assert InstanceState.RUNNING not in {each.state for each in store.instances(PROCESS_KEY)}
