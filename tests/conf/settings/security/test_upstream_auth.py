"""Logins of the proxy in clusters: one for each, with secrets in files."""

import json
from pathlib import Path

import pytest

from conf.errors import BadSetting
from conf.secrets import SecretFile
from conf.settings.clusters import parse_clusters
from conf.settings.load import load
from conf.settings.security.upstream_auth import Login, Proof, parse_login
from tests.conf.settings.reading import settings_from
from tests.secret_files import private


def clusters(**keys: str) -> dict[str, str]:
    values = {"FileSystem": "hdfs://c1:8020", "JobTracker": "jt1:10001"}
    text = json.dumps({"c1": values | keys, "c2": values})
    return {"hive.cluster.properties": text, "hive.default.cluster.name": "c1"}


@pytest.fixture
def secret(tmp_path: Path) -> str:
    private(tmp_path / "secret", "x")
    return str(tmp_path / "secret")


def test_each_cluster_has_its_own_login(secret: str) -> None:
    values = clusters(
        Authentication="plain", User="svc", PasswordFile=secret, Tls="true", CaFile=secret
    )
    logins = settings_from(values, "x").logins
    assert logins == {
        "c1": Login(Proof.PLAIN, "svc", SecretFile(Path(secret)), "", True, Path(secret))
    }
    assert logins["c1"].is_service  # type: ignore[index]


def test_kerberos_in_toml_and_upstream(tmp_path: Path, secret: str) -> None:
    keys = f'Authentication = "KERBEROS"\nUser = "cw/h@R"\nKeytab = "{secret}"\n'
    keys += 'Principal = "spark/_HOST@R"\n'
    (tmp_path / "c.toml").write_text(
        'proxy.upstream = "h:1"\nhive.default.cluster.name = "c1"\n[proxy.login]\n' + keys
        + '[hive.cluster.properties.c1]\nFileSystem = "f:/"\nJobTracker = "h:1"\n' + keys
    )  # fmt: skip
    settings = load(tmp_path / "c.toml")
    login = Login(Proof.KERBEROS, "cw/h@R", SecretFile(Path(secret)), "spark/_HOST@R")
    assert settings.logins == {"c1": login}
    assert settings.upstream_login == login


@pytest.mark.parametrize(
    ("keys", "why"),
    [
        ({"Authentication": "LDAP"}, "c1: Authentication"),
        ({"Authentication": "PLAIN"}, "User is missing"),
        ({"Authentication": "PLAIN", "User": "x"}, "PasswordFile is missing"),
        ({"Authentication": "PLAIN", "User": "x", "PasswordFile": "/no"}, "no such file"),
        ({"User": "x"}, "does not go with"),
        ({"CaFile": "/no"}, "goes with Tls"),
        ({"Tls": "yes"}, "neither true nor false"),
        ({"Password": "x"}, "unknown key"),
    ],
)
def test_wrong_keys_are_refused(keys: dict[str, str], why: str) -> None:
    with pytest.raises(BadSetting, match=why):
        settings_from(clusters(**keys), "x")


def test_clusters_of_a_session_do_not_tell_whether_files_exist(secret: str) -> None:
    values = clusters(Authentication="PLAIN", User="svc", PasswordFile="/not/looked/at")
    assert list(parse_clusters(values["hive.cluster.properties"])[0]) == ["c1", "c2"]


def test_a_login_has_no_other_keys() -> None:
    for text in ('{"Pasword": "x"}', "[]", "{", '{"Tls": "maybe"}'):
        with pytest.raises(ValueError, match=r"unknown|not|neither"):
            parse_login(text)
