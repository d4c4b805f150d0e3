"""The guard's jar, where it was built; what it does is tested with real Spark in tests/e2e."""

import re
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from zipfile import ZipFile

import pytest

from cli.stack.plan import GUARD
from cli.stack.stack import guard_jar

ROOT = Path(__file__).parents[2]
SOURCES = ROOT / "guard" / "src" / "main" / "java" / "causeway" / "guard"


def test_it_has_the_class_that_servers_are_told_of() -> None:
    jar = guard_jar()
    if jar is None:
        pytest.skip("no guard: `make guard` builds it")
    with ZipFile(jar) as packed:
        classes = {name for name in packed.namelist() if name.endswith(".class")}
    assert GUARD.replace(".", "/") + ".class" in classes
    assert all(name.startswith("causeway/guard/") for name in classes)


def test_virtual_machines_can_load_it_as_an_agent() -> None:
    jar = guard_jar()
    if jar is None:
        pytest.skip("no guard: `make guard` builds it")
    with ZipFile(jar) as packed:
        manifest = packed.read("META-INF/MANIFEST.MF").decode()
        assert "causeway/guard/StorageAgent.class" in packed.namelist()
    assert "Premain-Class: causeway.guard.StorageAgent" in manifest.splitlines()


def test_it_brings_nothing_of_spark_along() -> None:
    scopes = [
        element.text
        for element in ElementTree.parse(ROOT / "guard" / "pom.xml").iter()
        if element.tag.endswith("}scope")
    ]
    assert scopes
    assert set(scopes) == {"provided"}


def test_its_settings_are_those_of_its_page() -> None:
    code = "".join(path.read_text() for path in SOURCES.glob("*.java"))
    page = (ROOT / "docs" / "guide" / "guard.md").read_text()
    names = set(re.findall(r'"(spark\.causeway\.[a-z.]+)"', code))
    assert len(names) == 3
    for name in names:
        assert name in page
