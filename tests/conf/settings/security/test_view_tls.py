"""TLS of the views: what they listen with, and how Causeway calls them."""

from pathlib import Path

import pytest

from conf.errors import BadSetting
from conf.secrets import SecretFile
from conf.settings.security.metastore_login import MetastoreLogin
from conf.settings.security.transports import Tls, TlsVersion
from tests.conf.settings.reading import settings_from
from tests.secret_files import private


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return private(tmp_path / "file", "x")


def test_a_view_listens_with_its_certificate_and_callers_trust_the_authorities(file: Path) -> None:
    names = ("view.keystore.path", "view.keystore.password.file", "view.ca.file")
    values = {
        "view.use.SSL": "true",
        "proxy.tls.oldest": "TLSv1.3",
        **dict.fromkeys(names, str(file)),
    }
    settings = settings_from(values, "x")
    secret = SecretFile(file)
    assert settings.view_tls.tls == Tls(secret, "", TlsVersion.V1_3, secret)
    assert settings.view_login == MetastoreLogin(tls=True, truststore=file)
    assert not settings.metastore_login.tls


def test_a_caller_needs_no_certificate() -> None:
    settings = settings_from({"view.use.SSL": "true"}, "x")
    assert settings.view_tls.tls is None
    assert settings.view_login == MetastoreLogin(tls=True)


@pytest.mark.parametrize(
    "name", ["view.keystore.path", "view.keystore.password.file", "view.ca.file"]
)
def test_settings_without_effect_are_refused(file: Path, name: str) -> None:
    with pytest.raises(BadSetting, match=rf"{name}: it needs view\.use\.SSL = true"):
        settings_from({name: str(file)}, "x")
