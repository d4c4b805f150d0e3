"""Copies and feeds with an HDFS that requires Kerberos, by the keytab of Causeway's settings."""

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from conf.names import TableRef
from conf.secrets import SecretFile
from conf.settings.security.metastore_login import MetastoreLogin
from conf.topology import Endpoint
from metastore.client.metastore_client import HmsClient
from metastore.client.types import Table
from pipeline.scheduler import entity_service
from pipeline.scheduler.instances.instance import InstanceAction
from pipeline.scheduler.instances.states import InstanceState
from pipeline.scheduler.store.store import Store
from tests.e2e.support import secured_metastore
from tests.e2e.support.secured import need_java_with_kerberos
from tests.e2e.support.secured_hdfs import NAMENODE, SecuredHdfs, secured_hdfs
from tests.e2e.support.secured_metastore import METASTORE
from tests.pipeline.falcon.documents import CLUSTER
from tests.pipeline.scheduler.fake_actions import FEED_KEY, START, any_engine, no_problems
from tests.pipeline.spark.minihdfs import minicluster
from tests.proxy import kdc as kdcs
from tests.proxy.kdc import OURS, Kdc

pytest.importorskip("gssapi", reason="the extra [kerberos] is not installed")
pytestmark = pytest.mark.e2e
LIFE = 20  # seconds of a ticket
FILES, BYTES = 12, 3_000
RATE = 1_000  # bytes a second: the copy takes longer than a ticket lives


_HDFS = {"dfs.namenode.kerberos.principal": NAMENODE}  # the metastore looks at tables' folders


@dataclass(frozen=True, slots=True)
class Site:
    kdc: Kdc
    metastore: Endpoint
    hdfs: SecuredHdfs
    folder: Path

    def copy(self, table: str, *words: str) -> "subprocess.CompletedProcess[str]":
        authority = self.hdfs.uri.partition("://")[2]
        conf = f"{authority}={self.hdfs.conf}"
        return self.causeway("copy", f"default.{table}", "--json", "--hadoop-conf", conf, *words)

    def causeway(self, *words: str) -> "subprocess.CompletedProcess[str]":
        command = [sys.executable, "-m", "cli.main", *words, "--master", "local[2]"]
        command += ["--conf", str(self.folder / "causeway.toml")]
        command += ["--spark-conf", "spark.driver.memory=512m"]
        return subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)

    def client(self) -> HmsClient:
        server, keytab = METASTORE.replace("localhost", "_HOST"), SecretFile(self.kdc.keytab(OURS))
        return HmsClient((self.metastore,), 30.0, None, MetastoreLogin(True, server, OURS, keytab))


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """A table in `west`, a folder of this machine; `east` is the secured HDFS of another realm."""
    minicluster()
    need_java_with_kerberos()
    folder = tmp_path_factory.mktemp("secured")
    (folder / "kdc").mkdir()
    (folder / "hms").mkdir()
    with (
        kdcs.running(folder / "kdc", f"{LIFE}s", (METASTORE,)) as kdc,
        pytest.MonkeyPatch.context() as to,
    ):
        for name, value in kdc.environment.items():
            to.setenv(name, value)
        with (
            secured_hdfs(folder / "hdfs", kdc) as hdfs,
            secured_metastore.metastore(folder / "hms", kdc, "privacy", _HDFS) as endpoint,
        ):
            site = Site(kdc, endpoint, hdfs, folder)
            _write_settings(site)
            _make_table(site)
            yield site


def _write_settings(site: Site) -> None:
    (site.folder / "causeway.toml").write_text(f"""\
[hive]
metastore.uris = "thrift://{site.metastore}"
metastore.sasl.enabled = true
metastore.kerberos.principal = "{METASTORE.replace("localhost", "_HOST")}"
default.cluster.name = "west"

[hive.cluster.properties]
west = {{FileSystem = "file:{site.folder}/west", JobTracker = "h:1"}}
east = {{FileSystem = "{site.hdfs.uri}", JobTracker = "h:2"}}

[metastore.login]
principal = "{OURS}"
keytab = "{site.kdc.keytab(OURS)}"
""")


def _make_table(site: Site) -> None:
    data = site.folder / "west" / "t"
    data.mkdir(parents=True)
    for number in range(FILES):
        (data / f"part-{number}").write_bytes(bytes([number]) * BYTES)
    with site.client() as client:
        client.create_table(_table("west_table", f"file:{data}", {}))


def _table(name: str, location: str, facts: dict[str, str]) -> Table:
    ref = TableRef("default", name)
    return Table.make(ref, [("id", "int")], location=location, parameters=facts)


