"""Limits the bytes a second that copies send between two clusters.

All copies of a process between the same two clusters share the limit: they send in turns, each at
the full limit. A turn is so many bytes as can be sent in `TURN_SECONDS`, so a large copy does not
delay a small one for long.
"""

import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import cast

from conf.progress import Progress, no_progress, part_progress
from pipeline.copy.files import CopyOptions, FileCopy, FileResult, Files

TURN_SECONDS = 30
_POLL = 1.0  # seconds between two reports of progress of a copy that waits for its turn

Link = tuple[str, str]
"""The names of the source's and of the target's cluster."""


class Links:
    """The limits of all links. `limits` are bytes a second; other links have no limit."""

    def __init__(self, limits: Mapping[Link, int] | None = None) -> None:
        self._limits = dict(limits or {})
        self._turns = {link: threading.Lock() for link in self._limits}

    def files(self, files: Files, source: str, target: str) -> Files:
        """The file systems for a copy from one cluster to another."""
        link = (source, target)
        if link not in self._limits:
            return files
        return cast(Files, _LinkFiles(files, self._limits[link], self._turns[link]))


class _LinkFiles:
    """`Files` that sends at most `limit` bytes a second, only while it holds the lock `turn`."""

    def __init__(self, files: Files, limit: int, turn: threading.Lock) -> None:
        self._files = files
        self._limit = limit
        self._turn = turn

    def __getattr__(self, name: str) -> object:
        return getattr(self._files, name)

    def copy_files(
        self, copies: Sequence[FileCopy], options: CopyOptions, progress: Progress = no_progress
    ) -> list[FileResult]:
        limit = min(self._limit, options.bandwidth or self._limit)
        options = replace(options, bandwidth=limit)
        total, sent = sum(copy.entry.length for copy in copies), 0
        results: list[FileResult] = []
        for part in _parts(copies, limit * TURN_SECONDS):
            report = part_progress(progress, sent, total)
            self._wait(report)
            try:
                results += self._files.copy_files(part, options, report)
            finally:
                self._turn.release()
            sent += sum(copy.entry.length for copy in part)
        return results

    def _wait(self, report: Progress) -> None:
        """Waits for the turn. Reports progress meanwhile, which renews leases."""
        while not self._turn.acquire(timeout=_POLL):
            report(0, 0)


def _parts(copies: Sequence[FileCopy], most: int) -> Iterator[list[FileCopy]]:
    """The files in their order, in parts of at most `most` bytes or of one file."""
    part: list[FileCopy] = []
    size = 0
    for copy in copies:
        if part and size + copy.entry.length > most:
            yield part
            part, size = [], 0
        part.append(copy)
        size += copy.entry.length
    if part:
        yield part
