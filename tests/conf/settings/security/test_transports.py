"""Settings of transports: HiveServer2's names, TLS, and errors."""

from pathlib import Path

import pytest

from conf.errors import BadSetting
from conf.secrets import SecretFile
from conf.settings.security.transports import Tls, TlsVersion, Transport, Transports
from tests.conf.settings.reading import settings_from

NAMES = {
    "mode": "hive.server2.transport.mode",
    "http_port": "hive.server2.thrift.http.port",
    "http_path": "hive.server2.thrift.http.path",
    "idle": "hive.server2.thrift.http.max.idle.time",
    "cookies": "hive.server2.thrift.http.cookie.auth.enabled",
    "age": "hive.server2.thrift.http.cookie.max.age",
    "SSL": "hive.server2.use.SSL",
    "keystore": "hive.server2.keystore.path",
    "password": "hive.server2.keystore.password",
    "secret": "proxy.keystore.password.file",
    "oldest": "proxy.tls.oldest",
}


def read(**values: str) -> Transports:
    return settings_from({NAMES[key]: value for key, value in values.items()}, "f").transports


def test_defaults_are_those_of_hiveserver2() -> None:
    assert read() == Transports(Transport.BINARY, 10001, "cliservice", 1800.0, True, 86400.0, None)


@pytest.mark.parametrize(
    ("mode", "binary", "http"),
    [("binary", True, False), ("HTTP", False, True), ("all", True, True)],
)
def test_modes(mode: str, binary: bool, http: bool) -> None:
    transports = read(mode=mode)
    assert (transports.binary, transports.http) == (binary, http)


def test_http_settings() -> None:
    transports = read(http_port="8080", http_path="/a/b/*", cookies="false", age="1h", idle="5m")
    assert (transports.http_port, transports.path, transports.cookies) == (8080, "a/b", False)
    assert (transports.cookie_age, transports.http_idle) == (3600.0, 300.0)


def test_tls() -> None:
    assert read(SSL="true", keystore="/k.p12", password="x", oldest="TLSv1.3").tls == Tls(
        SecretFile(Path("/k.p12")), "x", TlsVersion.V1_3
    )
    assert read(SSL="true", keystore="/k.p12", secret="/s").tls == Tls(
        SecretFile(Path("/k.p12")), password_file=SecretFile(Path("/s"))
    )
    with pytest.raises(BadSetting, match="password is set, too"):
        read(SSL="true", keystore="/k.p12", password="x", secret="/s")
    assert read(SSL="false", keystore="/k.pem").tls is None
    assert "secret" not in repr(read(SSL="true", keystore="/k", password="secret"))


@pytest.mark.parametrize(
    ("key", "value"),
    [("SSL", "true"), ("mode", "udp"), ("http_path", "/"), ("http_path", "a?b"), ("age", "-1")],
)
def test_wrong_values_are_refused(key: str, value: str) -> None:
    with pytest.raises(BadSetting):
        read(**{key: value})
