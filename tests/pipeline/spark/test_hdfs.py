"""Copies and replications between file:// and hdfs://, on a real HDFS in one process."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from pipeline.copy.copy_catalog import ObjectCatalog
from pipeline.copy.files import CopyOptions
from pipeline.copy.verify import verify_copies
from pipeline.spark.session import open_session
from pipeline.spark.spark_files import SparkFiles
from tests.pipeline.spark.desks import C2, DATA, REPLICA, DeltaDesk, Desk, IcebergDesk, T
from tests.pipeline.spark.minihdfs import running_hdfs

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def hdfs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The URI of a file system that ends with the tests."""
    with running_hdfs(tmp_path_factory.mktemp("hdfs")) as ports:
        yield f"hdfs://127.0.0.1:{ports['port']}"


@pytest.fixture(scope="module")
def files() -> SparkFiles:
    return SparkFiles(open_session("local[2]"))


@pytest.fixture(params=["file to hdfs", "hdfs to file"])
def ends(request: pytest.FixtureRequest, tmp_path: Path, hdfs: str) -> tuple[str, str]:
    """Where the table is and where it goes, fresh for each test."""
    here, there = f"file://{tmp_path}", f"{hdfs}/{tmp_path.name}"
    return (here, there) if request.param == "file to hdfs" else (there, here)


def test_a_copy_is_whole_fresh_and_not_sent_twice(ends: tuple[str, str], files: SparkFiles) -> None:
    source, target = ends
    desk = Desk(source, files)
    report = desk.copy(f"{target}/copies")
    assert (report.published, report.files_sent, report.failed) == (["ds=1", "ds=2"], 3, {})
    table = desk.objects.table(T)
    found = desk.objects.objects(table, desk.objects.names(table))
    for each in found:
        copy = each.placement.copy_in(C2)
        assert copy is not None
        assert each.placement.is_fresh(copy)
        assert desk.read(copy.location) == DATA[each.name]
    checked = verify_copies(files, desk.objects, table, found, C2, CopyOptions())
    assert (checked.compared, checked.findings) == (2, ())
    assert desk.copy(f"{target}/copies").files_sent == 0


def test_files_of_a_dead_run_are_not_sent_again(
    ends: tuple[str, str], files: SparkFiles, monkeypatch: pytest.MonkeyPatch
) -> None:
    """FA-R5: the file's length and time say on either file system that it is finished."""
    source, target = ends
    desk = Desk(source, files)

    def dies(*_: object) -> frozenset[str]:
        raise ConnectionError("the metastore is gone")

    with monkeypatch.context() as patch:
        patch.setattr(ObjectCatalog, "publish", dies)
        with pytest.raises(ConnectionError):
            desk.copy(f"{target}/copies")
    report = desk.copy(f"{target}/copies")
    assert (report.files_sent, report.files_kept, report.bytes_sent) == (0, 3, 0)
    assert report.published == ["ds=1", "ds=2"]


def test_a_copy_of_a_delta_table_is_continued(ends: tuple[str, str], files: SparkFiles) -> None:
    source, target = ends
    DeltaDesk(source, files).check_continued_copies(f"{target}/copies")


def test_a_copy_of_an_iceberg_table_is_continued(ends: tuple[str, str], files: SparkFiles) -> None:
    source, target = ends
    IcebergDesk(source, files).check_continued_copies(f"{target}/copies")


def test_a_replication_follows_its_source(ends: tuple[str, str], files: SparkFiles) -> None:
    source, target = ends
    desk = Desk(source, files)
    assert desk.replicate(f"{target}/replica").published == ["ds=1", "ds=2"]
    files.write_marker(f"{source}/t/ds=2/late", "more")
    again = desk.replicate(f"{target}/replica")
    assert (again.published, again.fresh) == (["ds=2"], 1)
    parts = desk.metastore.parts[REPLICA]
    assert all(each.location.startswith(f"{target}/replica/") for each in parts.values())
    assert desk.read(parts["ds=1"].location) == DATA["ds=1"]
    assert desk.read(parts["ds=2"].location) == {**DATA["ds=2"], "late": b"more"}
