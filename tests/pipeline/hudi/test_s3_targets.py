"""Targets on S3: a reader sees the old state or the new one, whatever request a pull ends at."""

import contextlib
import itertools
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pyarrow.dataset as ds
import pyarrow.fs as fs
import pytest

from cli.main import main
from pipeline.hudi.errors import IncrementalError, PullRunning, StorageFault
from pipeline.hudi.folders.open_folder import open_folder
from pipeline.hudi.pull import PullMode, PullResult, pull
from pipeline.hudi.table.open_storage import HADOOP
from pipeline.hudi.table.storage import LocalStorage
from pipeline.hudi.table.table import open_table
from tests.pipeline.hudi.conftest import RowTable
from tests.pipeline.hudi.s3_server import BUCKET, SECRET, Request, S3Server, site

pytestmark = pytest.mark.slow

Rows = list[tuple[str, str, int]]


@pytest.fixture
def target(tmp_path: Path) -> str:
    return f"s3a://{BUCKET}/{tmp_path.name}/target"


def pulled(
    s3: S3Server, source: RowTable, target: str, mode: PullMode, attempts: int = 3, **how: str
) -> PullResult:
    conf = {f"{HADOOP}{key}": value for key, value in s3.settings.items()}
    conf[f"{HADOOP}fs.s3a.attempts.maximum"] = str(attempts)
    return pull(open_table(source.path, LocalStorage()), open_folder(target, {}, conf), mode, **how)


def rows(s3: S3Server, target: str) -> Rows:
    """What a reader of the folder finds; it is not among the counted requests."""
    direct = fs.S3FileSystem(
        access_key="test", secret_key=SECRET, endpoint_override=f"127.0.0.1:{s3.upstream}",
        scheme="http", region="us-east-1",
    )  # fmt: skip
    try:
        found = ds.dataset(target.partition("://")[2], filesystem=direct).to_table()
    except FileNotFoundError:
        return []
    if not found.num_columns:
        return []
    found = found.select(["_hoodie_commit_time", "key", "value"]).to_pylist()
    return sorted(tuple(row.values()) for row in found)


@pytest.mark.parametrize("mode", list(PullMode))
def test_pulls_continue_where_they_ended(s3, row_table, target, mode):
    row_table.write(100, {"a": 1, "b": 1})
    assert pulled(s3, row_table, target, mode).rows == 2
    row_table.write(200, {"b": 2})
    again = pulled(s3, row_table, target, mode)
    assert (again.rows, again.since, again.bookmark) == (1, "101", "201")
    assert pulled(s3, row_table, target, mode).rows == 0
    row_table.write(300, {"c": 3})
    assert pulled(s3, row_table, target, mode).rows == 1
    old = [("100", "a", 1)] if mode is PullMode.MERGE else [("100", "a", 1), ("100", "b", 1)]
    assert rows(s3, target) == [*old, ("200", "b", 2), ("300", "c", 3)]


def test_a_mirror_is_reloaded_when_rows_vanished(s3, row_table, target):
    row_table.write(100, {"a": 1, "b": 1})
    pulled(s3, row_table, target, PullMode.MERGE)
    row_table.write(200, {"c": 3}, delete=["a"])
    assert "deleted" in str(pulled(s3, row_table, target, PullMode.MERGE).reloaded)
    assert {key: value for _, key, value in rows(s3, target)} == row_table.state


def cut_before(s3: S3Server, at: int) -> None:
    """Nothing reaches the store from the request `at` on."""
    s3.fault = lambda request: 0 if len(s3.requests) >= at else None


def cut_after(s3: S3Server, at: int) -> None:
    """The request `at` reaches the store, its answer is lost, and so is everything after it."""
    s3.fault = lambda request: 0 if len(s3.requests) > at else None
    s3.lost = lambda request: len(s3.requests) >= at


QUICK = [(PullMode.APPEND, cut_before, True), (PullMode.MERGE, cut_after, False)]
CUTS = [
    pytest.param(*each, marks=() if each in QUICK else pytest.mark.slow)
    for each in itertools.product(PullMode, [cut_before, cut_after], [True, False])
]


