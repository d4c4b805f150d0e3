"""Superset's models, engine for Hive and SQL Lab receive the same through Causeway as directly."""

import json
import re
import subprocess
from pathlib import Path

import pytest

from tests.e2e.support.environments import environment, outside_variables
from tests.e2e.support.fronts import DATABASE, Fronts

pytestmark = [pytest.mark.e2e, pytest.mark.clients]

_PROGRAM = Path(__file__).with_name("superset_probe.py")
_NUMBERED = re.compile(r"#\d+L?|(stage|[Tt]ask|TID) [\d.]+|(\\+n)+\\+tat .*")
_NO_REASON = "('Query error', None)"  # a Thrift Server soon after a failure


def test_superset(fronts: Fronts, tmp_path: Path) -> None:
    python = environment("superset") / "python"
    words = [str(python), str(_PROGRAM), str(tmp_path), DATABASE]
    words += [f"direct=hive://ann@{fronts.direct}/default"]
    words += [f"proxied=hive://ann@{fronts.plain.binary}/default"]
    done = subprocess.run(
        words, capture_output=True, text=True, timeout=500, check=False, env=outside_variables()
    )
    assert done.returncode == 0, done.stderr[-3000:]
    found = json.loads(done.stdout.splitlines()[-1])
    direct, proxied = found["direct"], found["proxied"]
    assert len(proxied) > 25
    for question, answer in direct.items():
        if _NO_REASON not in answer:
            assert _bare(proxied[question]) == _bare(answer), question
    for question in ("tables", "columns", "frame", "lab", "lab busy", "lab after"):
        assert "Error" not in proxied[question], question
    assert "it failed: é" in proxied["lab raises"]
    assert "STOPPED" in proxied["lab stopped"]


def _bare(answer: str) -> str:
    """The text without stack traces and without Spark's numbers of jobs and expressions."""
    return _NUMBERED.sub("#", answer)
