"""The Helm chart, and what it renders for the values in its folder `ci`.

Helm is built by Go, which takes minutes: `make chart` does, and writes the renderings to `golden`.
Each has the digest of what it was made of, so that without Helm an old rendering fails a test.
"""

import hashlib
import shutil
import subprocess
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.docs.pages import ROOT

CHART = ROOT / "charts" / "causeway"
GOLDEN = Path(__file__).parent / "golden"
VALUES = sorted(path.stem for path in CHART.glob("ci/*.yaml"))
SCHEMA = CHART / "values.schema.json"
_HEAD = "# Rendered by `make chart`; digest of the chart and its values: "
_VERSION = "1.31.0"  # of Kubernetes
Document = dict[str, Any]


def digest(values: str) -> str:
    """Of the templates and of what `values` says."""
    files = (*CHART.glob("*.yaml"), *CHART.glob("templates/*"), CHART / "ci" / f"{values}.yaml")
    found = hashlib.sha256()
    for path in sorted(files):
        found.update(f"{path.relative_to(CHART)}\n".encode())
        found.update(path.read_bytes())
    return found.hexdigest()


def headed(values: str, text: str) -> str:
    return f"{_HEAD}{digest(values)}\n{text}"


def golden(values: str) -> str:
    return (GOLDEN / f"{values}.yaml").read_text()


@cache
def documents(values: str) -> list[Document]:
    """What Kubernetes would get."""
    return [each for each in yaml.safe_load_all(golden(values)) if each]


def named(values: str, *kinds: str) -> dict[str, Document]:
    """The documents of these kinds, by name."""
    found = (each for each in documents(values) if each["kind"] in kinds)
    return {each["metadata"]["name"]: each for each in found}


def settings_files(values: str) -> dict[str, str]:
    """The settings file of each part, as text."""
    found = named(values, "ConfigMap")["try-causeway-settings"]["data"]
    return {name.removesuffix(".toml"): text for name, text in found.items()}


def pods(values: str) -> dict[str, Document]:
    """The pods' specification of each Deployment and StatefulSet, by name."""
    found = named(values, "Deployment", "StatefulSet")
    return {name: each["spec"]["template"]["spec"] for name, each in found.items()}


def part(name: str) -> str:
    """The part that a Deployment or StatefulSet of the release `try` is."""
    return "views" if "-view-" in name else name.rpartition("-")[2]


def helm(*arguments: str, fails: bool = False) -> str:
    """What Helm prints. Skips without Helm."""
    found = shutil.which("helm") or shutil.which(str(ROOT / "build" / "tools" / "helm"))
    if found is None:
        pytest.skip("helm is not installed (make chart builds it)")
    command = [found, *arguments, "--kube-version", _VERSION]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert bool(done.returncode) == fails, done.stderr
    return done.stderr if fails else done.stdout


def rendered(values: str, *more: str, fails: bool = False) -> str:
    path = CHART / "ci" / f"{values}.yaml"
    return helm("template", "try", str(CHART), "--values", str(path), *more, fails=fails)
