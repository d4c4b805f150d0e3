"""ARCHITECTURE.md names the rules of imports that lint-imports checks, and no others."""

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]


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
