"""Settings of a log-in to Hadoop, and its errors; no JVM."""

import os
from pathlib import Path
from typing import Any

import pytest
from py4j.protocol import Py4JNetworkError

from conf.secrets import SecretFile
from conf.settings.security.metastore_login import MetastoreLogin
from pipeline.errors import KerberosFailed
from pipeline.spark.hadoop_login import jvm_settings, log_in, login_settings, realms_of_libkrb5

KEYTAB = SecretFile(Path("/etc/causeway/causeway.keytab"))
LOGIN = MetastoreLogin(True, "hive/_HOST@R", "causeway@R", KEYTAB)


def test_the_metastores_keytab_is_that_of_the_session() -> None:
    settings = login_settings(LOGIN, ["hdfs://c1:8020", "s3a://lake", "hdfs://c2:8020", "file:/w"])
    assert settings == {
        "spark.kerberos.principal": "causeway@R",
        "spark.kerberos.keytab": "/etc/causeway/causeway.keytab",
        "spark.kerberos.access.hadoopFileSystems": "hdfs://c1:8020,hdfs://c2:8020",
        "spark.hadoop.hadoop.kerberos.keytab.login.autorenewal.enabled": "true",
    }


def test_without_a_keytab_there_are_no_settings() -> None:
    token = MetastoreLogin(True, token=SecretFile(Path("/etc/causeway/token")))
    assert login_settings(token, ["hdfs://c1:8020"]) == {}


def test_a_jvm_has_the_settings_of_the_first_endpoint_that_asks_for_kerberos() -> None:
    endpoints = {
        "c1": {"hadoop.security.authentication": "simple", "hadoop.kerberos.kinit.command": "no"},
        "c2": {
            "hadoop.security.authentication": "Kerberos",
            "hadoop.security.auth_to_local": "DEFAULT",
            "hadoop.kerberos.min.seconds.before.relogin": "5",
            "hadoop.security.credential.provider.path": "jceks://file/secrets",
            "dfs.namenode.kerberos.principal": "nn/_HOST@R",
        },
        "c3": {"hadoop.security.authentication": "kerberos", "hadoop.security.auth_to_local": "X"},
    }
    assert jvm_settings(endpoints) == {
        "spark.hadoop.hadoop.security.authentication": "Kerberos",
        "spark.hadoop.hadoop.security.auth_to_local": "DEFAULT",
        "spark.hadoop.hadoop.kerberos.min.seconds.before.relogin": "5",
    }
    assert jvm_settings({"c1": endpoints["c1"]}) == {}


class FakeUsers:
    """Hadoop's UserGroupInformation; `refusal` is raised by a log-in."""

    def __init__(self, secured: bool, refusal: Exception | None = None) -> None:
        self.secured = secured
        self.refusal = refusal
        self.logged_in: list[tuple[str, str]] = []
        # The path of the class in py4j's view of a JVM.
        self.org = self.apache = self.hadoop = self.security = self.UserGroupInformation = self

    def isSecurityEnabled(self) -> bool:
        return self.secured

    def isLoginKeytabBased(self) -> bool:
        return bool(self.logged_in)

    def getLoginUser(self) -> Any:
        return self

    def getUserName(self) -> str:
        return self.logged_in[-1][0]

    def loginUserFromKeytab(self, principal: str, keytab: str) -> None:
        if self.refusal is not None:
            raise self.refusal
        self.logged_in.append((principal, keytab))


def test_a_jvm_logs_in_once_for_each_principal() -> None:
    users = FakeUsers(secured=True)
    for principal in ("a@R", "a@R", "b@R"):
        log_in(users, principal, "/k")
    assert users.logged_in == [("a@R", "/k"), ("b@R", "/k")]


def test_without_kerberos_nothing_logs_in() -> None:
    users = FakeUsers(secured=False)
    log_in(users, "a@R", "/k")
    assert users.logged_in == []


def test_a_refused_log_in_names_principal_and_keytab() -> None:
    users = FakeUsers(secured=True, refusal=Py4JNetworkError("lost"))
    with pytest.raises(KerberosFailed, match=r"no ticket for a@R from /k: Py4JNetworkError"):
        log_in(users, "a@R", "/k")


def test_a_jvm_has_the_realms_of_libkrb5(monkeypatch: pytest.MonkeyPatch) -> None:
    options = "SPARK_SUBMIT_OPTS"
    monkeypatch.delenv(options, raising=False)
    monkeypatch.setenv("KRB5_CONFIG", "/etc/other krb5.conf")
    with realms_of_libkrb5():
        assert os.environ[options] == '"-Djava.security.krb5.conf=/etc/other krb5.conf"'
    assert options not in os.environ
    monkeypatch.setenv(options, "-Xss2m")
    with realms_of_libkrb5():
        assert os.environ[options].startswith('-Xss2m "-Djava.security.krb5.conf=')
    assert os.environ[options] == "-Xss2m"
    for name, value in (
        (options, "-Djava.security.krb5.conf=/mine"),
        ("KRB5_CONFIG", "/etc/a:/etc/b"),
    ):
        monkeypatch.setenv(name, value)
        with realms_of_libkrb5():
            assert "krb5.conf=/etc" not in os.environ[options]
