"""Copies from and to S3 by Hadoop's S3A. `test_s3a.py` runs these in a process of their own."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from unittest.mock import Mock

import pytest
from pyspark.sql import SparkSession

from pipeline.copy.copy_catalog import ObjectCatalog
from pipeline.copy.files import CopyOptions, FileCopy, FileStatus
from pipeline.copy.verify import verify_copies
from pipeline.errors import ActionFailed
from pipeline.hudi.errors import PullRunning, StorageFault
from pipeline.hudi.plan import plan
from pipeline.hudi.pull_lease import leased
from pipeline.hudi.read import changed_rows
from pipeline.hudi.replicas.replica_plan import plan_replication
from pipeline.hudi.replicas.replicate import HudiReplicationResult, run_replication
from pipeline.hudi.spark_reader import HadoopStorage
from pipeline.hudi.table.storage import HudiStorage, LocalStorage
from pipeline.hudi.table.table import open_table
from pipeline.replication.directories import PathCopy, replicate_path
from pipeline.spark.session import open_session
from pipeline.spark.spark_files import SparkFiles
from tests.class_archive import class_path
from tests.pipeline.hudi.conftest import RowTable
from tests.pipeline.hudi.s3_server import BUCKET, Request, S3Server
from tests.pipeline.spark.desks import C2, DATA, DeltaDesk, Desk, IcebergDesk, T
from tests.pipeline.spark.s3a import s3a_jars


@pytest.fixture(scope="module")
def spark() -> Iterator[SparkSession]:
    conf = {"spark.driver.extraClassPath": class_path(*s3a_jars()), "spark.driver.memory": "1g"}
    session = open_session("local[2]", conf)
    yield session
    session.stop()


@pytest.fixture
def files(s3: S3Server, spark: SparkSession) -> SparkFiles:
    return SparkFiles(spark, {BUCKET: s3.settings})


def written(folder: Path, **content: bytes) -> str:
    for name, body in content.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(body)
    return f"file://{folder}"


def copies(files: SparkFiles, source: str, target: str) -> list[FileCopy]:
    [listing] = files.listings([source])
    assert listing is not None
    return [FileCopy(source, target, entry) for entry in listing.files]


@pytest.mark.parametrize("there", ["file", "s3a"])
def test_a_table_on_s3_is_copied_and_replicated(
    s3: S3Server, files: SparkFiles, tmp_path: Path, there: str
) -> None:
    away = f"s3a://{BUCKET}/{tmp_path.name}"
    root = away if there == "file" else f"file://{tmp_path}"
    target = f"file://{tmp_path}/other" if there == "file" else f"{away}/other"
    desk = Desk(root, files)
    assert sorted(desk.copy(f"{target}/copies").published) == sorted(DATA)
    table = desk.objects.table(T)
    found = desk.objects.objects(table, desk.objects.names(table))
    for each in found:
        copy = each.placement.copy_in(C2)
        assert copy is not None
        assert each.placement.is_fresh(copy)
        assert copy.location.startswith(target)
        assert desk.read(copy.location) == DATA[each.name]
    checked = verify_copies(files, desk.objects, table, found, C2, CopyOptions())
    assert (checked.compared, checked.findings) == (2, ())
    assert desk.copy(f"{target}/copies").files_sent == 0
    assert sorted(desk.replicate(f"{target}/replica").published) == sorted(DATA)


@pytest.mark.parametrize("there", ["file", "s3a"])
def test_a_copy_of_a_delta_table_is_continued(
    s3: S3Server, files: SparkFiles, tmp_path: Path, there: str
) -> None:
    away, here = f"s3a://{BUCKET}/{tmp_path.name}", f"file://{tmp_path}"
    source, target = (away, here) if there == "file" else (here, away)
    DeltaDesk(source, files).check_continued_copies(f"{target}/copies")


@pytest.mark.parametrize("there", ["file", "s3a"])
def test_a_copy_of_an_iceberg_table_is_continued(
    s3: S3Server, files: SparkFiles, tmp_path: Path, there: str
) -> None:
    away, here = f"s3a://{BUCKET}/{tmp_path.name}", f"file://{tmp_path}"
    source, target = (away, here) if there == "file" else (here, away)
    IcebergDesk(source, files).check_continued_copies(f"{target}/copies")


def test_a_copy_that_was_killed_continues_within_the_store(
    s3: S3Server, files: SparkFiles, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second run sends no byte of what the first one has sent: S3 copies it."""
    desk = Desk(f"file://{tmp_path}", files)
    root = f"{tmp_path.name}/copies"

    def dies(*_: object) -> frozenset[str]:
        raise ConnectionError("the metastore is gone")

    with monkeypatch.context() as patch:
        patch.setattr(ObjectCatalog, "publish", dies)
        with pytest.raises(ConnectionError):
            desk.copy(f"s3a://{BUCKET}/{root}")
    files.write_marker(f"file://{tmp_path}/t/ds=2/late", "more")
    s3.requests.clear()
    report = desk.copy(f"s3a://{BUCKET}/{root}")
    assert (report.files_sent, report.files_kept, report.bytes_sent) == (1, 3, 4)
    sent = {request.key for request in s3.requests if request.kind == "PUT"}
    assert {key for key in sent if "/.causeway/" not in key and not key.endswith("/")} == {
        key for key in sent if key.endswith("/ds=2/late")
    }
    assert s3.count("COPY") == 3
    table = desk.objects.table(T)
    for each in desk.objects.objects(table, desk.objects.names(table)):
        copy = each.placement.copy_in(C2)
        assert copy is not None
        late = {"late": b"more"} if each.name == "ds=2" else {}
        assert desk.read(copy.location) == DATA[each.name] | late
    s3.requests.clear()
    assert desk.copy(f"s3a://{BUCKET}/{root}").files_sent == 0


