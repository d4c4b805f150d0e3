"""The log-in to the metastore, and what is wrong with one."""

from pathlib import Path

import pytest

from conf.errors import BadSetting
from conf.secrets import SecretFile
from conf.settings.security.metastore_login import MetastoreLogin
from tests.conf.settings.reading import settings_from
from tests.secret_files import private

SASL = "hive.metastore.sasl.enabled"
KERBEROS = {
    SASL: "true",
    "hive.metastore.kerberos.principal": "hive/_HOST@R",
    "metastore.login.principal": "causeway@R",
}


@pytest.fixture
def keys(tmp_path: Path) -> Path:
    return private(tmp_path / "keys", "x")


def test_without_settings_there_is_no_log_in() -> None:
    assert settings_from({}, "x").metastore_login == MetastoreLogin()


def test_a_keytab_or_a_token(keys: Path) -> None:
    login = settings_from({**KERBEROS, "metastore.login.keytab": str(keys)}, "x").metastore_login
    assert login == MetastoreLogin(True, "hive/_HOST@R", "causeway@R", SecretFile(keys))
    token = {SASL: "true", "metastore.login.token.file": str(keys)}
    assert settings_from(token, "x").metastore_login == MetastoreLogin(True, token=SecretFile(keys))


@pytest.mark.parametrize(
    ("values", "why"),
    [
        ({SASL: "true"}, "metastore.login.keytab: missing"),
        (KERBEROS, "metastore.login.keytab: missing"),
        ({"metastore.login.keytab": "KEYS"}, f"it needs {SASL} = true"),
        ({"metastore.login.token.file": "KEYS"}, f"it needs {SASL} = true"),
        (
            {**KERBEROS, "metastore.login.keytab": "KEYS", "metastore.login.token.file": "KEYS"},
            "metastore.login.token.file is set, which replaces it",
        ),
        ({**KERBEROS, "metastore.login.principal": "causeway"}, "neither name@REALM nor"),
        ({**KERBEROS, "hive.metastore.kerberos.principal": "hive@R"}, "not name/host@REALM"),
        ({"hive.metastore.truststore.path": "/nowhere"}, "no such file"),
    ],
)
def test_what_is_wrong_is_said(keys: Path, values: dict[str, str], why: str) -> None:
    written = {name: str(keys) if text == "KEYS" else text for name, text in values.items()}
    with pytest.raises(BadSetting, match=why):
        settings_from(written, "x")


@pytest.mark.parametrize("name", ["metastore.login.keytab", "metastore.login.token.file"])
def test_a_secret_that_others_can_read_is_refused(keys: Path, name: str) -> None:
    keys.chmod(0o644)
    values = dict(KERBEROS) if name.endswith("keytab") else {SASL: "true"}
    with pytest.raises(BadSetting, match="others can use it"):
        settings_from({**values, name: str(keys)}, "x")


def test_a_password_does_not_show() -> None:
    login = settings_from({"hive.metastore.truststore.password": "s3cret"}, "x").metastore_login
    assert login.truststore_password == "s3cret"
    assert "s3cret" not in repr(login)
