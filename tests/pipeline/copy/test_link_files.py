"""Copies between two clusters share one bound of bytes a second."""

import threading
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, cast

import pytest

from conf.progress import Progress, no_progress
from pipeline.copy import link_files
from pipeline.copy.files import CopyOptions, FileCopy, FileEntry, FileResult, Files, FileStatus
from pipeline.copy.link_files import TURN_SECONDS, Links

LINK = ("west", "east")


class CountingFiles:
    """Notes each call; `together` is the most calls at one time, by link."""

    def __init__(self) -> None:
        self.calls: list[tuple[list[str], int]] = []
        self.running = self.together = 0
        self.fails = False

    def copy_files(
        self, copies: Sequence[FileCopy], options: CopyOptions, progress: Progress = no_progress
    ) -> list[FileResult]:
        self.running += 1
        self.together = max(self.together, self.running)
        try:
            time.sleep(0.01)
            self.calls.append(([copy.entry.path for copy in copies], options.bandwidth))
            size = sum(copy.entry.length for copy in copies)
            progress(size, size)
            if self.fails:
                raise OSError("no disk")
            return [FileResult(copy, FileStatus.SENT, copy.entry.length) for copy in copies]
        finally:
            self.running -= 1

    def children(self, location: str) -> tuple[str, ...]:
        return (location,)


@pytest.fixture
def counted() -> CountingFiles:
    return CountingFiles()


def files_of(links: Links, counted: CountingFiles, link: tuple[str, str] = LINK) -> Files:
    return links.files(cast(Any, counted), *link)


def copies(*lengths: int) -> list[FileCopy]:
    entries = (FileEntry(str(number), length, 0) for number, length in enumerate(lengths))
    return [FileCopy("a", "b", entry) for entry in entries]


def test_a_link_without_a_bound_is_not_changed(counted: CountingFiles) -> None:
    assert files_of(Links({LINK: 10}), counted, ("east", "west")) is cast(Any, counted)


def test_the_smaller_bound_holds(counted: CountingFiles) -> None:
    files = files_of(Links({LINK: 1000}), counted)
    files.copy_files(copies(1), CopyOptions())
    files.copy_files(copies(1), CopyOptions(bandwidth=10))
    files.copy_files(copies(1), CopyOptions(bandwidth=5000))
    assert [bandwidth for _, bandwidth in counted.calls] == [1000, 10, 1000]
    assert files.children("x") == ("x",)


def test_copies_of_one_link_send_in_turns(counted: CountingFiles) -> None:
    links = Links({LINK: 1})
    others = CountingFiles()
    with ThreadPoolExecutor(8) as pool:
        for _ in range(6):
            files = files_of(links, counted)
            pool.submit(files.copy_files, copies(TURN_SECONDS, TURN_SECONDS), CopyOptions())
            other = files_of(links, others, ("west", "north"))
            pool.submit(other.copy_files, copies(1), CopyOptions())
    assert counted.together == 1
    assert len(counted.calls) == 12
    assert len(others.calls) == 6


def test_a_turn_ends_after_its_bytes_and_progress_goes_on(counted: CountingFiles) -> None:
    reported: list[tuple[int, int]] = []
    half = TURN_SECONDS * 100 // 2
    files = files_of(Links({LINK: 100}), counted)
    results = files.copy_files(
        copies(half, half, 1, 5 * half), CopyOptions(), lambda *at: reported.append(at)
    )
    assert [names for names, _ in counted.calls] == [["0", "1"], ["2"], ["3"]]
    assert [each.file.entry.path for each in results] == ["0", "1", "2", "3"]
    total = 7 * half + 1
    assert reported == [(2 * half, total), (2 * half + 1, total), (total, total)]


def test_a_copy_that_waits_keeps_its_lease_and_may_give_up(
    counted: CountingFiles, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(link_files, "_POLL", 0.01)
    links, held, free = Links({LINK: 100}), threading.Event(), threading.Event()

    def hold(done: int, total: int) -> None:
        held.set()
        free.wait(60)

    def lose(done: int, total: int) -> None:
        raise InterruptedError("the lease is lost")

    with ThreadPoolExecutor(1) as pool:
        first = pool.submit(files_of(links, counted).copy_files, copies(1), CopyOptions(), hold)
        assert held.wait(60)
        with pytest.raises(InterruptedError):
            files_of(links, counted).copy_files(copies(1), CopyOptions(), lose)
        free.set()
        assert first.result(60)
    counted.fails = True
    with pytest.raises(OSError, match="no disk"):
        files_of(links, counted).copy_files(copies(1), CopyOptions())
    counted.fails = False
    assert files_of(links, counted).copy_files(copies(1), CopyOptions())
