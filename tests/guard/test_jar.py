"""The contents of the jars for Spark 3.5 and 4. tests/e2e tests their classes with real Spark."""

import re
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from zipfile import ZipFile

import pytest

from cli.stack.plan import GUARD

ROOT = Path(__file__).parents[2]
SOURCES = ROOT / "guard" / "src" / "main" / "java" / "causeway"
JARS = ("causeway-guard.jar", "spark4/causeway-guard-spark4.jar")


@pytest.fixture(params=JARS)
def built(request: pytest.FixtureRequest) -> Path:
    """One of the jars of `make guard`. Tests are skipped where it was not built."""
    path = ROOT / "guard" / "target" / str(request.param)
    if not path.exists():
        pytest.skip(f"there is no {path}; `make guard` builds it")
    return path


def test_a_jar_has_all_our_classes_and_no_others(built: Path) -> None:
    with ZipFile(built) as packed:
        classes = {name for name in packed.namelist() if name.endswith(".class")}
    assert GUARD.replace(".", "/") + ".class" in classes
    sources = {path.relative_to(SOURCES.parent) for path in SOURCES.rglob("*.java")}
    if "spark4" in built.name:
        sources = {path for path in sources if path.parent.name != "results"}
    assert {str(path.with_suffix(".class")) for path in sources} <= classes
    assert all(name.startswith("causeway/") for name in classes)


def test_classes_of_clusters_are_for_java_8_and_others_for_java_11(built: Path) -> None:
    with ZipFile(built) as packed:
        names = [name for name in packed.namelist() if name.endswith(".class")]
        versions = {name: packed.read(name)[7] for name in names}
    for name, version in versions.items():
        in_clusters = name.startswith(("causeway/guard/", "causeway/hudi/"))
        assert version == (52 if in_clusters else 55), name


def test_each_jar_is_for_its_spark(built: Path) -> None:
    with ZipFile(built) as packed:
        plans = packed.read("causeway/guard/plans/Plans.class")
    immutable = b"()Lscala/collection/immutable/Seq;"  # LogicalPlan.children() of Scala 2.13
    assert (immutable in plans) == ("spark4" in built.name)


def test_virtual_machines_can_load_it_as_an_agent(built: Path) -> None:
    with ZipFile(built) as packed:
        manifest = packed.read("META-INF/MANIFEST.MF").decode()
        assert "causeway/guard/files/StorageAgent.class" in packed.namelist()
    assert "Premain-Class: causeway.guard.files.StorageAgent" in manifest.splitlines()


def test_all_dependencies_are_provided() -> None:
    scopes = [
        element.text
        for element in ElementTree.parse(ROOT / "guard" / "pom.xml").iter()
        if element.tag.endswith("}scope")
    ]
    assert scopes
    assert set(scopes) == {"provided"}


def test_the_page_has_all_settings() -> None:
    code = "".join(path.read_text() for path in SOURCES.rglob("*.java"))
    page = (ROOT / "docs" / "guide" / "guard.md").read_text()
    names = set(re.findall(r'"(spark\.causeway\.[a-z.]+)"', code))
    assert len(names) == 6
    for name in names:
        assert name in page
