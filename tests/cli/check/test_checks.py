"""Which checks the settings ask for."""

import json
from pathlib import Path
from typing import Any

import pytest

from cli.check import targets
from cli.check.checks import checks_of, passwords_in
from cli.check.contradictions import contradictions
from cli.check.report import Level
from conf.settings.catalog import ROWS
from conf.settings.settings import CLUSTERS, DEFAULT_CLUSTER, Settings
from conf.topology import Endpoint
from tests.conf.settings.reading import settings_from
from tests.proxy.certificates import made
from tests.secret_files import private

CONF = Path("etc/hive-site.xml")


def settings(clusters: dict[str, dict[str, str]] | None = None, **more: str) -> Settings:
    """Names of settings with `_` for `.`."""
    if clusters is None:
        clusters = {"c1": {}}
    values = {}
    if clusters:
        named = {
            name: {"FileSystem": f"hdfs://{name}:8020", "JobTracker": f"{name}:10001", **keys}
            for name, keys in clusters.items()
        }
        values = {
            "hive.cluster.properties": json.dumps(named),
            "hive.default.cluster.name": next(iter(clusters)),
            "hive.metastore.uris": "thrift://ms1:9083",
        }
    own = {name.replace("_", "."): value for name, value in more.items()}
    return settings_from(values | own, "here")


def names(found: Settings, **more: Any) -> list[str]:
    return [each.name for each in checks_of(found, CONF, **more)]


def test_every_server_of_the_clusters_is_asked() -> None:
    clusters = {
        "c1": {"JobTracker": "a:1,b:2", "MetastoreView": "v:3"},
        "c2": {"MetastoreView": "v:4"},
    }
    found = settings(clusters, hive_metastore_uris="thrift://ms1:9083,thrift://ms2:9083")
    assert names(found) == [
        "hive.server2.thrift.port 127.0.0.1:10000",
        "metastore ms1:9083",
        "metastore ms2:9083",
        "cluster c1 a:1",
        "cluster c1 b:2",
        "view c1 v:3",
        "cluster c2 c2:10001",
        "view c2 v:4",
    ]


def test_servers_without_clusters_are_asked_too() -> None:
    found = settings({}, proxy_upstream="a:1,b:2")
    assert names(found)[-2:] == ["cluster upstream a:1", "cluster upstream b:2"]


def test_the_addresses_that_the_proxy_listens_on() -> None:
    found = settings({}, hive_server2_transport_mode="all", hive_server2_thrift_bind_host="0.0.0.0")
    ports = [each.target for each in checks_of(found, CONF)]
    assert [each.endpoint for each in ports if isinstance(each, targets.ProxyAddress)] == [
        Endpoint("0.0.0.0", 10000),
        Endpoint("0.0.0.0", 10001),
    ]
    http = settings({}, hive_server2_transport_mode="http")
    assert names(http) == ["hive.server2.thrift.http.port 127.0.0.1:10001"]


def test_the_addresses_of_the_lifecycle_and_of_a_console_that_has_settings(tmp_path: Path) -> None:
    token = str(private(tmp_path / "token", "t"))
    found = settings({}, lifecycle_port="10010", lifecycle_token_file=token, console_viewers="ann")
    assert names(found)[1:] == [
        "hive.server2.thrift.port 127.0.0.1:10000",
        "lifecycle.port 127.0.0.1:10010",
        "console.port 127.0.0.1:10002",
    ]


def test_each_optional_service_is_asked() -> None:
    found = settings(
        {},
        hive_server2_support_dynamic_service_discovery="true",
        hive_zookeeper_quorum="zk1,zk2:2182",
        telemetry_otlp_url="http://traces:4318/v1/traces",
        lifecycle_alert_webhook="https://hooks/x",
        lifecycle_alert_mail_server="mail:25",
        lifecycle_alert_mail_to="a@b",
        catalog_service_impl="acme.catalog:Acme",
        history_store="postgresql://h/db",
        **{"hive.server2.authentication": "LDAP"},
        **{"hive.server2.authentication.ldap.url": "ldap://l1 ldaps://l2"},
        **{"hive.server2.authentication.ldap.baseDN": "dc=x"},
    )
    assert names(found, store="lifecycle.db") == [
        "hive.server2.authentication",
        "LDAP ldap://l1",
        "LDAP ldaps://l2",
        "hive.server2.thrift.port 127.0.0.1:10000",
        "ZooKeeper zk1:2181,zk2:2182",
        "telemetry.*",
        "telemetry.otlp.url traces:4318",
        "lifecycle.alert.webhook hooks:443",
        "catalog.service.impl",
        "lifecycle.alert.mail.server mail:25",
        "history.store",
        "lifecycle store",
    ]


