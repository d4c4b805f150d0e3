"""Temporary folders of pulls are deleted, also those of pulls that were killed."""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from pipeline.hudi.table.work_folder import work_folder

_DYING = """
import os
from pipeline.hudi.table.work_folder import work_folder
with work_folder() as root:
    open(f"{root}/fetched", "w").close()
    os.kill(os.getpid(), 9)
"""


@pytest.fixture(autouse=True)
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def test_a_killed_pull_leaves_a_folder_that_the_next_one_deletes(temporary: Path) -> None:
    environment = {**os.environ, "TMPDIR": str(temporary)}
    died = subprocess.run([sys.executable, "-c", _DYING], env=environment, check=False)
    assert died.returncode == -9
    [left] = temporary.iterdir()
    assert (left / "fetched").exists()
    with work_folder() as root:
        assert list(temporary.iterdir()) == [Path(root)]
    assert list(temporary.iterdir()) == []


def test_folders_of_running_pulls_stay(temporary: Path) -> None:
    other = temporary / "causeway-pull-others"
    other.mkdir()
    with work_folder() as first, work_folder() as second:
        assert set(temporary.iterdir()) == {Path(first), Path(second), other}
