"""Files with secrets are read only if no other user can read them."""

import os
from pathlib import Path

import pytest

from conf.errors import BadSetting
from conf.secrets import ExposedSecret, SecretFile, exposure
from tests.conf.settings.reading import settings_from


@pytest.mark.parametrize("mode", [0o600, 0o400, 0o700])
def test_a_private_file_is_read(tmp_path: Path, mode: int) -> None:
    file = tmp_path / "token"
    file.write_text("w\u00f6rd")
    file.chmod(mode)
    assert SecretFile(file).read_text() == "w\u00f6rd"


@pytest.mark.parametrize("mode", [0o644, 0o640, 0o604, 0o620, 0o602, 0o601, 0o610])
def test_a_file_that_others_can_use_is_refused(tmp_path: Path, mode: int) -> None:
    file = tmp_path / "token"
    file.write_text("word")
    file.chmod(mode)
    with pytest.raises(ExposedSecret) as caught:
        SecretFile(file).read_text()
    assert f"others can use it (mode {mode:04o}): chmod 600" in str(caught.value)
    assert "proxy.secret.files = shared allows it" in str(caught.value)
    assert SecretFile(file, shared=True).read_text() == "word"


@pytest.mark.parametrize(
    ("owner", "mode", "private"),
    [
        (7, 0o600, True),
        (7, 0o640, False),  # only the owner has to read its own file
        (0, 0o600, True),
        (0, 0o440, True),  # root lets our group read it, as Kubernetes does with fsGroup
        (0, 0o640, True),
        (0, 0o660, False),
        (0, 0o444, False),
        (8, 0o600, False),  # its owner could change it
    ],
)
def test_exposure_depends_on_owner_and_mode(owner: int, mode: int, private: bool) -> None:
    assert (exposure(owner, mode, user=7) == "") is private


CLUSTER = '{"c": {"FileSystem": "file:/c", "JobTracker": "c:1", %s}}'
PLAIN = '"Authentication": "PLAIN", "User": "u", "PasswordFile": "%s"'
HTTPS = {"hive.server2.use.SSL": "true"}


@pytest.mark.parametrize(
    ("name", "more"),
    [
        ("proxy.password.file", {"hive.server2.authentication": "FILE"}),
        ("proxy.admin.token.file", {"proxy.admin.port": "1"}),
        ("hive.server2.keystore.path", HTTPS),
        ("proxy.keystore.password.file", {**HTTPS, "hive.server2.keystore.path": "/none"}),
        (
            "hive.server2.authentication.kerberos.keytab",
            {
                "hive.server2.authentication": "KERBEROS",
                "hive.server2.authentication.kerberos.principal": "hive/h@R",
            },
        ),
        ("proxy.login", {}),
        ("hive.cluster.properties", {"hive.default.cluster.name": "c"}),
    ],
)
def test_settings_refuse_files_that_others_can_read(
    tmp_path: Path, name: str, more: dict[str, str]
) -> None:
    file = tmp_path / "secret"
    file.write_text("x")
    value = {
        "proxy.login": "{" + PLAIN % file + "}",
        "hive.cluster.properties": CLUSTER % (PLAIN % file),
    }.get(name, str(file))
    file.chmod(0o644)
    printed = f"{name}: .*others can use it .mode 0644.: chmod 600"
    with pytest.raises(BadSetting, match=printed):
        settings_from({name: value, **more}, "here")
    settings_from({name: value, **more, "proxy.secret.files": "shared"}, "here")
    file.chmod(0o600)
    settings_from({name: value, **more}, "here")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file away")
def test_a_file_of_another_user_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text("word")
    file.chmod(0o600)
    os.chown(file, 12345, -1)
    with pytest.raises(ExposedSecret, match="it belongs to user 12345"):
        SecretFile(file).read_text()