def test_every_setting_that_names_a_secret_file_is_looked_at(tmp_path: Path) -> None:
    file = str(private(tmp_path / "secret", "s"))
    keystore = str(made().pem(tmp_path / "pem"))
    rows = {row.name: file for row in ROWS if "secret file" in row.kind.name}
    rows["hive.server2.keystore.path"] = keystore
    by_keytab = {"metastore.login.keytab": rows.pop("metastore.login.keytab")}
    by_token = {"metastore.login.token.file": rows.pop("metastore.login.token.file")}
    secrets_of_view = ("view.kerberos.keytab", "view.token.key.file")  # not beside a token
    view = {name: rows.pop(name) for name in secrets_of_view}
    ldap = {"proxy.ldap.bindpw.file": rows.pop("proxy.ldap.bindpw.file")}  # instead of FILE
    login = json.dumps({"Authentication": "PLAIN", "User": "u", "PasswordFile": file})
    values = {
        **rows,
        "hive.server2.use.SSL": "true",
        "proxy.admin.use.SSL": "true",
        "view.use.SSL": "true",
        "hive.server2.authentication": "FILE,KERBEROS",
        "hive.server2.authentication.kerberos.principal": "hive/h@R",
        "hive.server2.authentication.spnego.principal": "HTTP/h@R",
        "proxy.login": login,
        "console.login": login,
        "proxy.upstream": "h:1",
        "hive.metastore.sasl.enabled": "true",
        "hive.metastore.kerberos.principal": "hive/h@R",
    }
    logins = {"proxy.login PasswordFile", "console.login PasswordFile"}
    for way in (by_keytab | {"metastore.login.principal": "c@R"}, by_token):
        found = names(settings_from(values | way, "here"))
        assert set(rows) | logins | set(way) - {"metastore.login.principal"} <= set(found)
        assert len(found) == len(set(found))
    view |= {"view.authentication": "KERBEROS", "view.kerberos.principal": "hive/h@R"}
    cluster = {"c1": {"FileSystem": "hdfs://c1:1", "JobTracker": "a:1"}}
    callers = {"view.callers": "spark/*@R=c1", "metastore.login.principal": "c@R"}
    clusters = {CLUSTERS.name: json.dumps(cluster), DEFAULT_CLUSTER.name: "c1"}
    with_view = values | by_keytab | view | callers | clusters
    assert set(secrets_of_view) <= set(names(settings_from(with_view, "here")))
    prefix = "hive.server2.authentication"
    where = {f"{prefix}.ldap.url": "ldaps://l", f"{prefix}.ldap.binddn": "cn=c"}
    assert set(ldap) <= set(names(settings_from({prefix: "LDAP"} | where | ldap, "here")))


def test_logins_of_clusters_have_files(tmp_path: Path) -> None:
    file, ca = str(private(tmp_path / "password", "s")), str(private(tmp_path / "ca", "c"))
    keys = {"Authentication": "PLAIN", "User": "u", "PasswordFile": file, "Tls": "true"}
    found = names(settings({"c1": {**keys, "CaFile": ca}}))
    assert found[:2] == [
        "hive.cluster.properties c1 PasswordFile",
        "hive.cluster.properties c1 CaFile",
    ]


def test_a_setting_that_is_wrong_is_not_looked_at() -> None:
    found = settings()
    wrong = {"hive.server2.thrift.port", "hive.cluster.properties"}
    assert names(found, wrong=wrong) == ["metastore ms1:9083", "cluster c1 c1:10001"]


def test_the_certificates_of_the_ports_for_operators_are_looked_at(tmp_path: Path) -> None:
    ca = private(tmp_path / "ca.pem", "")
    found = settings(
        proxy_admin_use_SSL="true", proxy_admin_keystore_path="/k", proxy_admin_ca_file=str(ca)
    )
    local = {each.name: each.target for each in checks_of(found, CONF) if each.is_local}
    assert isinstance(local["proxy.admin.keystore.path"], targets.ServerCertificate)
    assert isinstance(local["proxy.admin.ca.file"], targets.Authorities)


