"""Files carried by a real Spark on local files."""

import os
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from conf.logs.log_fields import with_log_fields
from pipeline.copy.files import CopyOptions, FileCopy, FileEntry, FileListing, FileStatus
from pipeline.copy.link_files import Links
from pipeline.errors import CopyError
from pipeline.replication.directories import PathCopy, replicate_path
from pipeline.spark.session import open_session
from pipeline.spark.spark_files import SparkFiles

pytestmark = pytest.mark.slow

QUICK = CopyOptions(attempts=2, pause=0.01)
ODD_NAMES = (
    "plain",
    "with space",
    "per%3Acent",
    "plus+",
    "ümlaut",
    "a=b&c;d",
    "_SUCCESS",
    ".x.crc",
)


@pytest.fixture(scope="module")
def files() -> SparkFiles:
    return SparkFiles(open_session("local[2]"))


def uri(path: Path) -> str:
    return f"file://{path}"


def listing(files: SparkFiles, path: Path) -> FileListing:
    [found] = files.listings([uri(path)])
    assert found is not None
    return found


def orders(files: SparkFiles, source: Path, target: Path) -> list[FileCopy]:
    return [FileCopy(uri(source), uri(target), each) for each in listing(files, source).files]


def statuses(results: Any) -> set[FileStatus]:
    return {each.status for each in results}


@pytest.fixture
def source(tmp_path: Path) -> Path:
    folder = tmp_path / "source"
    (folder / "deep" / "er").mkdir(parents=True)
    for name in ODD_NAMES:
        (folder / name).write_bytes(name.encode() * 1000)
    (folder / "deep" / "er" / "file").write_bytes(b"")
    (folder / "plain").chmod(0o640)
    return folder


def test_every_byte_name_time_and_permission_arrives(
    files: SparkFiles, source: Path, tmp_path: Path
) -> None:
    target = tmp_path / "target"
    results = files.copy_files(orders(files, source, target), QUICK)
    assert statuses(results) == {FileStatus.SENT}
    assert listing(files, target) == listing(files, source)
    for name in ODD_NAMES:
        assert (target / name).read_bytes() == (source / name).read_bytes()
    assert (target / "plain").stat().st_mode & 0o777 == 0o640


def test_the_job_has_the_id_of_the_statement_that_copies(
    files: SparkFiles, source: Path, tmp_path: Path
) -> None:
    with with_log_fields(statement="ab12"):
        files.copy_files(orders(files, source, tmp_path / "target"), QUICK)
    context: Any = open_session("local[2]").sparkContext
    jobs = context._jsc.sc().statusStore().jobsList(None)
    assert jobs.head().description().get() == "[ab12] causeway copy"


def test_complete_files_are_not_sent_again(files: SparkFiles, source: Path, tmp_path: Path) -> None:
    target = tmp_path / "target"
    wanted = orders(files, source, target)
    files.copy_files(wanted[:4], QUICK)
    results = files.copy_files(wanted, QUICK)
    assert [each.status for each in results].count(FileStatus.KEPT) == 4
    assert sum(each.sent for each in results) == sum(o.entry.length for o in wanted[4:])


def test_a_half_written_file_is_not_taken_for_finished(
    files: SparkFiles, source: Path, tmp_path: Path
) -> None:
    target = tmp_path / "target"
    target.mkdir()
    (target / "plain").write_bytes((source / "plain").read_bytes())
    os.utime(target / "plain", (1, 1))  # same length, its own time; two writes may share a tick
    (target / "plus+").write_bytes(b"half")
    results = files.copy_files(orders(files, source, target), QUICK)
    assert statuses(results) == {FileStatus.SENT}


def test_a_source_that_differs_from_its_listing_is_reported(
    files: SparkFiles, source: Path, tmp_path: Path
) -> None:
    wanted = orders(files, source, tmp_path / "target")
    (source / "plain").write_bytes(b"new")
    (source / "plus+").unlink()
    results = {o.file.entry.path: o.status for o in files.copy_files(wanted, QUICK)}
    assert results["plain"] is results["plus+"] is FileStatus.CHANGED
    assert results["with space"] is FileStatus.SENT
    assert not (tmp_path / "target" / "plain").exists()


