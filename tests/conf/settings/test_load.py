"""Settings from the three kinds of file, and errors that name file, key and reason (DC-C*)."""

import json
from pathlib import Path

import pytest

from conf.errors import BadSetting, BadSettings, UnreadableSettings
from conf.settings.clusters import parse_clusters
from conf.settings.load import examine, load
from conf.settings.security.authentication import Auth
from conf.settings.settings import Coverage
from conf.topology import Cluster, Endpoint
from tests.conf.settings.reading import settings_from

CLUSTERS = json.dumps(
    {
        "C1": {"FileSystem": "hdfs://c1:8020", "JobTracker": "jt1:10001,jt1b:10001"},
        "C2": {
            "FileSystem": "hdfs://c2:8020",
            "JobTracker": "jt2:10001",
            "MetastoreView": "causeway:9084,causeway2:9084",
        },
    }
)
HIVE_SITE = f"""<?xml version="1.0"?>
<configuration>
  <property><name>meta.host</name><value>ms1</value></property>
  <property>
    <name>hive.metastore.uris</name><value>thrift://${{meta.host}}:9083,thrift://ms2:9083</value>
  </property>
  <property><name>hive.default.cluster.name</name><value>C1</value></property>
  <property><name>hive.use.default.cluster</name><value>TRUE</value></property>
  <property><name>hive.cluster.properties</name><value>{CLUSTERS}</value></property>
  <property><name>hive.server2.thrift.port</name><value>10009</value></property>
  <property><name>hive.server2.thrift.bind.host</name><value>::1</value></property>
  <property><name>hive.server2.authentication</name><value>nosasl</value></property>
  <property><name>hive.exec.parallel</name><value>true</value></property>
</configuration>
"""
TOML = """
hive.default.cluster.name = "C1"
hive.use.default.cluster = true
hive.server2.thrift.port = 10009
hive.server2.thrift.bind.host = "::1"
hive.server2.authentication = "NOSASL"

[hive.metastore]
uris = ["thrift://ms1:9083", "thrift://ms2:9083"]

[hive.cluster.properties.C1]
FileSystem = "hdfs://c1:8020"
JobTracker = "jt1:10001,jt1b:10001"

[hive.cluster.properties.C2]
FileSystem = "hdfs://c2:8020"
JobTracker = "jt2:10001"
MetastoreView = "causeway:9084,causeway2:9084"
"""


