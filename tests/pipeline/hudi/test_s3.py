"""Hudi tables on S3: planned, listed and pulled as on local disk, also when requests fail."""

import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import zipfile
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from cli.main import main
from pipeline.hudi.errors import IncrementalError, LostFile, MissingPath, StorageFault
from pipeline.hudi.folders.local_folder import LocalFolder
from pipeline.hudi.listing import list_status
from pipeline.hudi.plan import plan, snapshot
from pipeline.hudi.pull import PullMode, pull
from pipeline.hudi.read import changed_rows
from pipeline.hudi.table.s3.s3_settings import s3_arguments
from pipeline.hudi.table.s3.s3_storage import S3Storage
from pipeline.hudi.table.storage import HudiStorage, LocalStorage
from pipeline.hudi.table.table import HudiTable, open_for_changes, open_table
from tests.pipeline.hudi.conftest import FakeTable, RowTable
from tests.pipeline.hudi.s3_server import BUCKET, SECRET, Request, S3Server, site

pytestmark = pytest.mark.slow

SHARED = Path(os.environ.get("CAUSEWAY_SHARED", Path(__file__).parents[4] / "shared")) / "hudi"


def storage(s3: S3Server, **changed: object) -> S3Storage:
    arguments = s3_arguments(BUCKET, s3.settings)
    assert arguments is not None
    return S3Storage({**arguments, **changed})


def uploaded(s3: S3Server, table: FakeTable) -> str:
    return s3.put_folder(table.base, table.base.parent.name)


def rows(target: Path) -> list[tuple[str, str, int]]:
    found = pq.read_table(target).to_pylist()
    return sorted((row["_hoodie_commit_time"], row["key"], row["value"]) for row in found)


@pytest.mark.parametrize("mode", list(PullMode))
def test_pulls_continue_where_they_ended(s3, row_table, tmp_path, mode):
    target = tmp_path / "target"
    row_table.write(100, {"a": 1, "b": 1})
    uri = uploaded(s3, row_table)
    assert pull(open_table(uri, storage(s3)), LocalFolder(target), mode).rows == 2
    row_table.write(200, {"b": 2})
    uploaded(s3, row_table)
    again = pull(open_table(uri, storage(s3)), LocalFolder(target), mode)
    assert (again.rows, again.since, again.bookmark) == (1, "101", "201")
    assert pull(open_table(uri, storage(s3)), LocalFolder(target), mode).rows == 0
    old = [("100", "a", 1)] if mode is PullMode.MERGE else [("100", "a", 1), ("100", "b", 1)]
    assert rows(target) == [*old, ("200", "b", 2)]


QUICK = ("sample_table__mor__parquet__v6_nonpartitioned",)
TABLES = [
    pytest.param(path.stem, marks=() if path.stem in QUICK else pytest.mark.slow)
    for path in sorted(SHARED.glob("*_mor__*.zip"))  # their slices have logs
]


@pytest.mark.parametrize("name", TABLES)
@pytest.mark.parametrize("last", ["complete", "running"])
def test_real_tables_have_the_rows_that_they_have_on_local_disk(s3, tmp_path, name, last):
    with zipfile.ZipFile(SHARED / f"{name}.zip") as packed:
        packed.extractall(tmp_path)
    base = next(p.parent for p in tmp_path.glob("*/.hoodie") if "MACOSX" not in str(p))
    shutil.rmtree(base / ".hoodie" / "metadata", ignore_errors=True)  # is not read
    here = open_for_changes(str(base), LocalStorage())
    if last == "running" and here.timeline.commits:
        # Blocks of version 6 logs are then of a commit that is not complete.
        (base / here.timeline_folder / here.timeline.commits[-1].file).unlink()
        here = open_for_changes(str(base), LocalStorage())
    uri = s3.put_folder(base, f"{name}-{last}")
    assert outcome(open_for_changes(uri, storage(s3)), uri) == outcome(here, str(base))


def outcome(table: HudiTable, base: str) -> object:
    """The schema and rows of the table and of its changes, or why they cannot be read."""
    try:
        found = [changed_rows(snapshot(table)), changed_rows(plan(table, "0"))]
    except IncrementalError as fault:
        return type(fault), str(fault).replace(base, "")
    return [(each.schema, sorted(map(str, each.to_pylist()))) for each in found]


