"""Finding causeway-guard.jar."""

from pathlib import Path
from zipfile import ZipFile

import pytest

from pipeline.errors import JarMissing
from pipeline.spark import jar


@pytest.fixture
def built(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(jar, "_INSTALLED", tmp_path / "installed.jar")
    monkeypatch.setattr(jar, "_BUILT", tmp_path / "built.jar")
    return tmp_path / "built.jar"


def pack(path: Path, *classes: str) -> None:
    with ZipFile(path, "w") as archive:
        for name in classes:
            archive.writestr(name, b"")


def test_a_checkout_without_the_jar_names_the_command_that_builds_it(built: Path) -> None:
    with pytest.raises(JarMissing, match=r"built\.jar.*make guard"):
        jar.guard_jar()
    assert jar.guard_jar_or_none() is None


def test_the_jar_of_an_older_checkout_is_refused(built: Path) -> None:
    pack(built, "causeway/guard/files/StorageAgent.class")
    with pytest.raises(JarMissing, match=r"older version.*make guard"):
        jar.guard_jar()
    pack(built, *jar.CLASSES)
    assert jar.guard_jar() == built


def test_half_a_jar_is_refused(built: Path) -> None:
    built.write_bytes(b"PK")
    with pytest.raises(JarMissing, match="make guard"):
        jar.guard_jar()


def test_an_installed_jar_comes_before_a_built_one(built: Path, tmp_path: Path) -> None:
    for path in (built, tmp_path / "installed.jar"):
        pack(path, *jar.CLASSES)
    assert jar.guard_jar() == tmp_path / "installed.jar"
