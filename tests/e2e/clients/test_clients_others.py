"""Clients in Go (gohive) and for node (hive-driver), by every transport and directly.

Their own package managers fetch them; the tests are skipped if that fails.
"""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.e2e.support.fronts import Fronts

pytestmark = pytest.mark.e2e

_CLIENTS = Path(__file__).parent
_NUMBERED = re.compile(r"(stage|[Tt]ask|TID) [\d.]+|#\d+L?")
_STACK = re.compile(r"(\\+n)+\\+tat .*")


def fetched(words: list[str], folder: Path) -> None:
    """Skips when it cannot be done."""
    tool = shutil.which(words[0])
    if tool is None:
        pytest.skip(f"no {words[0]} here")
    done = subprocess.run(
        [tool, *words[1:]], cwd=folder, capture_output=True, text=True, timeout=400, check=False
    )
    if done.returncode:
        pytest.skip(f"{' '.join(words[:2])} failed: {done.stderr[-300:]}")


def asked(words: list[str], fronts: Fronts, folder: Path) -> dict[str, dict[str, str]]:
    """The program's results, by connection and by fact."""
    ways = {
        "direct": f"binary,{fronts.direct}",
        "binary": f"binary,{fronts.plain.binary}",
        "http": f"http,{fronts.plain.http}",
        "tls": f"tls,{fronts.secure.binary}",
        "https": f"https,{fronts.secure.http}",
    }
    words = [*words, str(_CLIENTS / "statements.json"), str(fronts.ca)]
    words += [f"{name}={way}" for name, way in ways.items()]
    done = subprocess.run(
        words, cwd=folder, capture_output=True, timeout=120, check=False, env=dict(os.environ)
    )
    assert done.returncode == 0, done.stderr.decode()[-3000:]
    results: dict[str, dict[str, str]] = {}
    for line in done.stdout.decode().split("\n"):
        if line.startswith("== "):
            answers = results.setdefault(line.removeprefix("== "), {})
        elif line:
            what, _, answer = line.partition(": ")
            answers[what] = _NUMBERED.sub("#", _STACK.sub("", answer))
    return results


def same_everywhere(results: dict[str, dict[str, str]], least: int) -> None:
    direct = results.pop("direct")
    assert len(direct) >= least
    assert len(results) == 4
    for way, answers in results.items():
        for what, answer in direct.items():
            assert answers[what] == answer, f"{way}: {what}"


def test_gohive(fronts: Fronts, tmp_path: Path) -> None:
    fetched(["go", "build", "-o", str(tmp_path / "probe"), "."], _CLIENTS / "go")
    same_everywhere(asked([str(tmp_path / "probe")], fronts, tmp_path), 11)


def test_hive_driver_for_node(fronts: Fronts, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(_CLIENTS / "node", tmp_path / "node"))
    fetched(["npm", "install", "--no-audit", "--no-fund", "--silent"], folder)
    same_everywhere(asked(["node", "probe.js"], fronts, folder), 16)
