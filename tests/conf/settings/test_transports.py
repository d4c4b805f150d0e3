"""How clients come in, from text."""

from pathlib import Path

import pytest

from conf.errors import BadSetting
from conf.secrets import SecretFile
from conf.settings import transports
from conf.settings.parse import Reader
from conf.settings.transports import Doors, Tls, TlsVersion, Transport


def read(**values: str) -> Doors:
    names = {name.rpartition(".")[2]: name for name in transports.NAMES}
    names |= {
        "http_path": transports.HTTP_PATH,
        "http_port": transports.HTTP_PORT,
        "keystore": transports.KEYSTORE,
    }
    names |= {
        "cookies": transports.COOKIES,
        "age": transports.COOKIE_AGE,
        "idle": transports.HTTP_IDLE,
    }
    names |= {"password": transports.KEYSTORE_PASSWORD, "secret": transports.KEYSTORE_PASSWORD_FILE}
    return transports.read(Reader({names[key]: value for key, value in values.items()}, "f"))


def test_defaults_are_hive_server_2s() -> None:
    assert read() == Doors(Transport.BINARY, 10001, "cliservice", 1800.0, True, 86400.0, None)


@pytest.mark.parametrize(
    ("mode", "binary", "http"),
    [("binary", True, False), ("HTTP", False, True), ("all", True, True)],
)
def test_modes(mode: str, binary: bool, http: bool) -> None:
    there = read(mode=mode)
    assert (there.binary, there.http) == (binary, http)


def test_the_rest() -> None:
    there = read(http_port="8080", http_path="/a/b/*", cookies="false", age="1h", idle="5m")
    assert (there.http_port, there.path, there.cookies) == (8080, "a/b", False)
    assert (there.cookie_age, there.http_idle) == (3600.0, 300.0)


def test_tls() -> None:
    assert read(SSL="true", keystore="/k.p12", password="x", oldest="TLSv1.3").tls == Tls(
        SecretFile(Path("/k.p12")), "x", TlsVersion.V1_3
    )
    assert read(SSL="true", keystore="/k.p12", secret="/s").tls == Tls(
        SecretFile(Path("/k.p12")), password_file=SecretFile(Path("/s"))
    )
    with pytest.raises(BadSetting, match="say the same"):
        read(SSL="true", keystore="/k.p12", password="x", secret="/s")
    assert read(SSL="false", keystore="/k.pem").tls is None
    assert "secret" not in repr(read(SSL="true", keystore="/k", password="secret"))


@pytest.mark.parametrize(
    ("key", "value"),
    [("SSL", "true"), ("mode", "udp"), ("http_path", "/"), ("http_path", "a?b"), ("age", "-1")],
)
def test_what_is_wrong_is_named(key: str, value: str) -> None:
    with pytest.raises(BadSetting):
        read(**{key: value})
