"""Jars of Maven Central for tests."""

import subprocess
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from tests.e2e.support.hudi_spark import BUNDLES


def fetch_jar(artifact: str) -> Path:
    """The path of `group:name:version`, fetched on first use. Skips the test if it cannot be
    fetched."""
    _, name, version = artifact.split(":")
    jar = BUNDLES / f"{name}-{version}.jar"
    if jar.exists():
        return jar
    BUNDLES.mkdir(parents=True, exist_ok=True)
    command = ["mvn", "-q", "-B", "dependency:copy", f"-Dartifact={artifact}"]
    try:
        with TemporaryDirectory(dir=BUNDLES) as download:
            subprocess.run(
                [*command, f"-DoutputDirectory={download}"],
                check=True, capture_output=True, text=True, timeout=600,
            )  # fmt: skip
            Path(download, jar.name).replace(jar)
    except (OSError, subprocess.SubprocessError) as error:
        pytest.skip(f"no {artifact}: {error}")
    return jar
