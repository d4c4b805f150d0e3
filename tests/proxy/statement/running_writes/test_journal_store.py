"""The file of running writes: a process leaves it, and another process takes it over."""

import errno
import stat
from pathlib import Path

import pytest

from conf.names import ClusterName, TableRef
from conf.topology import Endpoint
from metastore.placement.write_marks import WriteTarget, WriteToken
from proxy.statement.running_writes import journal_store
from proxy.statement.running_writes.journal_store import JournaledWrite, WriteJournal

T, P = TableRef("sales", "t"), TableRef("sales", "parted")


def write(mark: str) -> JournaledWrite:
    targets = WriteTarget(T), WriteTarget(P, frozenset({"ds=1", "ds=2"}))
    handle = bytes(range(16)), bytes(range(16, 32))
    token = WriteToken(mark, targets)
    return JournaledWrite(token, ClusterName("east"), Endpoint("h", 1), "ann", handle)


def killed(folder: Path, *writes: JournaledWrite, ended: tuple[str, ...] = ()) -> None:
    """A process that began these writes and ended after it had seen the end of some."""
    journal = WriteJournal(folder)
    for each in writes:
        journal.begin(each)
    for mark in ended:
        journal.end(mark)
    journal.close()  # only the lock goes while writes are left, as when a process is killed


def test_the_next_process_has_the_writes_that_are_left(tmp_path: Path) -> None:
    killed(tmp_path, write("a"), write("b"), write("c"), ended=("b",))
    journal = WriteJournal(tmp_path)
    assert journal.take_over() == [write("a"), write("c")]
    assert journal.take_over() == []
    journal.close()
    assert WriteJournal(tmp_path).take_over() == [write("a"), write("c")]


def test_nothing_is_left_of_a_process_whose_writes_have_ended(tmp_path: Path) -> None:
    killed(tmp_path, write("a"), ended=("a",))
    assert not list(tmp_path.iterdir())


def test_a_living_process_keeps_its_writes(tmp_path: Path) -> None:
    living = WriteJournal(tmp_path)
    living.begin(write("a"))
    other = WriteJournal(tmp_path)
    assert other.take_over() == []
    living.close()
    assert other.take_over() == [write("a")]


def test_a_half_written_line_is_no_write(tmp_path: Path) -> None:
    killed(tmp_path, write("a"))
    (path,) = tmp_path.iterdir()
    path.write_bytes(path.read_bytes() + b'{"token": {"id": "b", "tar')
    assert WriteJournal(tmp_path).take_over() == [write("a")]


def test_a_full_disk_stops_no_write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_: int, data: bytes) -> int:
        raise OSError(errno.ENOSPC, "no space left")

    journal = WriteJournal(tmp_path)
    journal.begin(write("a"))
    with monkeypatch.context() as patched:
        patched.setattr(journal_store.os, "write", full)
        journal.begin(write("b"))
        journal.end("b")
    (path,) = tmp_path.iterdir()
    path.write_bytes(path.read_bytes() + b'{"token": {"id": "half')
    journal.begin(write("c"))  # in the same line as the half of another one
    journal.begin(write("d"))
    journal.close()
    assert WriteJournal(tmp_path).take_over() == [write("a"), write("d")]


def test_a_large_file_is_replaced_by_one_with_the_running_writes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(journal_store, "_LARGEST", 2_000)
    journal = WriteJournal(tmp_path)
    journal.begin(write("long"))
    for number in range(100):
        journal.begin(write(str(number)))
        journal.end(str(number))
    (path,) = tmp_path.iterdir()
    assert path.stat().st_size < 3_000
    journal.close()
    assert WriteJournal(tmp_path).take_over() == [write("long")]


def test_only_the_owner_reads_the_handles(tmp_path: Path) -> None:
    folder = tmp_path / "writes"
    journal = WriteJournal(folder)
    journal.begin(write("a"))
    (path,) = folder.iterdir()
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_without_a_folder_the_writes_are_in_memory_alone() -> None:
    journal = WriteJournal()
    journal.begin(write("a"))
    assert journal.writes == {"a": write("a")}
    assert journal.take_over() == []
    journal.end("a")
    assert not journal.writes
    journal.close()
