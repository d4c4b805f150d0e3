"""Who may call the views: settings, and principals that speak for clusters."""

from pathlib import Path

import pytest

from conf.errors import BadSetting
from conf.secrets import SecretFile
from conf.settings.security.authentication import KerberosService, Qop
from conf.settings.security.metastore_login import MetastoreLogin
from conf.settings.security.view_access import CallerRule, ViewAccess
from tests.conf.settings.reading import settings_from
from tests.secret_files import private

CLUSTERS = {
    "hive.cluster.properties": (
        '{"west": {"FileSystem": "hdfs://w:8020", "JobTracker": "w:10000", "MetastoreView": "v:1"},'
        ' "east": {"FileSystem": "hdfs://e:8020", "JobTracker": "e:10000"}}'
    ),
    "hive.default.cluster.name": "west",
}
OWN = {"metastore.login.principal": "causeway/_HOST@R", "metastore.login.keytab": "KEYS"}
KERBEROS = {
    "view.authentication": "KERBEROS",
    "view.kerberos.principal": "hive/_HOST@R",
    "view.kerberos.keytab": "KEYS",
    "view.callers": "spark-west/*@R=west, spark-east/*@R = east, causeway/*@R=*",
}


@pytest.fixture
def keys(tmp_path: Path) -> Path:
    return private(tmp_path / "keys", "x")


def written(keys: Path, *values: dict[str, str]) -> dict[str, str]:
    merged = {name: text for each in values for name, text in each.items()}
    return {name: str(keys) if text == "KEYS" else text for name, text in merged.items()}


def test_kerberos(keys: Path) -> None:
    settings = settings_from(written(keys, CLUSTERS, OWN, KERBEROS), "x")
    access, file = settings.view_access, SecretFile(keys)
    assert access.kerberos == KerberosService("hive/_HOST@R", file)
    assert access.qop is Qop.AUTH
    assert access.callers[1] == CallerRule("spark-east/*@R", "east")
    assert not settings.metastore_login.sasl
    assert settings.view_login == MetastoreLogin(True, "hive/_HOST@R", "causeway/_HOST@R", file)
    assert list(settings.view_logins.values()) == [settings.view_login]


def test_tokens(keys: Path) -> None:
    more = {"view.token.key.file": "KEYS", "view.token.lifetime": "2h"}
    access = settings_from(written(keys, CLUSTERS, OWN, KERBEROS, more), "x").view_access
    assert (access.token_keys, access.token_lifetime) == (SecretFile(keys), 7_200.0)
    access = settings_from(written(keys, CLUSTERS, OWN, KERBEROS), "x").view_access
    assert (access.token_keys, access.token_lifetime) == (None, 7 * 86_400.0)


def test_without_it_nothing_is_asked() -> None:
    settings = settings_from(CLUSTERS, "x")
    assert settings.view_access == ViewAccess()
    assert settings.view_login == MetastoreLogin()


@pytest.mark.parametrize(
    ("principal", "clusters"),
    [
        ("spark-west/host.example.com@R", {"west"}),
        ("spark-east/host@R", {"east"}),
        ("causeway/host@R", {"*"}),
        ("etl@R", {"west", "east"}),
        ("spark-west@R", set()),
        ("spark-west/host@S", set()),
        ("spark-west/a/b@R", set()),
        ("spark-west/a@R@R", set()),
        ("xspark-west/host@R", set()),
        ("spark-westernmost/host@R", set()),
        ("etl@RR", set()),
        ("axb@R", set()),
        ("a.b@R", {"west"}),
        ("b-1/x@R", {"west"}),
    ],
)
def test_principals_speak_for_their_clusters(principal: str, clusters: set[str]) -> None:
    patterns = [("spark-west/*@R", "west"), ("spark-east/*@R", "east"), ("causeway/*@R", "*")]
    patterns += [("etl@R", "west"), ("etl@R", "east"), ("a.b@R", "west"), ("b-*/x@R", "west")]
    access = ViewAccess(callers=tuple(CallerRule(*each) for each in patterns))
    assert access.clusters_of(principal) == clusters


@pytest.mark.parametrize(
    ("values", "why"),
    [
        ({"view.callers": "spark/*@R=north"}, "'north' is not one of west, east"),
        ({"view.callers": "spark/*@R"}, "not name/host@REALM=cluster"),
        ({"view.callers": "spark=west"}, "not name/host@REALM=cluster"),
        ({"view.callers": "spark/*@*=west"}, "not name/host@REALM=cluster"),
        ({"view.callers": ""}, "view.callers: missing"),
        ({"view.kerberos.keytab": ""}, "view.kerberos.keytab: missing"),
        ({"view.kerberos.principal": "hive@R"}, "not name/host@REALM"),
        ({"view.authentication": "NONE"}, "it needs view.authentication = KERBEROS"),
        ({"metastore.login.keytab": ""}, "metastore.login.keytab: missing"),
        ({"hive.cluster.properties": ""}, "it needs hive.cluster.properties"),
        ({"hadoop.security.auth_to_local": "RULE"}, "not a rule of auth_to_local"),
        (
            {"hive.metastore.sasl.enabled": "true", "metastore.login.token.file": "KEYS"},
            "needs a keytab instead",
        ),
        ({"hive.metastore.sasl.enabled": "true"}, "hive.metastore.kerberos.principal: missing"),
        ({"view.token.lifetime": "1h"}, "view.token.lifetime: less than two hours"),
        ({"view.token.key.file": "/no/such"}, "no such file"),
        (
            {"view.token.key.file": "KEYS", "view.sasl.qop": "auth-conf"},
            "with view.sasl.qop = auth-conf, tokens cannot be used",
        ),
    ],
)
def test_what_is_wrong_is_said(keys: Path, values: dict[str, str], why: str) -> None:
    with pytest.raises(BadSetting, match=why):
        settings_from(written(keys, CLUSTERS, OWN, KERBEROS, values), "x")