def test_a_transfer_of_half_an_object_leaves_none(
    s3: S3Server, files: SparkFiles, tmp_path: Path
) -> None:
    source, target = f"s3a://{BUCKET}/{tmp_path.name}/a", f"s3a://{BUCKET}/{tmp_path.name}/b"
    s3.put(f"{tmp_path.name}/a/file", b"x" * 100_000)
    wanted = copies(files, source, target)
    s3.requests.clear()
    s3.edit = lambda request, body: body[:60_000] if request.kind == "GET" else body
    [done] = files.copy_files(wanted, CopyOptions(attempts=1))
    assert done.status is FileStatus.FAILED
    assert [r for r in s3.requests if r.kind == "PUT" and r.key.endswith("/b/file")] == []


@pytest.mark.parametrize("fails", ["read", "read back"])
def test_a_failed_attempt_leaves_the_object_of_another_attempt(
    s3: S3Server, files: SparkFiles, tmp_path: Path, fails: str
) -> None:
    """A task of a lost executor, or a speculative one, may fail after its twin sent the file."""
    source, target = f"s3a://{BUCKET}/{tmp_path.name}/a", f"s3a://{BUCKET}/{tmp_path.name}/b"
    s3.put(f"{tmp_path.name}/a/file", b"x" * 100_000)
    wanted = copies(files, source, target)
    [sent] = files.copy_files(wanted, CopyOptions())
    assert sent.status is FileStatus.SENT
    side = "a" if fails == "read" else "b"
    s3.edit = lambda request, body: (
        body[:60_000] if request.kind == "GET" and request.key.endswith(f"/{side}/file") else body
    )
    [failed] = files.copy_files(wanted, CopyOptions(attempts=1))
    assert failed.status is FileStatus.FAILED
    s3.reset()
    [listing] = files.listings([target])
    assert listing is not None
    assert [(each.path, each.length) for each in listing.files] == [("file", 100_000)]


def test_requests_that_fail_are_repeated_and_errors_are_named(
    s3: S3Server, files: SparkFiles, tmp_path: Path
) -> None:
    source = written(tmp_path / "a", one=b"1", two=b"2")
    seen: set[Request] = set()

    def once(request: Request) -> int | None:
        if request.kind != "PUT" or request in seen:
            return None
        seen.add(request)
        return 503

    s3.fault = once
    target = f"s3a://{BUCKET}/{tmp_path.name}"
    done = files.copy_files(copies(files, source, f"{target}/b"), CopyOptions())
    assert {each.status for each in done} == {FileStatus.SENT}
    s3.fault = lambda request: (
        403 if request.kind == "PUT" and request.key.endswith("two") else None
    )
    done = files.copy_files(copies(files, source, f"{target}/c"), CopyOptions(attempts=1))
    assert {each.status for each in done} == {FileStatus.SENT, FileStatus.FAILED}
    assert any("AccessDenied" in each.message for each in done)


