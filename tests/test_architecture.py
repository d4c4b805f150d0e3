"""ARCHITECTURE.md names the rules of imports that lint-imports checks; imported names exist."""

import importlib
import importlib.util
import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
ROOMS = (
    "conf",
    "thriftcodec",
    "database",
    "dialect",
    "router",
    "metastore",
    "proxy",
    "pipeline",
    "console",
    "cli",
)
IMPORT = re.compile(
    rf"^ *from ((?:{'|'.join((*ROOMS, 'bench'))})(?:\.[\w.]+)?) import (\([^)]*\)|.*)", re.MULTILINE
)


def test_architecture_lists_the_import_contracts() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())
    contracts = [each["name"] for each in settings["tool"]["importlinter"]["contracts"]]
    section = (
        (ROOT / "ARCHITECTURE.md").read_text().split("## Rules of imports")[1].split("\n## ")[0]
    )
    assert sorted(re.findall(r"^- \*\*([^*]+)\*\*", section, re.MULTILINE)) == sorted(contracts)


def test_architecture_lists_the_layers_in_the_order_of_the_contracts() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())
    text = " ".join((ROOT / "ARCHITECTURE.md").read_text().split())
    for contract in settings["tool"]["importlinter"]["contracts"]:
        if contract["type"] == "layers" and contract["name"] != (
            "authentication and protocol import no other room of the proxy"
        ):
            assert ", ".join(f"`{each}`" for each in contract["layers"]) in text, contract["name"]


def test_every_imported_name_exists() -> None:
    """Also those that a function imports, which only fail when it runs."""
    imported = {
        (module, name.split()[0]): path
        for room in (*ROOMS, "bench", "tests")
        for path in (ROOT / room).rglob("*.py")
        for module, names in IMPORT.findall(path.read_text())
        for name in re.sub(r"#.*|[()]", "", names).split(",")
        if name.strip()
    }
    assert len(imported) > 1000
    missing = [
        f"{path}: {module}.{name}"
        for (module, name), path in imported.items()
        if not _exists(module, name)
    ]
    assert missing == []


def _exists(module: str, name: str) -> bool:
    if hasattr(importlib.import_module(module), name):
        return True
    return importlib.util.find_spec(f"{module}.{name}") is not None