def test_listings_are_those_of_local_disk(s3, tmp_path):
    table = FakeTable(tmp_path / "trips", version=9)
    names = ["ds=1", "ds=a b+%20#é?", "ds=2026-01-01 00%3A00%3A00", "ds='x'&y"]
    for number, name in enumerate(names):
        table.commit(f"{number + 1}00", [(name, f"g{number}")])
    uri = uploaded(s3, table)

    def listed(base: str, where: HudiStorage) -> list[tuple[str, int]]:
        conf = {
            "hoodie.trips.consume.mode": "INCREMENTAL",
            "hoodie.trips.consume.start.timestamp": "100",
            "hoodie.trips.consume.max.commits": "-1",
        }
        found = [
            *list_status([f"{base}/{name}" for name in names], conf, where),
            *list_status([base], {}, where),
        ]
        return sorted((file.path.removeprefix(base), file.length) for file in found)

    assert listed(uri, storage(s3)) == listed(table.path, LocalStorage())
    assert len(listed(uri, storage(s3))) == 3 + 4
    [file] = storage(s3).list(f"{uri}/ds=1/g0_1-0-1_100.parquet")
    assert (file.path, file.length) == (f"{uri}/ds=1/g0_1-0-1_100.parquet", 10)
    with pytest.raises(MissingPath):
        storage(s3).list(f"{uri}/ds=none")
    with pytest.raises(MissingPath):
        storage(s3).read(f"{uri}/none")
    with pytest.raises(StorageFault, match="NO_SUCH_BUCKET"):
        storage(s3).list("s3a://no-bucket/t")


def pull_requests(s3: S3Server, folder: Path, partitions: int) -> list[Request]:
    """The requests of a pull that touches 2 partitions of many, without the table's name."""
    table = RowTable(folder / f"of{partitions}" / "t")
    table.commit("050", [(f"q{number}", f"g{number}") for number in range(partitions)])
    table.write(100, {"a": 1})
    table.commit("200", [("q1", "g1")])
    pq.write_table(pq.read_table(table.base / "p"), table.base / "q1" / "g1_1-0-1_200.parquet")
    uri = uploaded(s3, table)
    done = pull(
        open_table(uri, storage(s3)),
        LocalFolder(folder / f"target{partitions}"),
        PullMode.APPEND,
        since="060",
    )
    assert done.commits == 2
    name = f"of{partitions}/"
    return [Request(each.kind, each.key.removeprefix(name)) for each in s3.requests]


def test_requests_of_a_pull_do_not_depend_on_the_number_of_partitions(s3, tmp_path):
    partitions = int(os.environ.get("CAUSEWAY_S3_PARTITIONS", "40"))  # 4,000 take two minutes
    few, many = pull_requests(s3, tmp_path, 3), pull_requests(s3, tmp_path, partitions)
    assert sorted(map(str, few)) == sorted(map(str, many))
    assert {each.key for each in many if each.key.startswith(("p", "q"))} == {
        "p/", "p/f_1-0-1_100.parquet", "q1/", "q1/g1_1-0-1_200.parquet",
    }  # fmt: skip
    assert len(many) <= 24


@pytest.mark.parametrize("status", [503, 0])
def test_requests_that_fail_now_and_then_are_repeated(s3, row_table, tmp_path, status):
    row_table.write(100, {"a": 1})
    uri = uploaded(s3, row_table)
    seen: set[Request] = set()

    def first_time(request: Request) -> int | None:
        if request in seen:
            return None
        seen.add(request)
        return status

    s3.fault = first_time
    assert (
        pull(open_table(uri, storage(s3)), LocalFolder(tmp_path / "target"), PullMode.APPEND).rows
        == 1
    )
    assert rows(tmp_path / "target") == [("100", "a", 1)]


@pytest.mark.parametrize(
    ("status", "kind", "part"),
    [
        (503, "GET", ".hoodie/hoodie.properties"),
        (503, "LIST", ".hoodie/timeline/"),
        (403, "LIST", ".hoodie/timeline/history/"),
        (403, "LIST", "p/"),
        (503, "GET", "p/"),
    ],
)
def test_a_request_that_always_fails_ends_the_pull(s3, row_table, tmp_path, status, kind, part):
    target = tmp_path / "target"
    row_table.write(100, {"a": 1})
    uri = uploaded(s3, row_table)
    pull(open_table(uri, storage(s3)), LocalFolder(target), PullMode.MERGE)
    before = rows(target)
    row_table.write(200, {"b": 2})
    uploaded(s3, row_table)
    s3.fault = lambda request: (
        status if request.kind == kind and f"/{part}" in f"/{request.key}" else None
    )
    with pytest.raises(IncrementalError) as failed:
        pull(open_table(uri, storage(s3)), LocalFolder(target), PullMode.MERGE)
    assert SECRET not in str(failed.value)
    assert rows(target) == before
    assert len(s3.requests) < 60
    s3.reset()
    assert pull(open_table(uri, storage(s3)), LocalFolder(target), PullMode.MERGE).rows == 1


def test_a_server_that_does_not_answer_ends_the_pull(s3, row_table, tmp_path):
    row_table.write(100, {"a": 1})
    uri = uploaded(s3, row_table)
    ended = threading.Event()
    s3.fault = lambda request: None if not ended.wait(600) else 503
    try:
        with pytest.raises(StorageFault):
            storage(s3, request_timeout=1.0, max_attempts=1).list(uri)
    finally:
        ended.set()