def test_a_caller_without_a_ticket_is_refused_by_name(site: Site) -> None:
    began = time.monotonic()
    done = site.copy("west_table", "--to", "east", "--spark-conf", "spark.kerberos.keytab=")
    assert done.returncode == 1
    refusal = f"{site.hdfs.uri} ({NAMENODE}) refused "
    assert refusal in done.stdout + done.stderr, done.stderr[-3000:]
    assert "CW615" in done.stdout + done.stderr
    assert time.monotonic() - began < 90


def test_a_copy_that_takes_longer_than_its_ticket_lives(site: Site) -> None:
    """And back, as the copy of another table."""
    began = time.monotonic()
    done = site.copy("west_table", "--to", "east", "--bandwidth", str(RATE))
    assert done.returncode == 0, done.stdout + done.stderr[-3000:]
    assert time.monotonic() - began > 1.5 * LIFE
    assert sent(done) == (FILES, FILES * BYTES)
    with site.client() as client:
        parameters = client.get_table(TableRef("default", "west_table")).parameters
        copied = json.loads(parameters["causeway.copy.east"])["location"]
        assert copied.startswith(f"{site.hdfs.uri}/")
        facts = {"causeway.primary": "east"}
        client.create_table(_table("east_table", copied, facts))
    back = site.copy("east_table", "--to", "west")
    assert back.returncode == 0, back.stdout + back.stderr[-3000:]
    assert sent(back) == (FILES, FILES * BYTES)
    with site.client() as client:
        parameters = client.get_table(TableRef("default", "east_table")).parameters
    copied = json.loads(parameters["causeway.copy.west"])["location"]
    assert contents(Path(copied.removeprefix("file:"))) == contents(site.folder / "west" / "t")


def test_a_feed_to_the_secured_file_system(
    site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the settings of HADOOP_CONF_DIR, by which spark-submit would log in, too."""
    monkeypatch.setenv("HADOOP_CONF_DIR", str(site.hdfs.conf))
    store = Store(str(tmp_path / "lifecycle.db"))
    data = tmp_path / "2013-09-24-07"
    data.mkdir()
    (data / "part-0").write_bytes(b"rows")
    feed = _FEED.format(source=f"file://{tmp_path}", target=f"{site.hdfs.uri}/feed")
    for text in (_cluster("c1", "file:///"), _cluster("c2", site.hdfs.uri), feed):
        entity_service.submit(store, text.encode(), "ann", START, no_problems)
    entity_service.schedule(store, FEED_KEY, "ann", START, any_engine, no_problems)
    words = ["lifecycle", "serve", "--once", "--at", "2013-09-24T07:30Z", "--user", "ann"]
    done = site.causeway(*words, "--store", str(tmp_path / "lifecycle.db"))
    assert done.returncode == 0, done.stderr[-3000:]
    ended = {each.key.schedule.action: each for each in store.instances(FEED_KEY)}
    copied = ended[InstanceAction.REPLICATE]
    assert copied.state is InstanceState.SUCCEEDED, copied.detail


def sent(done: "subprocess.CompletedProcess[str]") -> tuple[int, int]:
    """The files and bytes of a copy."""
    result = json.loads(done.stdout.splitlines()[-1])
    return result["files_sent"], result["bytes_sent"]


def contents(folder: Path) -> dict[str, bytes]:
    return {each.name: each.read_bytes() for each in folder.iterdir() if each.is_file()}


def _cluster(name: str, filesystem: str) -> str:
    return CLUSTER.replace("{name}", name).replace("file:///", filesystem)


_FEED = """<?xml version="1.0"?>
<feed name="clicks" xmlns="uri:falcon:feed:0.1">
  <frequency>hours(1)</frequency>
  <timezone>UTC</timezone>
  <clusters>
    <cluster name="c1" type="source">
      <validity start="2013-09-24T07:00Z" end="2013-09-24T08:00Z"/>
      <retention limit="days(99)" action="delete"/>
    </cluster>
    <cluster name="c2" type="target">
      <validity start="2013-09-24T07:00Z" end="2013-09-24T08:00Z"/>
      <retention limit="days(99)" action="delete"/>
      <locations>
        <location type="data" path="{target}/${{YEAR}}-${{MONTH}}-${{DAY}}-${{HOUR}}"/>
      </locations>
    </cluster>
  </clusters>
  <locations>
    <location type="data" path="{source}/${{YEAR}}-${{MONTH}}-${{DAY}}-${{HOUR}}"/>
  </locations>
  <ACL owner="ann" group="users" permission="0x755"/>
  <schema location="" provider=""/>
</feed>
"""