def test_a_file_that_cannot_be_written_fails_alone(
    files: SparkFiles, source: Path, tmp_path: Path
) -> None:
    target = tmp_path / "target"
    (target / "plain" / "in the way").mkdir(parents=True)
    results = {o.file.entry.path: o for o in files.copy_files(orders(files, source, target), QUICK)}
    assert results["plain"].status is FileStatus.FAILED
    assert results["plain"].message
    assert statuses(o for name, o in results.items() if name != "plain") == {FileStatus.SENT}
    assert [each.name for each in target.glob("*.part")] == []


def test_a_flipped_bit_is_found(files: SparkFiles, source: Path, tmp_path: Path) -> None:
    target = tmp_path / "target"
    wanted = orders(files, source, target)
    files.copy_files(wanted, QUICK)
    assert statuses(files.compare(wanted, QUICK)) == {FileStatus.KEPT}
    body = bytearray((target / "plain").read_bytes())
    body[100] ^= 4
    (target / "plain").write_bytes(bytes(body))
    reported = {o.file.entry.path: o.status for o in files.compare(wanted, QUICK)}
    assert reported.pop("plain") is FileStatus.DIFFERS
    assert set(reported.values()) == {FileStatus.KEPT}


def test_the_checksum_is_crc32c(files: SparkFiles, tmp_path: Path) -> None:
    (tmp_path / "s").mkdir()
    (tmp_path / "s" / "check").write_bytes(b"123456789")
    [result] = files.copy_files(orders(files, tmp_path / "s", tmp_path / "t"), QUICK)
    assert result.checksum == "e3069283"  # the published check value of CRC-32C


def test_files_that_are_not_committed_are_not_listed(files: SparkFiles, tmp_path: Path) -> None:
    for name in (
        "_temporary/0/x", "__magic/0/x", "__magic_job-1/x", ".hive-staging_hive_1/x",
        ".spark-staging-1/x", ".hoodie/x",
    ):  # fmt: skip
        (tmp_path / name).parent.mkdir(parents=True)
        (tmp_path / name).write_bytes(b"x")
    assert [each.path for each in listing(files, tmp_path).files] == [".hoodie/x"]