@pytest.mark.parametrize(("mode", "cut", "first"), CUTS)
def test_a_pull_that_is_cut_at_any_request_has_happened_or_not(
    s3, row_table, target, mode, cut, first
):
    row_table.write(100, {"a": 1, "b": 1})
    for number in itertools.count():
        place = f"{target}-{number}"
        if not first:
            pulled(s3, row_table, place, mode, until="101")
        before = rows(s3, place)
        if number == 0:
            row_table.write(200, {"b": 2, "c": 2})
        kept = [("100", "a", 1), *(() if mode is PullMode.MERGE or first else [("100", "b", 1)])]
        after = [*kept, ("200", "b", 2), ("200", "c", 2)]
        s3.requests.clear()
        cut(s3, number + 1)
        completed = False
        with contextlib.suppress(IncrementalError):
            pulled(s3, row_table, place, mode, attempts=1)
            completed = True
        requests = len(s3.requests)
        s3.reset()
        assert rows(s3, place) in (before, after)
        assert not completed or rows(s3, place) == after
        pulled(s3, row_table, place, mode)
        assert rows(s3, place) == after
        assert pulled(s3, row_table, place, mode).rows == 0
        if completed and requests <= number:
            break
    assert number >= 4


def test_killed_at_a_request_and_run_again(s3, row_table, tmp_path, target):
    row_table.write(100, {"a": 1})
    conf = site(s3, tmp_path / "conf")
    arguments = ["incremental", "pull", row_table.path, target, "--hadoop-conf", f"{BUCKET}={conf}"]
    started = threading.Event()

    def killed(request: Request) -> int | None:
        if request.kind == "PUT":
            started.wait()
            process.kill()
        return None

    s3.fault = killed
    with subprocess.Popen([sys.executable, "-m", "cli.main", *arguments]) as process:
        started.set()
        assert process.wait() == -signal.SIGKILL
    s3.reset()
    assert rows(s3, target) == []
    assert main(arguments) == 0
    assert rows(s3, target) == [("100", "a", 1)]


@pytest.mark.parametrize("mode", list(PullMode))
@pytest.mark.parametrize("first", [True, False])
def test_of_two_pulls_one_publishes(s3, row_table, target, mode, first):
    row_table.write(100, {"a": 1})
    if not first:
        pulled(s3, row_table, target, mode)
    row_table.write(200, {"b": 2})
    row_table.write(300, {"c": 3})
    expected = [("100", "a", 1), ("200", "b", 2), ("300", "c", 3)]

    def other_is_first(request: Request) -> int | None:
        if request.kind == "PUT" and request.key.endswith(".parquet"):
            s3.fault = lambda request: None
            pulled(s3, row_table, target, mode)
        return None

    s3.fault = other_is_first
    with pytest.raises(PullRunning, match="was first"):
        pulled(s3, row_table, target, mode, until="201")
    assert rows(s3, target) == expected
    assert pulled(s3, row_table, target, mode).rows == 0


@pytest.mark.parametrize("mode", list(PullMode))
def test_a_lost_answer_is_not_taken_for_another_pull(s3, row_table, target, mode):
    row_table.write(100, {"a": 1})
    seen: set[Request] = set()
    s3.lost = lambda request: (
        request.kind == "PUT" and request not in seen and not seen.add(request)  # type: ignore
    )
    assert pulled(s3, row_table, target, mode).rows == 1
    row_table.write(200, {"b": 2})
    seen.clear()
    assert pulled(s3, row_table, target, mode).rows == 1
    assert rows(s3, target) == [("100", "a", 1), ("200", "b", 2)]


@pytest.mark.parametrize("hidden", [b"after-0.parquet", b"after-101.parquet"])
def test_a_listing_that_lags_publishes_nothing_twice(s3, row_table, target, hidden):
    row_table.write(100, {"a": 1})
    pulled(s3, row_table, target, PullMode.APPEND)
    row_table.write(200, {"b": 2})
    pulled(s3, row_table, target, PullMode.APPEND)
    row_table.write(300, {"c": 3})
    s3.edit = lambda request, body: (
        body.replace(hidden, b"after.tmp") if request.kind == "LIST" else body
    )
    if hidden == b"after-101.parquet":  # the newest, which has the bookmark
        with pytest.raises(PullRunning):
            pulled(s3, row_table, target, PullMode.APPEND)
    else:
        assert pulled(s3, row_table, target, PullMode.APPEND).rows == 1
    s3.reset()
    pulled(s3, row_table, target, PullMode.APPEND)
    assert rows(s3, target) == [("100", "a", 1), ("200", "b", 2), ("300", "c", 3)]