def test_the_certificate_of_the_views_is_looked_at(tmp_path: Path) -> None:
    ca = private(tmp_path / "ca.pem", "")
    found = settings(view_use_SSL="true", view_keystore_path="/k", view_ca_file=str(ca))
    local = {each.name: each.target for each in checks_of(found, CONF) if each.is_local}
    assert isinstance(local["view.keystore.path"], targets.ServerCertificate)
    assert isinstance(local["view.ca.file"], targets.Authorities)


def test_offline_only_files_are_looked_at(tmp_path: Path) -> None:
    found = settings(proxy_audit_file=str(tmp_path / "audit"), history_store="h.db")
    local = [each.name for each in checks_of(found, CONF) if each.is_local]
    assert local == ["proxy.audit.file"]


def test_passwords_that_the_file_itself_has() -> None:
    found = settings(history_store="postgresql://u:a%20b@h/db?password=c")
    assert passwords_in(found, "postgresql://u:d@h/db") == {"a%20b", "a b", "c", "d"}
    assert f"passwords in {CONF}" in names(found)
    assert passwords_in(settings()) == set()


def test_right_settings_contradict_nothing() -> None:
    assert contradictions(settings()) == []


@pytest.mark.parametrize(
    ("found", "level", "name", "text"),
    [
        (settings({}), Level.ERROR, "hive.cluster.properties", "no cluster"),
        (
            settings(hive_metastore_uris=""),
            Level.ERROR,
            "hive.metastore.uris",
            "missing; clusters need it",
        ),
        (
            settings({"c1": {"JobTracker": "a:1"}, "c2": {"JobTracker": "a:1"}}),
            Level.WARNING,
            "hive.cluster.properties",
            "JobTracker a:1 is named more than once",
        ),
        (
            settings({"c1": {"MetastoreView": "a:1"}, "c2": {"MetastoreView": "a:1"}}),
            Level.ERROR,
            "hive.cluster.properties",
            "MetastoreView a:1 is used for two clusters",
        ),
        (
            settings(hive_server2_transport_mode="all", hive_server2_thrift_http_port="10000"),
            Level.ERROR,
            "hive.server2.thrift.http.port",
            "another listener of the proxy has 127.0.0.1:10000",
        ),
        (
            settings(hive_server2_thrift_bind_host="0.0.0.0"),
            Level.WARNING,
            "hive.server2.authentication",
            "any client can claim any user name",
        ),
        (
            settings(
                hive_server2_authentication="LDAP",
                hive_server2_authentication_ldap_url="ldap://l1",
            ),
            Level.WARNING,
            "hive.server2.authentication.ldap.url",
            "in plain text",
        ),
        (
            settings(lifecycle_host="gw", lifecycle_port="1", lifecycle_token_file="/t"),
            Level.WARNING,
            "proxy.admin.use.SSL",
            "tokens go to gw:1 in plain text",
        ),
        (
            settings(lifecycle_port="10000", lifecycle_token_file="/t"),
            Level.WARNING,
            "lifecycle.port",
            "another part has 127.0.0.1:10000, too",
        ),
        (
            settings(console_host="0.0.0.0"),
            Level.ERROR,
            "console.host",
            "no console starts",
        ),
        (
            settings(proxy_admin_use_SSL="true"),
            Level.WARNING,
            "proxy.admin.keystore.path",
            "not opened without it",
        ),
        (
            settings(history_store="postgresql://u:p@h/db"),
            Level.WARNING,
            "history.store",
            "a password in plain text",
        ),
        (
            settings(
                **{"hive_server2_use_SSL": "true", "hive_server2_keystore_path": "/k"},
                hive_server2_keystore_password="p",
            ),
            Level.WARNING,
            "hive.server2.keystore.password",
            "proxy.keystore.password.file",
        ),
    ],
)
def test_contradictions(found: Settings, level: Level, name: str, text: str) -> None:
    results = [each for each in contradictions(found) if each.name == name]
    assert [each.finding.level for each in results] == [level]
    assert text in results[0].finding.text


def test_nothing_is_said_of_settings_that_are_wrong() -> None:
    assert contradictions(settings({}), wrong={"hive.cluster.properties"}) == []
