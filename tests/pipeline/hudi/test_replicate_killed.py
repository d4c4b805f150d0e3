"""`causeway incremental replicate`, killed over an existing replica while a reader polls it."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from pipeline.hudi.plan import snapshot
from pipeline.hudi.read import changed_rows
from pipeline.hudi.table.storage import LocalStorage
from pipeline.hudi.table.table import open_table
from tests.pipeline.hudi.conftest import RowTable

_ROOT = Path(__file__).parents[3]
_COMMAND = (sys.executable, "-m", "cli.main", "incremental", "replicate")
_COMMITS = 16


def rows(base: Path) -> dict[str, int]:
    table = changed_rows(snapshot(open_table(str(base), LocalStorage())))
    return dict(zip(table["key"].to_pylist(), table["value"].to_pylist(), strict=True))


def poll(
    process: subprocess.Popen[bytes], target: Path, states: list[dict[str, int]], upto: int
) -> int:
    """Reads the replica until the process has ended or state number `upto` is visible. Every read
    has to be one of the source's states, none older than the one before. Returns the last number.
    """
    last, deadline = 0, time.monotonic() + 120
    while True:
        ended = process.poll() is not None
        number = states.index(rows(target))
        assert number >= last
        last = number
        if ended or last >= upto:
            return last
        assert time.monotonic() < deadline, "the replication hangs"


@pytest.mark.slow
def test_a_reader_sees_whole_commits_of_a_killed_run_and_the_next_one_completes(
    row_table: RowTable, tmp_path: Path
) -> None:
    target, upto = tmp_path / "replica", 3
    row_table.write(100, {"a": 0, "b": 0})
    states = [dict(row_table.state)]
    replicate = [*_COMMAND, row_table.path, str(target)]
    assert subprocess.run(replicate, cwd=_ROOT).returncode == 0
    for number in range(1, _COMMITS + 1):
        row_table.write(100 + 10 * number, {"a": number, "b": -number, f"k{number}": number})
        states.append(dict(row_table.state))
    with subprocess.Popen(replicate, cwd=_ROOT, start_new_session=True) as process:
        seen = poll(process, target, states, upto)
        os.killpg(process.pid, signal.SIGKILL)  # with the JVM, which copies the files
        assert process.wait() == -signal.SIGKILL
    assert upto <= seen < _COMMITS
    assert seen <= states.index(rows(target)) < _COMMITS
    with subprocess.Popen(replicate, cwd=_ROOT) as process:
        assert poll(process, target, states, _COMMITS + 1) == _COMMITS
        assert process.wait() == 0
    assert rows(target) == row_table.state
