"""A wheel contains the man page, and the jars that Maven builds; a script stands in for Maven."""

import os
import shutil
import subprocess
import sys
from pathlib import Path
from zipfile import ZipFile

import pytest

ROOT = Path(__file__).parents[2]
MAN_PAGE = ROOT / "docs" / "reference" / "causeway.1"
MAVEN = """#!/bin/sh
mkdir -p guard/target/spark4
case "$*" in
*spark4*) echo "$@" >guard/target/spark4/causeway-guard-spark4.jar ;;
*) echo "$@" >guard/target/causeway-guard.jar ;;
esac
"""

pytestmark = pytest.mark.slow


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """The files that a build needs, with a single package."""
    folder = tmp_path / "tree"
    (folder / "guard").mkdir(parents=True)
    for name in ("pyproject.toml", "setup.py", "README.md", "LICENSE", "guard/pom.xml"):
        shutil.copy(ROOT / name, folder / name)
    (folder / "docs" / "reference").mkdir(parents=True)
    shutil.copy(MAN_PAGE, folder / "docs" / "reference")
    (folder / "conf").mkdir()
    shutil.copy(ROOT / "conf" / "names.py", folder / "conf")
    return folder


def build(tree: Path, path: str) -> subprocess.CompletedProcess[str]:
    pip = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation"]
    return subprocess.run(
        [*pip, "--wheel-dir", "wheels", "."],
        cwd=tree,
        env=os.environ | {"PATH": path},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


def test_maven_builds_the_jar_of_a_wheel(tree: Path, tmp_path: Path) -> None:
    maven = tmp_path / "mvn"
    maven.write_text(MAVEN)
    maven.chmod(0o755)
    done = build(tree, f"{tmp_path}:/usr/bin:/bin")
    assert done.returncode == 0, done.stderr
    [wheel] = (tree / "wheels").glob("causeway-*.whl")
    with ZipFile(wheel) as packed:
        for name in ("causeway-guard.jar", "causeway-guard-spark4.jar"):
            assert b"package" in packed.read(f"pipeline/spark/{name}")
        assert not [name for name in packed.namelist() if name.endswith(".java")]
        (page,) = (name for name in packed.namelist() if name.endswith("/man1/causeway.1"))
        assert page.endswith(".data/data/share/man/man1/causeway.1"), "pip puts it into share/man"
        assert packed.read(page) == MAN_PAGE.read_bytes()


def test_without_maven_and_jar_there_is_no_wheel(tree: Path, tmp_path: Path) -> None:
    done = build(tree, str(tmp_path / "nothing"))
    assert done.returncode != 0
    assert "there is no mvn" in done.stderr + done.stdout


def test_without_maven_a_jar_that_was_built_before_is_taken(tree: Path, tmp_path: Path) -> None:
    target = tree / "guard" / "target"
    (target / "spark4").mkdir(parents=True)
    (target / "causeway-guard.jar").write_bytes(b"built before")
    (target / "spark4" / "causeway-guard-spark4.jar").write_bytes(b"also built before")
    done = build(tree, str(tmp_path / "nothing"))
    assert done.returncode == 0, done.stderr
    [wheel] = (tree / "wheels").glob("causeway-*.whl")
    with ZipFile(wheel) as packed:
        assert packed.read("pipeline/spark/causeway-guard.jar") == b"built before"
        assert packed.read("pipeline/spark/causeway-guard-spark4.jar") == b"also built before"