def test_a_directory_of_a_feed_goes_to_s3_and_is_resumed(
    s3: S3Server, files: SparkFiles, tmp_path: Path
) -> None:
    source = written(tmp_path / "a", one=b"1", two=b"2", three=b"3", _SUCCESS=b"")
    name = f"{tmp_path.name}/copy"
    copy = PathCopy(source, f"s3a://{BUCKET}/{name}", f"s3a://{BUCKET}/x", flag="_SUCCESS")
    options = CopyOptions(attempts=1)
    s3.fault = lambda request: (
        403 if request.kind == "PUT" and request.key == f"{name}/two" else None
    )
    with pytest.raises(ActionFailed, match="two"):
        replicate_path(files, copy, options, Mock())
    assert files.read_marker(f"{copy.target}/_SUCCESS") is None
    s3.reset()
    assert replicate_path(files, copy, options, Mock()).text == f"{copy.target}: 4 files, 1 bytes"
    sent = {request.key for request in s3.requests if request.kind == "PUT"}
    assert sent == {f"{name}/two", f"{name}/.causeway-sent", f"{name}/_SUCCESS"}
    assert replicate_path(files, copy, options, Mock()).text == f"{copy.target} was up to date"


def test_a_hudi_table_is_replicated_to_s3_and_back(
    s3: S3Server, files: SparkFiles, spark: SparkSession, tmp_path: Path
) -> None:
    table = RowTable(tmp_path / "source")
    away, back = f"s3a://{BUCKET}/{tmp_path.name}/replica", f"file://{tmp_path}/back"
    remote = HadoopStorage(spark, {BUCKET: s3.settings})
    local = LocalStorage()

    def replicate(source: str, target: str, earlier: Sequence[str] = ()) -> HudiReplicationResult:
        stores: dict[bool, HudiStorage] = {True: remote, False: local}
        opened = open_table(source, stores[source.startswith("s3a")])
        planned = plan_replication(opened, target, stores[target.startswith("s3a")])
        return run_replication(planned, files, CopyOptions(), earlier=earlier)

    for instant in (100, 200):
        table.write(instant, {str(instant): instant})
        assert replicate(f"file://{table.path}", away).commits == 1
    assert replicate(f"file://{table.path}", away).files == 0
    assert replicate(away, back).commits == 2
    for base, storage in ((away, remote), (back, local)):
        found = changed_rows(plan(open_table(base, storage), "0")).to_pylist()
        assert {row["key"]: row["value"] for row in found} == table.state
    table.write(300, {"300": 300})
    table.commit("400", [("p", "g"), ("q", "h")])
    # Into the replica, into a new one, and into one that a feed continues in another directory.
    made = f"s3a://{BUCKET}/{tmp_path.name}/made"
    for begun, target, commits in ((away, away, 2), (made, made, 4), (f"{made}1", f"{made}2", 4)):
        s3.fault = lambda request: (
            403 if request.kind == "PUT" and request.key.endswith("h_1-0-1_400.parquet") else None
        )
        with pytest.raises(StorageFault, match="h_1-0-1_400"):
            replicate(f"file://{table.path}", begun)
        s3.reset()
        earlier = () if begun == target else (begun,)
        assert replicate(f"file://{table.path}", target, earlier).commits == commits
        name = target.removeprefix(f"s3a://{BUCKET}/")
        sent = [request.key for request in s3.requests if request.kind == "PUT"]
        data = [key for key in sent if key.endswith(".parquet")]
        assert data == [f"{name}/q/h_1-0-1_400.parquet"]
        assert s3.count("COPY") >= 2 * len(earlier)


def test_one_pull_at_a_time_into_a_hudi_table_on_s3(s3: S3Server, files: SparkFiles) -> None:
    def twice() -> None:
        with leased(files, f"s3a://{BUCKET}/t"), leased(files, f"s3a://{BUCKET}/t"):
            pass

    with pytest.raises(PullRunning):
        twice()
    with leased(files, f"s3a://{BUCKET}/t") as check:
        check()