def test_a_listing_that_lags_is_refused_and_not_taken_for_the_table(s3, row_table, tmp_path):
    target = tmp_path / "target"
    row_table.write(100, {"a": 1})
    uri = uploaded(s3, row_table)
    pull(open_table(uri, storage(s3)), LocalFolder(target), PullMode.APPEND)
    row_table.write(200, {"b": 2})
    uploaded(s3, row_table)
    late = b"f_1-0-1_200.parquet"
    s3.edit = lambda request, body: body.replace(late, b"late") if request.kind == "LIST" else body
    with pytest.raises(LostFile):
        pull(open_table(uri, storage(s3)), LocalFolder(target), PullMode.APPEND)
    s3.edit = lambda request, body: (
        body.replace(b"200_201.commit", b"late") if request.kind == "LIST" else body
    )
    assert pull(open_table(uri, storage(s3)), LocalFolder(target), PullMode.APPEND).rows == 0
    s3.reset()
    assert pull(open_table(uri, storage(s3)), LocalFolder(target), PullMode.APPEND).rows == 1
    assert rows(target) == [("100", "a", 1), ("200", "b", 2)]


def test_a_file_that_vanished_after_the_plan_is_an_error(s3, row_table):
    row_table.write(100, {"a": 1})
    uri = uploaded(s3, row_table)
    planned = plan(open_for_changes(uri, storage(s3)), "0")
    s3.fault = lambda request: 404 if request.key.endswith(".parquet") else None
    with pytest.raises(StorageFault, match="CW807"):
        changed_rows(planned)


def test_a_file_that_comes_short_is_an_error(s3, row_table):
    row_table.write(100, {"a": 1})
    uri = uploaded(s3, row_table)
    planned = plan(open_for_changes(uri, storage(s3)), "0")
    s3.put(f"{uri.partition(BUCKET)[2][1:]}/p/f_1-0-1_100.parquet", b"PAR1")
    with pytest.raises(StorageFault, match="shorter"):
        changed_rows(planned)


def test_settings_that_a_pull_by_spark_does_not_read_are_refused(tmp_path, capsys):
    arguments = ["incremental", "pull", "s3a://lake/t", "db.t", "--hadoop-conf"]
    assert main([*arguments, f"*={site(S3Server(0), tmp_path / 'conf')}"]) == 1
    assert "--conf spark.hadoop.KEY=VALUE" in capsys.readouterr().err


def test_an_object_that_changes_while_it_is_read_is_read_again(s3):
    s3.put("changing", b"old")
    s3.requests.clear()

    def replaced(request: Request) -> int | None:
        if request.kind == "GET" and s3.count("GET") == 1:
            s3.fault = lambda request: None
            s3.put("changing", b"a longer one")
        return None

    s3.fault = replaced
    assert storage(s3).read(f"s3a://{BUCKET}/changing") == b"a longer one"


def test_the_command_line_reads_hadoops_settings(s3, row_table, tmp_path, capsys):
    row_table.write(100, {"a": 1})
    row_table.write(200, {"b": 2})
    uri = uploaded(s3, row_table)
    conf = site(s3, tmp_path / "conf")
    assert main(["incremental", "plan", uri, "--since", "101", "--hadoop-conf", f"*={conf}"]) == 0
    assert "partitions 1  p" in capsys.readouterr().out
    by_conf = [f"--conf=spark.hadoop.{name}={value}" for name, value in s3.settings.items()]
    assert main(["incremental", "plan", uri, "--since", "101", "--json", *by_conf]) == 0
    assert json.loads(capsys.readouterr().out)["files"] == [f"{uri}/p/f_1-0-1_200.parquet"]


@pytest.mark.parametrize("at", [6, *(pytest.param(n, marks=pytest.mark.slow) for n in (10, 13))])
def test_a_pull_that_is_killed_and_run_again(s3, row_table, tmp_path, at):
    target = tmp_path / "target"
    row_table.write(100, {"a": 1})
    row_table.write(200, {"b": 2})
    uri = uploaded(s3, row_table)
    conf = site(s3, tmp_path / "conf")
    arguments = ["incremental", "pull", uri, str(target), "--hadoop-conf", f"{BUCKET}={conf}"]
    command = [sys.executable, "-m", "cli.main", *arguments]

    started = threading.Event()

    def killed(request: Request) -> int | None:
        if len(s3.requests) >= at:
            started.wait()
            process.kill()
        return None

    s3.fault = killed
    with subprocess.Popen(command) as process:
        started.set()
        assert process.wait() == -signal.SIGKILL
    assert not list(target.glob("*.parquet"))
    s3.reset()
    assert main(arguments) == 0
    assert rows(target) == [("100", "a", 1), ("200", "b", 2)]