def test_a_mirror_that_a_listing_does_not_show_stays(s3, row_table, target):
    row_table.write(100, {"a": 1})
    pulled(s3, row_table, target, PullMode.MERGE)
    row_table.write(200, {"b": 2})
    s3.edit = lambda request, body: (
        body.replace(b"data.parquet", b"data.tmp") if request.kind == "LIST" else body
    )
    with pytest.raises(PullRunning):
        pulled(s3, row_table, target, PullMode.MERGE, since="150")
    assert rows(s3, target) == [("100", "a", 1)]


def test_a_store_that_ignores_conditions_is_refused(s3, row_table, target):
    row_table.write(100, {"a": 1})
    s3.deaf = True
    with pytest.raises(StorageFault, match="ignores If-None-Match or If-Match"):
        pulled(s3, row_table, target, PullMode.MERGE)
    assert rows(s3, target) == []


@pytest.mark.parametrize("status", [503, 409, 0])
def test_requests_that_fail_now_and_then_are_repeated(s3, row_table, target, status):
    row_table.write(100, {"a": 1})
    pulled(s3, row_table, target, PullMode.MERGE)
    row_table.write(200, {"b": 2})
    seen: set[Request] = set()

    def first_time(request: Request) -> int | None:
        if request in seen or (status == 409 and request.kind != "PUT"):
            return None
        seen.add(request)
        return status

    s3.fault = first_time
    assert pulled(s3, row_table, target, PullMode.MERGE).rows == 1
    assert rows(s3, target) == [("100", "a", 1), ("200", "b", 2)]


@pytest.mark.parametrize("status", [503, 403])
@pytest.mark.parametrize("kind", ["LIST", "HEAD", "GET", "PUT"])
def test_a_request_that_always_fails_ends_the_pull(s3, row_table, target, status, kind):
    row_table.write(100, {"a": 1})
    pulled(s3, row_table, target, PullMode.MERGE)
    row_table.write(200, {"b": 2})
    s3.fault = lambda request: status if request.kind == kind else None
    with pytest.raises(StorageFault) as failed:
        pulled(s3, row_table, target, PullMode.MERGE)
    assert SECRET not in str(failed.value)
    s3.reset()
    assert rows(s3, target) == [("100", "a", 1)]


def test_requests_do_not_depend_on_the_number_of_files_in_the_target(s3, row_table, target):
    counts = []
    for number in range(1, 8):
        row_table.write(number * 100, {"a": number})
        s3.requests.clear()
        assert pulled(s3, row_table, target, PullMode.APPEND).rows == 1
        counts.append(sorted(request.kind for request in s3.requests))
    assert counts[1] == counts[-1] == ["GET", "HEAD", "HEAD", "LIST", "PUT"]


def test_another_folders_files_are_left_alone(s3, row_table, target, tmp_path):
    row_table.write(100, {"a": 1})
    s3.put(f"{tmp_path.name}/target/mine.parquet", b"x")
    with pytest.raises(IncrementalError, match="was not written by a pull"):
        pulled(s3, row_table, target, PullMode.APPEND)
    s3.put(f"{tmp_path.name}/broken/data.parquet", b"PAR1")
    with pytest.raises(IncrementalError, match="no complete parquet file"):
        pulled(s3, row_table, f"s3a://{BUCKET}/{tmp_path.name}/broken", PullMode.MERGE)


def test_from_s3_to_s3_by_the_command_line(s3, row_table, target, tmp_path, capsys):
    row_table.write(100, {"a": 1})
    source = s3.put_folder(row_table.base, f"{tmp_path.name}/source")
    conf = site(s3, tmp_path / "conf")
    command = ["incremental", "pull", source, target, "--mode", "merge", "--hadoop-conf"]
    assert main([*command, f"*={conf}"]) == 0
    row_table.write(200, {"b": 2})
    s3.put_folder(row_table.base, f"{tmp_path.name}/source")
    assert main([*command, f"{BUCKET}={conf}"]) == 0
    assert "1 rows of 1 commits" in capsys.readouterr().out
    assert rows(s3, target) == [("100", "a", 1), ("200", "b", 2)]
