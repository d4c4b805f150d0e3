"""Checks of files and certificates of this machine."""

import os
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from cli.check import files, targets
from cli.check.report import Level, error, ok, warning
from conf.errors import BadCertificate
from conf.secrets import ExposedSecret, SecretFile
from conf.settings.security.authentication import Auth, Identity
from conf.settings.security.transports import Tls
from pipeline.scheduler.errors import BadCatalogService
from proxy.auth.passwords.password_file import password_line
from tests.proxy.certificates import made
from tests.secret_files import private

NOW = datetime(2026, 1, 31, tzinfo=UTC)


def test_a_private_file_is_fine(tmp_path: Path) -> None:
    path = private(tmp_path / "token", "t")
    assert files.secret(targets.Secret(SecretFile(path))) == ok(f"{path} (mode 0600)")


def test_an_empty_secret_is_an_error(tmp_path: Path) -> None:
    path = private(tmp_path / "token", "\n")
    assert files.secret(targets.Secret(SecretFile(path))) == error(f"{path} is empty")


def test_a_secret_that_others_can_read_or_that_is_missing_is_not_used(tmp_path: Path) -> None:
    path = private(tmp_path / "token", "t")
    path.chmod(0o644)
    with pytest.raises(ExposedSecret):
        files.secret(targets.Secret(SecretFile(path)))
    assert files.secret(targets.Secret(SecretFile(path, shared=True))).level is Level.OK
    with pytest.raises(FileNotFoundError):
        files.secret(targets.Secret(SecretFile(tmp_path / "none")))


def test_a_settings_file_with_a_password_should_be_private(tmp_path: Path) -> None:
    path = private(tmp_path / "hive-site.xml", "<configuration/>")
    target = targets.SettingsFile(SecretFile(path))
    assert files.settings_file(target).level is Level.OK
    path.chmod(0o644)
    assert files.settings_file(target) == warning("others can use it (mode 0644): chmod 600")
    shared = targets.SettingsFile(SecretFile(path, shared=True))
    assert files.settings_file(shared).level is Level.OK


@pytest.mark.parametrize(
    ("begins", "ends", "finding"),
    [
        (-10, 100, ok("expires in 100 days (2026-05-11)")),
        (-10, 29, warning("expires in 29 days (2026-03-01)")),
        (-10, -2, error("expired 2 days ago (2026-01-29)")),
        (1, 100, error("not valid before 2026-02-01T00:00Z")),
    ],
)
def test_how_long_a_certificate_is_valid(begins: int, ends: int, finding: object) -> None:
    days = timedelta(days=1)
    assert files.validity(NOW + begins * days, NOW + ends * days, NOW) == finding


@pytest.mark.parametrize("form", ["pem", "p12"])
def test_the_certificate_with_its_key(tmp_path: Path, form: str) -> None:
    """That of the tests is valid for two days."""
    certificate = made()
    path = certificate.pem(tmp_path / "c", "pw")
    if form == "p12":
        path = certificate.p12(tmp_path / "c", "pw")
    finding = files.certificate(targets.ServerCertificate(Tls(SecretFile(path), "pw")))
    assert (finding.level, finding.text[:15]) == (Level.WARNING, "expires in 1 da")


def test_the_key_of_another_certificate_is_an_error(tmp_path: Path) -> None:
    path = made().pem(tmp_path / "c")
    other = made().key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    certificate = path.read_bytes().partition(b"-----BEGIN PRIVATE")[0]
    path.write_bytes(certificate + other)
    with pytest.raises(BadCertificate, match=r"(?i)mismatch"):
        files.certificate(targets.ServerCertificate(Tls(SecretFile(path))))


def test_certificate_authorities(tmp_path: Path) -> None:
    path = tmp_path / "ca.pem"
    path.write_bytes(made().certificate.public_bytes(Encoding.PEM) * 2)
    finding = files.authorities(targets.Authorities(path))
    assert finding.level is Level.WARNING
    assert "2 authorities; the first one expires in 1 days" in finding.text
    path.write_text("no certificate")
    with pytest.raises(ValueError, match="PEM"):
        files.authorities(targets.Authorities(path))


def test_a_file_that_causeway_writes(tmp_path: Path) -> None:
    assert files.written(targets.Written(tmp_path / "audit")).level is Level.OK
    missing = files.written(targets.Written(tmp_path / "none" / "audit"))
    assert missing == error(f"no such folder: {tmp_path / 'none'}")
    assert files.written(targets.Written(tmp_path)) == error(f"{tmp_path} is a folder")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_file_that_causeway_may_not_write(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    finding = files.written(targets.Written(tmp_path / "audit"))
    assert finding == error(f"this user may not write {tmp_path}")


def test_the_password_file_is_read(tmp_path: Path) -> None:
    path = private(tmp_path / "passwords", password_line("ann", "pw"))
    identity = Identity(methods=frozenset((Auth.FILE,)), password_file=SecretFile(path))
    assert files.authentication(targets.Authentication(identity)) == ok("FILE")


def test_the_class_of_another_catalog_is_loaded() -> None:
    name = "pipeline.scheduler.actions.tables:HiveCatalogService"
    with pytest.raises(BadCatalogService, match=r"pipeline\.none:Nobody cannot be loaded"):
        files.catalog_class(targets.CatalogClass("pipeline.none:Nobody"))
    assert files.catalog_class(targets.CatalogClass(name)) == ok(f"{name} is installed")