def test_nothing_is_not_empty(files: SparkFiles, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    reported = files.listings([uri(tmp_path / "empty"), uri(tmp_path / "nothing")])
    assert reported == [FileListing(()), None]


class NoLease:
    """A lease that is never lost."""

    def check(self) -> None:
        pass

    def log(self, text: str) -> None:
        pass

    def on_loss(self, action: Callable[[], None]) -> None:
        pass


def test_parts_of_directories_are_copied(files: SparkFiles, tmp_path: Path) -> None:
    source, target = tmp_path / "source", tmp_path / "target"
    for path in ("us/west", "us/east", "de/west", "de/south", "de x/west"):
        (source / path).mkdir(parents=True)
        (source / path / "a").write_text(path)
    (source / "west").write_text("a file of that name")
    (target / "gone" / "west").mkdir(parents=True)
    (target / "gone" / "west" / "a").write_text("old")
    (target / "us" / "east").mkdir(parents=True)
    (target / "us" / "east" / "a").write_text("of another source")
    copy = PathCopy(uri(source), uri(target), uri(tmp_path / "staging"), ("*", "west"), "_DONE")
    replicate_path(files, copy, QUICK, NoLease())
    found = {str(p.relative_to(target)): p.read_text() for p in target.rglob("*") if p.is_file()}
    assert {name: text for name, text in found.items() if not name.startswith(".")} == {
        "us/west/a": "us/west",
        "de/west/a": "de/west",
        "de x/west/a": "de x/west",
        "us/east/a": "of another source",
        "_DONE": "",
    }
    assert not (tmp_path / "staging").exists()


def test_notes_moves_and_deletes(files: SparkFiles, tmp_path: Path) -> None:
    place = uri(tmp_path / "a" / "b" / "marker")
    assert files.read_marker(place) is None
    files.write_marker(place, "ünï\ncode")
    files.write_marker(place, "twice")
    assert files.read_marker(place) == "twice"
    data = bytes(range(256)) * 1000
    files.write_file(uri(tmp_path / "new" / "file"), data)
    assert files.read_file(uri(tmp_path / "new" / "file")) == data
    assert os.listdir(tmp_path / "new") == ["file"]
    assert files.children(uri(tmp_path / "a")) == ("b",)
    there, to = uri(tmp_path / "a" / "b"), uri(tmp_path / "c" / "d")
    assert files.move({there: to, uri(tmp_path / "no"): uri(tmp_path / "x")}) == {there}
    assert (tmp_path / "c" / "d" / "marker").read_text() == "twice"
    files.delete([uri(tmp_path / "c"), uri(tmp_path / "never")])
    assert not (tmp_path / "c").exists()


def test_directories_get_their_models_permission(files: SparkFiles, tmp_path: Path) -> None:
    model = tmp_path / "model"
    model.mkdir(mode=0o751)
    model.chmod(0o751)
    files.make_folders({uri(tmp_path / "x" / "y"): uri(model)}, keep_owner=True)
    assert (tmp_path / "x" / "y").stat().st_mode & 0o777 == 0o751


@pytest.mark.skipif(os.getuid() != 0, reason="only root may give files away")
def test_owners_are_kept_where_allowed(files: SparkFiles, tmp_path: Path) -> None:
    (tmp_path / "s").mkdir()
    (tmp_path / "s" / "x").write_bytes(b"x")
    os.chown(tmp_path / "s" / "x", 1, 1)
    files.copy_files(orders(files, tmp_path / "s", tmp_path / "t"), QUICK)
    assert (tmp_path / "t" / "x").stat().st_uid == 1


def test_bandwidth_is_bounded(files: SparkFiles, tmp_path: Path) -> None:
    (tmp_path / "s").mkdir()
    for name in "ab":
        (tmp_path / "s" / name).write_bytes(b"x" * 2_000_000)
    began = time.monotonic()
    options = CopyOptions(bandwidth=2_000_000, parallelism=2)
    files.copy_files(orders(files, tmp_path / "s", tmp_path / "t"), options)
    assert time.monotonic() - began >= 1.9


def test_copies_of_one_link_share_its_bandwidth(files: SparkFiles, tmp_path: Path) -> None:
    """Twelve files in two copies at a time: 6 MB at 2 MB/s take 3 s, less what two tasks buffer."""
    for folder in ("s1", "s2"):
        (tmp_path / folder).mkdir()
        for number in range(6):
            (tmp_path / folder / str(number)).write_bytes(b"x" * 500_000)
    links = Links({("west", "east"): 2_000_000})

    def copy(number: int) -> set[FileStatus]:
        wanted = orders(files, tmp_path / f"s{number}", tmp_path / f"t{number}")
        return statuses(links.files(files, "west", "east").copy_files(wanted, QUICK))

    began = time.monotonic()
    with ThreadPoolExecutor(2) as pool:
        assert list(pool.map(copy, (1, 2))) == [{FileStatus.SENT}] * 2
    assert time.monotonic() - began >= 2.8


def test_an_unknown_file_system_is_an_error_of_ours(files: SparkFiles) -> None:
    with pytest.raises(CopyError, match="nosuch"):
        files.listings(["nosuch://host/path"])
    entry = FileEntry("x", 1, 1)
    [result] = files.copy_files([FileCopy("nosuch://host/a", "file:///tmp", entry)], QUICK)
    assert result.status is FileStatus.FAILED


def test_progress_ends_at_all(files: SparkFiles, source: Path, tmp_path: Path) -> None:
    reported: list[tuple[int, int]] = []
    wanted = orders(files, source, tmp_path / "t")
    files.copy_files(wanted, QUICK, lambda done, total: reported.append((done, total)))
    total = sum(order.entry.length for order in wanted)
    assert reported[0] == (0, total)
    assert reported[-1] == (total, total)
    assert sorted(reported) == reported


def test_without_s3a_the_error_says_what_to_add(files: SparkFiles) -> None:
    with pytest.raises(
        CopyError, match=r"S3AFileSystem not found; add org\.apache\.hadoop:hadoop-aws"
    ):
        files.listings(["s3a://lake/table"])