def _written(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.write_text(text)
    return path


@pytest.mark.parametrize(("name", "text"), [("hive-site.xml", HIVE_SITE), ("causeway.toml", TOML)])
def test_both_kinds_of_file_give_the_same_settings(tmp_path: Path, name: str, text: str) -> None:
    settings = load(_written(tmp_path, name, text))
    assert settings.topology.clusters == {
        "C1": Cluster("C1", "hdfs://c1:8020", (Endpoint("jt1", 10001), Endpoint("jt1b", 10001))),
        "C2": Cluster("C2", "hdfs://c2:8020", (Endpoint("jt2", 10001),)),
    }
    assert settings.topology.default == "C1"
    assert settings.topology.use_default
    assert settings.metastores == (Endpoint("ms1", 9083), Endpoint("ms2", 9083))
    assert settings.views == {"C2": (Endpoint("causeway", 9084), Endpoint("causeway2", 9084))}
    assert settings.listen == Endpoint("::1", 10009)
    assert settings.identity.methods == {Auth.NOSASL}
    assert settings.coverage is Coverage.READ


def test_endpoints_of_the_embedded_stack(tmp_path: Path) -> None:
    result = {
        "proxy": {"host": "127.0.0.1", "port": 10000},
        "metastore": {"uri": "thrift://127.0.0.1:9083"},
        "clusters": {
            "west": {
                "hs2": "127.0.0.1:1",
                "filesystem": "file:///w",
                "metastore": "thrift://127.0.0.1:2",
            },
            "east": {"hs2": "127.0.0.1:3", "filesystem": "file:///e"},
        },
    }
    settings = load(_written(tmp_path, "endpoints.json", json.dumps(result)))
    assert settings.topology.default == "west"
    assert settings.topology.clusters["east"].hs2 == (Endpoint("127.0.0.1", 3),)
    assert settings.views == {"west": (Endpoint("127.0.0.1", 2),)}
    assert settings.listen == Endpoint("127.0.0.1", 10000)
    assert settings.metastores == (Endpoint("127.0.0.1", 9083),)


def test_a_file_without_clusters_is_valid(tmp_path: Path) -> None:
    settings = load(_written(tmp_path, "hive-site.xml", "<configuration/>"))
    assert not settings.topology.in_use
    assert settings.metastores == ()


@pytest.mark.parametrize(
    ("name", "value", "reason"),
    [
        ("hive.cluster.properties", "{", "not JSON"),
        ("hive.cluster.properties", "[" * 100_000, "not JSON"),
        ("hive.cluster.properties", "[]", "not a JSON object"),
        ("hive.cluster.properties", '{"C1": 7}', "cluster C1: not an object"),
        ("hive.cluster.properties", '{"C1": {"FileSystem": "x://y"}}', "C1: JobTracker is missing"),
        ("hive.cluster.properties", '{"C1": {"JobTracker": "a:1"}}', "C1: FileSystem is missing"),
        (
            "hive.cluster.properties",
            '{"C1": {"Filesystem": "x://y", "JobTracker": "a:1"}}',
            "unknown key 'Filesystem'; FileSystem was meant",
        ),
        (
            "hive.cluster.properties",
            '{"C1": {"FileSystem": "/data", "JobTracker": "a:1"}}',
            "C1: FileSystem: not a URI",
        ),
        (
            "hive.cluster.properties",
            '{"C1": {"FileSystem": "x://y", "JobTracker": "a"}}',
            "C1: JobTracker: not host:port: 'a'",
        ),
        ("hive.cluster.properties", '{"C 1": {}}', "'C 1' is not a cluster name"),
        ("hive.cluster.properties", '{"C1": {}, "C1": {}}', "'C1' is named twice"),
        ("hive.default.cluster.name", "C9", "'C9' is not one of C1, C2"),
        ("hive.default.cluster.name", "", "missing; it has to be one of C1, C2"),
        ("hive.use.default.cluster", "yes", "neither true nor false: 'yes'"),
        ("hive.metastore.uris", "ms1:9083", "not thrift://host:port"),
        ("hive.metastore.uris", "thrift://ms1", "not host:port: 'ms1'"),
        ("hive.server2.thrift.port", "70000", "not a port: '70000'"),
        ("hive.server2.authentication", "PAM", "PAM is not offered"),
        ("router.coverage", "all", "not one of read, table"),
        ("snapshot.writers", "all", "not one of any, views"),
        ("snapshot.writers", "views", "what changes through C1 is not reported"),
        ("snapshot.ttl", "soon", "not a time"),
        ("snapshot.ttl", "0s", "not a time"),
        ("snapshot.limit", "0", "not a number above 0"),
        ("metastore.timeout", "-1", "not a time"),
    ],
)
def test_an_error_names_file_key_and_reason(name: str, value: str, reason: str) -> None:
    good = {"hive.cluster.properties": CLUSTERS, "hive.default.cluster.name": "C1"}
    with pytest.raises(BadSetting) as caught:
        settings_from({**good, name: value}, "etc/hive-site.xml")
    assert f"etc/hive-site.xml: {name}: " in str(caught.value)
    assert reason in str(caught.value)


def test_every_problem_of_a_file_is_reported(tmp_path: Path) -> None:
    """Also each cluster and key; and nothing that only follows from another problem."""
    exposed = tmp_path / "password"
    exposed.write_text("secret")
    exposed.chmod(0o644)
    values = {
        "hive.cluster.properties": json.dumps(
            {
                "C1": {"FileSystem": "/data", "JobTracker": "jt1", "Queue": "x"},
                "C2": {
                    "FileSystem": "hdfs://c2",
                    "JobTracker": "jt2:1",
                    "Authentication": "PLAIN",
                    "PasswordFile": str(exposed),
                },
            }
        ),
        "hive.default.cluster.name": "C9",
        "snapshot.writers": "views",
        "hive.conf.restricted.list": "a.b",
        "hive.server2.thrift.port": "0",
        "proxy.admin.port": "9000",
        "proxy.admin.token.file": str(exposed),
        "hive.server2.authentication": "PAM",
        "hive.server2.thrift.sasl.qop": "auth-conf",
    }
    with pytest.raises(BadSettings) as caught:
        settings_from(values, "here")
    readable = f"{exposed}: not used, since others can use it (mode 0644): chmod 600"
    expected = {
        "hive.cluster.properties: cluster C1: unknown key 'Queue'",
        "hive.cluster.properties: cluster C1: FileSystem: not a URI: '/data'",
        "hive.cluster.properties: cluster C1: JobTracker: not host:port: 'jt1'",
        "hive.cluster.properties: cluster C2: User is missing; Authentication PLAIN needs it",
        f"hive.cluster.properties: cluster C2: PasswordFile: {readable}",
        "hive.default.cluster.name: 'C9' is not one of C1, C2",
        "hive.server2.thrift.port: not a port: '0'",
        f"proxy.admin.token.file: {readable}",
        "hive.server2.authentication: PAM is not offered; LDAP, FILE or CUSTOM can stand in for it",
    }
    found = {str(each).partition(" (proxy.secret.files")[0] for each in caught.value.problems}
    assert found == expected
    assert all(each.remedy for each in caught.value.problems)


def test_unknown_names_and_wrong_values_of_toml_are_reported_together(tmp_path: Path) -> None:
    text = 'snapshot.tll = "1s"\nlog.levle = "info"\nsnapshot.limit = 0\n'
    with pytest.raises(BadSettings) as caught:
        load(_written(tmp_path, "causeway.toml", text))
    assert [str(each) for each in caught.value.problems] == [
        "snapshot.tll: no such setting; snapshot.ttl was meant?",
        "log.levle: no such setting; log.level was meant?",
        "snapshot.limit: not a number above 0: '0'",
    ]


def test_the_clusters_that_are_right_can_be_examined(tmp_path: Path) -> None:
    clusters = {
        "C1": {"FileSystem": "/data", "JobTracker": "jt1:1"},
        "C2": {"FileSystem": "hdfs://c2", "JobTracker": "jt2:1", "Authentication": "LDAP"},
        "C3": {"FileSystem": "hdfs://c3", "JobTracker": "jt3:1"},
    }
    text = f"hive.cluster.properties = '{json.dumps(clusters)}'\n"
    text += 'hive.default.cluster.name = "C1"'
    found = examine(_written(tmp_path, "causeway.toml", text))
    assert list(found.settings.topology.clusters) == ["C3"]
    assert [each.name for each in found.problems] == ["hive.cluster.properties"] * 2


def test_names_of_hive_site_that_are_almost_a_setting_are_doubtful(tmp_path: Path) -> None:
    names = ("proxy.helth.interval", "hive.metastore.uri", "hive.exec.parallel", "log.level")
    site = "".join(f"<property><name>{name}</name></property>" for name in names)
    path = _written(tmp_path, "hive-site.xml", f"<configuration>{site}</configuration>")
    assert [str(each) for each in examine(path).doubtful] == [
        "proxy.helth.interval: no such setting; proxy.health.interval was meant?",
        "hive.metastore.uri: no such setting; hive.metastore.uris was meant?",
    ]


@pytest.mark.parametrize(
    ("name", "text", "reason"),
    [
        ("hive-site.xml", "<configuration>", "not XML"),
        ("hive-site.xml", "<html/>", "<html> where <configuration>"),
        ("causeway.toml", "a = ", "not TOML"),
        ("endpoints.json", "{}", "not what `causeway up` writes"),
        ("endpoints.json", "{", "not JSON"),
        ("endpoints.json", '{"clusters": []}', "not what `causeway up` writes"),
        ("causeway.ini", "", "neither .xml nor .toml nor .json"),
    ],
)
def test_an_unreadable_file_is_named(tmp_path: Path, name: str, text: str, reason: str) -> None:
    path = _written(tmp_path, name, text)
    with pytest.raises(UnreadableSettings, match=reason) as caught:
        load(path)
    assert str(path) in str(caught.value)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(UnreadableSettings, match=r"nowhere\.toml: No such file"):
        load(tmp_path / "nowhere.toml")


def test_a_misspelt_name_in_toml_is_refused(tmp_path: Path) -> None:
    path = _written(tmp_path, "causeway.toml", 'hive.defualt.cluster.name = "C1"')
    with pytest.raises(BadSetting, match=r"hive\.default\.cluster\.name was meant"):
        load(path)


@pytest.mark.parametrize(
    ("text", "seconds"), [("20", 20.0), ("1.5s", 1.5), ("500ms", 0.5), ("5 min", 300.0)]
)
def test_times(text: str, seconds: float) -> None:
    assert settings_from({"metastore.timeout": text}, "here").metastore_timeout == seconds


def test_clusters_of_a_session_are_parsed_without_other_settings() -> None:
    clusters, views = parse_clusters(CLUSTERS)
    assert list(clusters) == ["C1", "C2"]
    assert list(views) == ["C2"]
