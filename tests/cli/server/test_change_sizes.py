"""The size of a range by a child process: what it gets, its result, its end."""

import asyncio
import json
import os
import sys
from pathlib import Path

import pytest

from cli.server.change_sizes import ChangeSizesByChild, arguments
from proxy.statement.change_sizes import ChangeSize, FilesRead
from router.claim import ChangeRange
from tests.pipeline.hudi.conftest import FakeTable

ALL = ChangeRange("000", None, None)
PLAN = {"commits": ["1"], "partitions": ["p"], "files": ["f"], "bytes": 9, "fallback": None}


def by_script(script: str, seconds: float = 60) -> ChangeSizesByChild:
    return ChangeSizesByChild((sys.executable, "-c", script), seconds)


def test_a_range_is_the_arguments_of_a_plan() -> None:
    begin = ["incremental", "plan", "--json", "--whole", "--without-spark", "--since"]
    assert arguments("file:/t", ALL) == [*begin, "000", "--", "file:/t"]
    bounded = ["7", "--until", "9", "--max-commits", "2", "--", "-t"]
    assert arguments("-t", ChangeRange("7", "9", 2)) == begin + bounded


@pytest.mark.slow
def test_a_real_table(tmp_path: Path) -> None:
    """The first two of three later commits, of a table of four partitions."""
    table = FakeTable(tmp_path / "t", version=9)
    table.commit("100", [(f"p{n}", f"f{n}") for n in range(4)])
    table.commit("200", [("p1", "f1")])
    table.commit("300", [("p1", "f1"), ("p2", "f2")])
    table.commit("400", [("p3", "f3")])
    sizes = ChangeSizesByChild(seconds=60)
    found = asyncio.run(sizes(tmp_path.as_uri() + "/t", ChangeRange("101", None, 2)))
    assert found == ChangeSize(2, FilesRead(2, 2, 20), FilesRead(4, 4, 40))
    assert asyncio.run(sizes(str(tmp_path / "t"), ChangeRange("401", None, 1))) == ChangeSize(
        0, FilesRead(0, 0, 0), FilesRead(4, 4, 40)
    )


@pytest.mark.parametrize(("since", "files"), [("000", 1), ("101", 0)])
def test_a_table_without_partitions(tmp_path: Path, since: str, files: int) -> None:
    table = FakeTable(tmp_path / "t", **{"hoodie.table.partition.fields": ""})
    table.commit("100", [("", "f")])
    found = asyncio.run(ChangeSizesByChild(seconds=60)(table.path, ChangeRange(since, None, None)))
    assert found == ChangeSize(files, FilesRead(None, files, 10 * files), FilesRead(None, 1, 10))


@pytest.mark.parametrize(
    ("location", "why"),
    [("/nowhere/t", "not a Hudi table"), ("hdfs://nn/t", "only be read through Spark")],
)
def test_a_table_that_cannot_be_read_has_no_size(
    location: str, why: str, caplog: pytest.LogCaptureFixture
) -> None:
    assert asyncio.run(ChangeSizesByChild(seconds=60)(location, ALL)) is None
    assert why in caplog.text


@pytest.mark.slow
def test_the_change_is_known_where_the_whole_table_takes_too_long(tmp_path: Path) -> None:
    """The child is killed: its process id ends with it."""
    file = tmp_path / "child"
    script = (
        f"import os, time\nopen({str(file)!r}, 'w').write(str(os.getpid()))\n"
        f"print({json.dumps(PLAN)!r}, flush=True)\ntime.sleep(600)"
    )
    found = asyncio.run(by_script(script, seconds=3)(".", ALL))
    assert found == ChangeSize(1, FilesRead(1, 1, 9))
    with pytest.raises(ProcessLookupError):
        os.kill(int(file.read_text()), 0)


def test_a_child_that_says_nothing_in_time_has_no_size(caplog: pytest.LogCaptureFixture) -> None:
    assert asyncio.run(by_script("import time; time.sleep(600)", seconds=0.3)(".", ALL)) is None
    assert "takes too long" in caplog.text
    assert asyncio.run(by_script("raise SystemExit('causeway: no')")(".", ALL)) is None
    assert "cannot be counted: no" in caplog.text
