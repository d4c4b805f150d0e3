"""Packages are pinned by hash, and the check for vulnerabilities names what it did not check."""

import importlib.util
import re
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[2]
LOCKS = [ROOT / "requirements.lock", *sorted((ROOT / "requirements").glob("*.lock"))]
REQUIREMENT = re.compile(
    r"([\w.-]+(?:\[\w,]+\])?==[\w.+!-]+)(?: ; [^\\]+?)?((?: \\\n +--hash=sha256:[0-9a-f]{64})+)"
)


@pytest.mark.parametrize("lock", LOCKS, ids=lambda path: path.stem)
def test_every_package_has_a_version_and_hashes(lock: Path) -> None:
    text = "\n".join(line for line in lock.read_text().split("\n") if not line.startswith("#"))
    rest = REQUIREMENT.sub("", text)
    assert rest.strip() == ""
    assert REQUIREMENT.search(text)


@pytest.mark.parametrize(
    "name", ["Makefile", "Dockerfile", ".ci/run", *(str(each.relative_to(ROOT)) for each in LOCKS)]
)
def test_no_registry_is_named(name: str) -> None:
    text = (ROOT / name).read_text()
    assert re.findall(r"https?://|index-url|find-links|trusted-host", text) == []


def test_nothing_is_installed_without_its_hash() -> None:
    installs = [
        line
        for name in ("Makefile", ".ci/run")
        for line in re.sub(r"\\\n", " ", (ROOT / name).read_text()).splitlines()
        if "-m pip install" in line or "$(PIP)" in line
    ]
    assert len(installs) >= 3
    for line in installs:
        own = "--no-deps --editable ." in line or line.startswith(("PIP :=", "HASHED :="))
        assert own or "--require-hashes" in line, line


def script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("audit", ROOT / ".ci" / "audit.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_an_unchecked_package_is_named() -> None:
    report = {
        "dependencies": [
            {"name": "good", "version": "1", "vulns": []},
            {"name": "odd", "skip_reason": "Dependency not found"},
        ]
    }
    lines, status = script().verdict(report)
    assert status == 0
    assert lines[0] == "1 packages checked, 0 known vulnerabilities"
    assert "NOT CHECKED" in lines[1]
    assert lines[2] == "  odd"


def test_a_known_vulnerability_fails() -> None:
    bad = {"id": "CVE-1", "fix_versions": ["2"]}
    report = {"dependencies": [{"name": "a", "version": "1", "vulns": [bad]}]}
    lines, status = script().verdict(report)
    assert status == 1
    assert lines == ["a 1: CVE-1, fixed in 2", "1 packages checked, 1 known vulnerabilities"]


def test_without_a_report_nothing_was_checked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert script().main(str(tmp_path / "none.json")) == 0
    assert capsys.readouterr().out.startswith("NOT CHECKED")
