"""Virtual environments for clients whose packages clash with ours, from requirements/NAME.lock."""

import os
import subprocess
import venv
from pathlib import Path

import pytest

_ROOT = Path(__file__).resolve().parents[3]


def environment(name: str) -> Path:
    """The folder of its programs. The first call installs it into build/clients/NAME; a test is
    skipped if that fails."""
    lock = _ROOT / "requirements" / f"{name}.lock"
    folder = _ROOT / "build" / "clients" / name
    installed = folder / "installed.lock"
    if not installed.exists() or installed.read_bytes() != lock.read_bytes():
        venv.create(folder, clear=True, with_pip=True)
        _install(name, folder, _ROOT / "requirements" / "build.lock")
        _install(name, folder, lock, "--no-build-isolation", "--no-deps")
        installed.write_bytes(lock.read_bytes())
    return folder / "bin"


def outside_variables() -> dict[str, str]:
    """This process's environment variables without those that lead to our packages."""
    return {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}


def _install(name: str, folder: Path, lock: Path, *options: str) -> None:
    words = [str(folder / "bin" / "python"), "-m", "pip", "install", "--quiet"]
    words += ["--disable-pip-version-check", "--require-hashes", "-r", str(lock), *options]
    done = subprocess.run(
        words,
        capture_output=True,
        text=True,
        timeout=1200,
        check=False,
        env=outside_variables(),
    )
    if done.returncode:
        pytest.skip(f"{name} cannot be installed here: {done.stderr[-300:]}")
